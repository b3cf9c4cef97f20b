package main

import (
	"runtime"
	"sync/atomic"
	"time"
)

const (
	chainKeys    = 1000
	eventsPerKey = 1000
)

// chains is P: 1000 keys, each sending 1000 events to itself through its channel;
// and Py, where a key lets the others run after each. A key has one event at a time,
// so a place in its channel is always free.
func chains(measured time.Duration, yields bool) outcome {
	rounds := newRounds(measured)
	keys := make([]chan uint32, chainKeys)
	for at := range keys {
		keys[at] = make(chan uint32, 1)
	}
	var going atomic.Int64
	begin := func() {
		going.Store(chainKeys)
		for _, key := range keys {
			key <- eventsPerKey
		}
	}
	for _, key := range keys {
		go func(key chan uint32) {
			for left := range key {
				if left > 1 {
					key <- left - 1
				} else if going.Add(-1) == 0 && rounds.another(chainKeys*eventsPerKey) {
					begin()
				}
				if yields {
					runtime.Gosched()
				}
			}
		}(key)
	}
	begin()
	return <-rounds.done
}
