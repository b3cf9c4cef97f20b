//! The scheduler of Mely, pure: the queues, and the decisions what to steal, from
//! whom, and when that pays. No threads, no clock, no I/O: production and
//! simulation run this very code.
//!
//! The ideas are those of *Efficient Workstealing for Multicore Event-Driven
//! Systems* (ICDCS 2010) and of *Vol de tâches efficace pour systèmes événementiels
//! multi-cœurs* (CFSE 2009): *Efficient Workstealing* and *Vol de tâches* in these pages.
//!
//! | type | concept |
//! |---|---|
//! | [`ColorQueue`] | pending events of a color: the unit of stealing |
//! | [`CoreQueue`] | colors ready on a core, its owner's alone |
//! | [`StealQueue`] | worthy colors, in time-left intervals, open to thieves |
//! | [`EventFifo`] | all events of a core, the structure of Libasync-smp |
//! | [`Worthiness`] | which colors are worth a steal |
//! | [`Batch`] | how many events of a color run in a row |
//! | [`Policy`] | which of the papers' heuristics apply |
//! | [`Ewma`] | a cost learned from samples |
//! | [`Penalty`] | what a color loses by moving, annotated or learned |
//! | [`admission`] | which events a stage takes, and which it refuses |
//! | [`Governor`] | how many threads a stage has |
//! | [`Batching`] | how many events its handler is given at once |
//! | [`queueing`] | a queue with servers, simulated, to try that |
//!
//! The controllers of stages follow *Performance Aspects of the Staged Event-Driven
//! Architecture* (2001) and *SEDA: An Architecture for Well-Conditioned, Scalable Internet
//! Services* (SOSP 2001).

pub mod admission;
mod batch;
mod batching;
mod bundle;
mod color_queue;
mod core_queue;
mod cost;
mod event_queue;
mod governor;
mod list;
mod nanos;
mod penalty;
mod policy;
pub mod queueing;
mod ring;
mod steal_queue;
mod victims;
mod worth;

pub use batch::{BATCH_THRESHOLD, Batch, SHORT_EVENT_CYCLES};
pub use batching::{Batching, BatchingOptions};
pub use bundle::{BUNDLE_COLORS, Bundle, ReadyColor, Ticketed};
pub use color_queue::{ColorQueue, Event};
pub use core_queue::CoreQueue;
pub use cost::{COST_UNKNOWN_CYCLES, Ewma};
pub use event_queue::{EventFifo, FifoEvent, Stolen};
pub use governor::{Governor, GovernorOptions, Resize, StageLoad};
pub use list::{Link, Linked, List};
pub use nanos::Nanos;
pub use penalty::{
    AfterMove, Belief, MOVE_CYCLES, PENALTY_LEARNED_MAX, PENALTY_SAMPLES_MIN, Penalty,
    time_left_cycles,
};
pub use policy::{Heuristics, Policy, QueueKind, UnknownPolicy};
pub use steal_queue::StealQueue;
pub use victims::{victims_busiest_first, victims_near_first};
pub use worth::{
    INTERVALS, LONG_EVENT_CYCLES, STEAL_COST_UNKNOWN_CYCLES, WAKE_COST_CYCLES, Worthiness,
};
