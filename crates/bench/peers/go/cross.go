package main

import (
	"sync/atomic"
	"time"
)

const (
	crossKeys = 1000
	inFlight  = 8000
)

// hopper is a key of X. Only its goroutine counts, in cache lines of its own.
type hopper struct {
	events chan struct{}
	count  atomic.Uint64
	_      [112]byte
}

// cross is X: 1000 keys sending to random others, 8000 events in flight. Each channel
// has room for all of them, so that nobody ever waits for a place.
func cross(measured time.Duration) outcome {
	hoppers := make([]hopper, crossKeys)
	for at := range hoppers {
		hoppers[at].events = make(chan struct{}, inFlight)
	}
	var stop atomic.Bool
	for own := range hoppers {
		go func(own uint32) {
			random := newRandom(uint64(own))
			self := &hoppers[own]
			for range self.events {
				self.count.Store(self.count.Load() + 1)
				if stop.Load() {
					continue
				}
				target := random.below(crossKeys - 1)
				if target >= own {
					target++
				}
				hoppers[target].events <- struct{}{}
			}
		}(uint32(own))
	}
	for event := 0; event < inFlight; event++ {
		hoppers[event%crossKeys].events <- struct{}{}
	}
	total := func() (sum uint64) {
		for at := range hoppers {
			sum += hoppers[at].count.Load()
		}
		return sum
	}
	time.Sleep(measured / 5)
	start, before := time.Now(), total()
	// Longer, if no goroutine had a core yet on a busy machine.
	const patience = 10000
	var events uint64
	for waits := 0; waits < patience && events == 0; waits++ {
		time.Sleep(measured)
		events = total() - before
	}
	elapsed := time.Since(start)
	stop.Store(true)
	return newOutcome(events, elapsed)
}
