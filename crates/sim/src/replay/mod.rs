//! Replay: how a program that was traced would run on another machine.
//!
//! The events of a trace and their causes are run again, by the real scheduler in
//! virtual time: roots arrive when they did, every event takes as long as it did, and
//! posts what it posted, to the colors that they had.
//!
//! | file | what |
//! |---|---|
//! | `program` | the events of a trace with what each posts |
//! | `play` | running them under a simulation |
//! | `slots` | the colors, as long as something is still to be posted to them |
//! | `figures` | what a run comes to, recorded or simulated |
//!
//! What a trace does not say, a replay does not know:
//!
//! * which memory handlers touch: an event takes what it took, wherever it runs, and
//!   stealing costs no cache misses of the program's own data;
//! * when within an event it posted: its posts are spread evenly over its time;
//! * where a color was made to live, and whether it was pinned: see [`Homes`];
//! * what causes roots: a client that would send its next request later, because the
//!   answer came later, still sends it when it did.

mod figures;
mod play;
mod program;
mod slots;

pub use figures::{Delays, Figures};
pub use play::{Arrivals, Conditions, Homes, Replayed, Times, replay};
pub use program::Program;
