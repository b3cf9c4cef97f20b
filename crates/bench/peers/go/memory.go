package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// memory is what `mely bench memory` asks for, with its fields.
type memory struct {
	Bytes  int64 `json:"bytes"`
	Nanos  int64 `json:"nanos"`
	Amount int   `json:"amount"`
}

// resident is the resident set after a collection, in bytes.
func resident() (int64, error) {
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0, err
	}
	return pages * int64(os.Getpagesize()), nil
}

// measure is what `work` adds, and how long it takes; it returns what is to be kept.
func measure(amount int, work func() any) (memory, error) {
	before, err := resident()
	if err != nil {
		return memory{}, err
	}
	start := time.Now()
	kept := work()
	took := time.Since(start)
	after, err := resident()
	runtime.KeepAlive(kept)
	return memory{after - before, took.Nanoseconds(), amount}, err
}

// idleKeys makes keys: goroutines that wait for their channels. With `events`, each
// is sent one and has handled it.
func idleKeys(amount int, events bool) (memory, error) {
	return measure(amount, func() any {
		keys := make([]chan uint64, amount)
		var handled sync.WaitGroup
		for at := range keys {
			key := make(chan uint64, 1)
			keys[at] = key
			go func() {
				for range key {
					handled.Done()
				}
			}()
		}
		if events {
			handled.Add(amount)
			for _, key := range keys {
				key <- 1
			}
			handled.Wait()
		}
		return keys
	})
}

// pendingEvents sends events to the channels of keys that do not take them yet.
func pendingEvents(amount int) (memory, error) {
	const keys = 1000
	channels := make([]chan uint64, keys)
	return measure(amount, func() any {
		// Rounded up: all have a place.
		places := (amount + keys - 1) / keys
		for at := range channels {
			channels[at] = make(chan uint64, places)
		}
		for event := 0; event < amount; event++ {
			channels[event%keys] <- uint64(event)
		}
		return channels
	})
}
