//! Integration tests of the runtime: what must always hold, and what each page of
//! the documentation promises.
//!
//! `MELY_STRESS=long` runs the randomised load for longer, `MELY_STRESS=short` for
//! less (under a sanitizer); `MELY_SEED` replays one load.

mod affinity;
mod budgets;
mod build;
mod calls;
mod checkers;
mod colors;
mod counted;
mod diagnostics;
mod ends;
mod every;
mod fairness;
mod fifo;
mod groups;
mod held_up;
mod inside;
mod interpreted;
mod leaks;
mod lifetime;
mod lives;
mod metrics;
mod net;
mod net_faults;
mod no_sleep;
mod noted;
mod panics;
mod penalties;
mod poison;
mod random_load;
mod room;
mod signals;
mod sound;
mod stops;
mod support;
mod task_states;
mod tasks;
mod timers;
mod trace;
mod waits;
