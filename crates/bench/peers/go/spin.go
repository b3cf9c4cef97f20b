package main

import "time"

// spin does work of about so many core cycles, beginning with what it did before:
// five cycles a step, a shift, an exclusive or and a multiplication that wait for
// each other. It is the work of src/spin.rs.
//
//go:noinline
func spin(value uint64, cycles uint32) uint64 {
	for step := cycles / 5; step > 0; step-- {
		value = (value ^ (value >> 29)) * 6364136223846793005
	}
	return value
}

// spinSink keeps the compiler from dropping work whose result nobody wants.
var spinSink uint64

// cyclesPerSecond is how many cycles spin does, from the fastest of a few tries.
func cyclesPerSecond() float64 {
	const cycles = 1_000_000
	best := time.Hour
	for try := 0; try < 20; try++ {
		start := time.Now()
		spinSink = spin(spinSink+1, cycles)
		if took := time.Since(start); took < best {
			best = took
		}
	}
	return cycles / best.Seconds()
}

// random is Marsaglia's xorshift, as in src/random.rs.
type random uint64

func newRandom(seed uint64) random {
	return random((seed+1)*0x9e3779b97f4a7c15 | 1)
}

func (state *random) below(limit uint32) uint32 {
	*state ^= *state << 13
	*state ^= *state >> 7
	*state ^= *state << 17
	return uint32((uint64(*state>>32) * uint64(limit)) >> 32)
}
