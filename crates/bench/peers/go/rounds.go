package main

import "time"

// outcome is what a run measured; as JSON it is that of src/lib.rs.
type outcome struct {
	Events uint64   `json:"events"`
	Time   duration `json:"time"`
}

type duration struct {
	Secs  int64 `json:"secs"`
	Nanos int64 `json:"nanos"`
}

func newOutcome(events uint64, time time.Duration) outcome {
	nanos := time.Nanoseconds()
	return outcome{events, duration{nanos / 1e9, nanos % 1e9}}
}

// rounds says when to begin to measure, and when to end: a fifth of the time comes
// before it.
type rounds struct {
	time   time.Duration
	since  time.Time
	warm   bool
	events uint64
	done   chan outcome
}

func newRounds(measured time.Duration) *rounds {
	return &rounds{time: measured, since: time.Now(), done: make(chan outcome, 1)}
}

// another says whether another round shall begin, after one of so many events.
func (r *rounds) another(events uint64) bool {
	elapsed := time.Since(r.since)
	if !r.warm {
		if elapsed >= r.time/5 {
			r.warm = true
			r.since = time.Now()
		}
		return true
	}
	r.events += events
	if elapsed < r.time {
		return true
	}
	r.done <- newOutcome(r.events, elapsed)
	return false
}
