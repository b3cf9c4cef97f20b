//! A search for bugs: random programs under random schedules, with every invariant of
//! the scheduler checked after each step.
//!
//! A seed makes a [`Program`]: plain data, that says what posts what to which color,
//! and when: handlers, destructors of states and of values that events hold, wakers that
//! panic, threads that come and go, tasks that wait for answers and for room, colors that are
//! stopped, code that goes on after the runtime was told to end.
//! States refer to their own colors, to each other's and to the runtime.
//! [`execute`] runs it on a simulated machine on which any core may go on at
//! any operation on shared memory, by the same seed. Whatever is seen of it, from
//! inside its handlers and from the machine, goes through all checks; what breaks an
//! invariant is made smaller by [`shrink`].
//!
//! | invariant | what must hold |
//! |---|---|
//! | `serial` | one event of a color at a time |
//! | `order` | what one thread, or one color, posts to a color runs in that order |
//! | `account` | posted = run + shed + cancelled + abandoned, as the program saw it |
//! | `sleep` | all workers sleep only when nothing is pending; none sleeps for long beside a long event that it may steal |
//! | `fair` | a color waits at most two batches of each other color of its core: one, and the rest of the one that runs, with what was called and runs inside |
//! | `pinned` | a pinned color runs on its core |
//! | `bounded` | no more events are pending than a color may have; control is refused only where its own room is full |
//! | `room` | nobody waits for room while all workers sleep |
//! | `stops` | a color that was stopped runs nothing that is posted after, and nothing at all if one of its own events has dropped what is pending |
//! | `loss` | what was accepted runs, posted by a destructor or not, also before a color is stopped that is to run what is pending; a panic loses its event alone, or poisons its color, which runs nothing more |
//! | `timers` | no timer fires early, none after it was cancelled |
//! | `freed` | each state is dropped once, never beside an event of its color that runs or is pending; each event runs or is dropped, once; nothing of the program is left |
//! | `woken` | a waker that waits for an answer is called once, when that is there |
//! | `unlocked` | no handler, destructor or waker is called under a lock, or by a worker that has lain down |
//! | `ends` | a runtime that is stopped ends, after its handlers, and begins no more than each worker was about to |
//! | `deadlock`, `endless`, `crash` | the scheduler goes on, comes to an end, and does not panic |
//!
//! Each has a bug planted ([`Fault`]) that it must find.

mod act;
mod checks;
mod fault;
mod generate;
mod program;
mod run;
mod shrink;
mod text;
mod watch;

use core::fmt;

pub use self::fault::Fault;
pub use self::generate::CORES_MAX;
pub use self::program::{
    Action, Arrival, Awaits, ColorPlan, End, Event, How, Kind, Program, Woken,
};
pub use self::run::{Run, execute};
pub use self::shrink::{Shrunken, shrink};

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What it is called: see [the list](self).
    pub invariant: &'static str,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}
