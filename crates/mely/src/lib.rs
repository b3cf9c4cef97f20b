//! Mely runs an event-driven program on every core, without locks in the program.
//!
//! Each event carries a **color**. Events of one color run one at a time and in
//! order; different colors run in parallel. Idle cores steal whole colors, and
//! only when that pays. State that a color owns is reachable from its events
//! alone, as `&mut T`, checked by the compiler:
//!
//! ```
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rt = mely::Runtime::new()?;                  // one pinned worker per core
//! let account = rt.colored(0i64);                  // state + its own fresh color
//! for amount in [5, 7, -2] {
//!     account.post(move |balance, _cx| *balance += amount); // serial per color
//! }
//! let balance = account.with(|balance| *balance);  // from any thread
//! assert_eq!(balance, 10);
//! rt.shutdown(Duration::from_secs(5))?;            // drains, and reports what it could not
//! # Ok(())
//! # }
//! ```
//!
//! | to | use |
//! |---|---|
//! | own state without a lock | [`Handle::colored`], [`Colored`] |
//! | run something later, in order | [`Colored::post`], [`Context::post`] |
//! | bound what waits | [`ColorOptions::capacity`], [`Colored::try_post`] |
//! | run something after a while | [`Colored::post_after`], [`Timer`] |
//! | get a result, from async code or a thread | [`Colored::call`], [`Colored::with`] |
//! | run a future under a color | [`Colored::spawn`] |
//! | serve sockets | [`net`] |
//! | see what happens | [`Handle::metrics`], [`Handler`] |
//!
//! The ideas come from *Efficient Workstealing for Multicore Event-Driven Systems*
//! (ICDCS 2010), called seed 000 in these pages, and its siblings.

mod affinity;
mod builder;
mod cell;
mod clock;
mod color;
mod color_options;
mod config;
mod context;
mod counters;
mod cycles;
mod error;
mod event;
mod fifo;
mod handler;
mod held;
mod idle;
mod inbox;
mod lock_time;
#[cfg(all(test, loom))]
mod loom_tests;
mod metrics;
pub mod net;
mod origin;
mod panics;
mod passes;
mod penalties;
mod pool;
mod prefetch;
mod probe;
mod prometheus;
mod reactor;
mod ready;
mod region;
mod remote;
mod remote_call;
mod reply;
mod room;
mod runtime;
mod shared;
pub mod signal;
#[cfg(feature = "virtual")]
pub mod simulated;
mod slab;
mod sync;
mod task;
mod timers;
mod trace;
mod watchdog;
mod worker;

pub use affinity::{Affinity, UnknownAffinity};
pub use builder::{BuildError, Builder, OnPanic, StallReport};
pub use color::{Color, Colored, Via};
pub use color_options::{ColorOptions, NoSuchWorker};
pub use context::Context;
pub use error::{CallError, PostError};
pub use handler::{HANDLERS_MAX, Handler};
pub use mely_sched::{Heuristics, Policy, QueueKind, UnknownPolicy};
/// The machine's shape: CPUs, caches, quotas, and where threads run.
#[doc(inline)]
pub use mely_topology as topology;
pub use metrics::{Events, HandlerMetrics, Snapshot, WorkerMetrics};
pub use reactor::ReactorKind;
pub use region::{Access, Region};
pub use reply::Reply;
pub use runtime::{Handle, Runtime, ShutdownError, ShutdownReport};
pub use timers::Timer;
pub use trace::TraceReport;

/// The programs of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
