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
//! let rt = mely::Runtime::new()?;                  // one worker per core
//! let account = rt.colored(0i64);                  // state + its own fresh color
//! for amount in [5, 7, -2] {
//!     account.post(move |balance, _cx| *balance += amount)?; // serial per color
//! }
//! let balance = account.blocking_with(|balance| *balance); // from any thread
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
//! | bound how many events wait, or how much they weigh | [`ColorOptions::capacity`], [`PostError::Full`]; [`Budget`] |
//! | run something after a while | [`Colored::post_after`], [`Timer`] |
//! | get a result, from async code or a thread | [`Colored::call`], [`Colored::blocking_with`] |
//! | run a future under a color, which may reach its state | [`Colored::spawn`], [`Colored::spawn_with`] |
//! | do something again and again | [`Colored::post_every`] |
//! | end a color, or many and their tasks together | [`Colored::stop`], [`Group`] |
//! | refer to a color without keeping it | [`WeakColored`] |
//! | serve sockets | [`net`] |
//! | see what happens, and how long what waits and runs | [`Handle::metrics`], [`Handler`], [`Histogram`], [`Waiting`] |
//!
//! With the feature `tracing` an event runs inside the span of the `tracing` crate that it was
//! posted in; `docs/guide` has the rules. Without it nothing of that is left in a program. With
//! the feature `counters` a runtime may count cache misses and page faults by handler
//! ([`Builder::counted`]).
//!
//! The ideas come from *Efficient Workstealing for Multicore Event-Driven Systems*
//! (ICDCS 2010) and *Vol de tâches efficace pour systèmes événementiels multi-cœurs* (CFSE
//! 2009): *Efficient Workstealing* and *Vol de tâches* in these pages.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "mely runs on Linux only (x86-64 and aarch64 are tested): it waits in epoll, and takes over \
     from blocked workers with membarrier"
);

mod cell;
mod color;
mod cost;
mod event;
#[cfg(all(test, loom))]
mod loom_tests;
mod machine;
mod memory;
mod outside;
mod queue;
mod runtime;
mod shared;
mod trace;
mod worker;

pub use cell::OnPanic;
#[allow(deprecated)]
pub use color::before::Via;
pub use color::budget::{Budget, BudgetError, Share, Take};
pub use color::context::{Context, ContextWithHandler};
pub use color::error::{CallError, PostError};
pub use color::group::{Group, GroupOver};
pub use color::options::{ColorOptions, NoSuchWorker};
pub use color::reply::Reply;
pub use color::room::{CallWhenRoom, PostWhenRoom};
pub use color::state::TaskState;
pub use color::{Color, Colored, Pending, WeakColored, WithHandler};
pub use event::handler::{HANDLERS_MAX, Handler};
pub use machine::affinity::{Affinity, UnknownAffinity};
pub use machine::counter::Counted;
pub use machine::region::{Access, Region};
pub use mely_sched::{Heuristics, Policy, QueueKind, UnknownPolicy};
/// The machine's shape: CPUs, caches, quotas, and where threads run.
#[doc(inline)]
pub use mely_topology as topology;
pub use outside::{net, signals};
pub use runtime::Runtime;
pub use runtime::builder::Builder;
pub use runtime::counting::{Counting, Tally};
pub use runtime::ending::{ShutdownError, ShutdownReport};
pub use runtime::error::BuildError;
pub use runtime::handle::Handle;
pub use runtime::histogram::Histogram;
pub use runtime::metrics::{Events, HandlerMetrics, Snapshot, WorkerMetrics};
pub use runtime::waiting::Waiting;
pub use shared::config::{ReactorKind, StallReport};
pub use shared::timers::Timer;
pub use trace::TraceReport;

/// A runtime without threads: for a simulator, which calls each worker on a stack of
/// its own and is the machine under all of them.
///
/// Only the package `mely-virtual` has this module: the same source as `mely`, with
/// its atomics, locks, clocks and sleeping places handed to [`Hooks`](simulated::Hooks).
#[cfg(feature = "virtual")]
pub mod simulated {
    pub use crate::machine::panics::Destructors;
    pub use crate::machine::simulated::hooks::{Hooks, locks_held};
    pub use crate::machine::simulated::install::{Installed, install};
    pub use crate::machine::simulated::meter;
    pub use crate::machine::simulated::tariff::{LineMemory, MemoryTariff, Tariff, Work};
    pub use crate::runtime::workers::{Workers, elapsed, leave};
}

/// The programs of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
