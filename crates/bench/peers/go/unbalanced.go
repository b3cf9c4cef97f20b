package main

import (
	"sync"
	"time"
)

const roundEvents = 50_000

func costs() []uint32 {
	random := newRandom(1)
	costs := make([]uint32, roundEvents)
	for at := range costs {
		costs[at] = 100
		if random.below(100) >= 98 {
			costs[at] = 10_000 + random.below(40_001)
		}
	}
	return costs
}

// unbalanced is U: rounds of independent events, few of them long. Each is a
// goroutine.
func unbalanced(measured time.Duration) outcome {
	rounds := newRounds(measured)
	costs := costs()
	for {
		var running sync.WaitGroup
		running.Add(len(costs))
		for _, cycles := range costs {
			go func(cycles uint32) {
				spin(1, cycles)
				running.Done()
			}(cycles)
		}
		running.Wait()
		if !rounds.another(roundEvents) {
			return <-rounds.done
		}
	}
}

// keyedRounds is Uk: the same rounds, but each event goes to the channel of a
// session, which is a goroutine that lives as long as the run. A session is sent one
// event a round, so a place in its channel is always free.
func keyedRounds(measured time.Duration) outcome {
	rounds := newRounds(measured)
	costs := costs()
	sessions := make([]chan uint32, len(costs))
	var running sync.WaitGroup
	for at := range sessions {
		events := make(chan uint32, 1)
		sessions[at] = events
		go func() {
			value := uint64(1)
			for cycles := range events {
				value = spin(value, cycles)
				running.Done()
			}
		}()
	}
	for {
		running.Add(len(costs))
		for at, cycles := range costs {
			sessions[at] <- cycles
		}
		running.Wait()
		if !rounds.another(roundEvents) {
			return <-rounds.done
		}
	}
}
