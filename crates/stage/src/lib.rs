//! Stages: bounded queues in front of handlers, with admission, batches and backpressure.
//!
//! A stage is a handler of batches ([`Stage`]) behind a queue that is bounded. Events spread over
//! colors of a [`mely`] runtime by a key: those of one key are handled one at a time and in
//! order, different keys in parallel, and each color has an instance of the handler of its own.
//! A stage whose handler blocks has threads of its own instead, their number under a governor.
//!
//! ```
//! use std::time::Duration;
//! use mely_stage::{Ending, Manager, StageOptions, each};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rt = mely::Runtime::builder().workers(2).build()?;
//! let stages = Manager::new(&rt);
//!
//! let store = stages.create("store", StageOptions::new().capacity(100), |_number| {
//!     each(|line: String| println!("{line}"))
//! })?;
//! let to_store = store.sink();
//! let options = StageOptions::new().key(|n: &u64| *n).feeds(&to_store);
//! let format = stages.create("format", options, move |_number| {
//!     let to_store = to_store.clone();
//!     each(move |n: u64| _ = to_store.offer_or_shed(format!("{n}")))
//! })?;
//!
//! format.sink().offer(7)?; // or the event back, with the reason
//! format.destroy(Ending::Drain, Duration::from_secs(5))?;
//! store.destroy(Ending::Drain, Duration::from_secs(5))?;
//! assert_eq!(store.snapshot().counts.handled, 1);
//! # Ok(())
//! # }
//! ```
//!
//! | to | use |
//! |---|---|
//! | offer events, or wait for room | [`Sink::offer`], [`Sink::offer_when_room`] |
//! | offer to several stages or none | [`split`], [`Sink::reserve`] |
//! | refuse before it is too late | [`StageOptions::admission`], `mely_sched::admission` |
//! | stop a stage while the next one is full | [`StageOptions::feeds`] |
//! | learn what was not handled | [`StageOptions::on_shed`], [`Counts`] |
//! | handlers that block | [`StageOptions::threads`] |
//! | change and end stages while they run | [`Manager`], [`Control`] |
//! | see what they do | [`Snapshot`] |
//!
//! **Nothing accepted is lost:** `accepted = handled + expired + reported + queued + running`, at
//! any time ([`Counts`]). **Nothing of the program's runs under a lock** but policies of
//! admission, which must not call the stage.
//!
//! A stage lives until it is destroyed or its runtime has ended, whether there are sinks or not.
//!
//! The ideas are those of *Performance Aspects of the Staged Event-Driven Architecture* (2001).
#![forbid(unsafe_code)]

mod control;
mod error;
mod histogram;
mod manager;
mod options;
mod safely;
mod shared;
mod sink;
mod snapshot;
mod split;

pub use control::{Control, Ended};
pub use error::{Circle, CreateError, FindError, Refusal, Refused, Shed, Unended, Unfinished};
pub use histogram::Histogram;
pub use manager::Manager;
pub use options::StageOptions;
pub use shared::batch::Batch;
pub use shared::ending::Ending;
pub use shared::stage::{Stage, StageContext, each};
pub use shared::{Counts, Schedule};
pub use sink::{OfferWhenRoom, Reservation, Room, Sink};
pub use snapshot::{Snapshot, to_json, to_prometheus};
pub use split::{Offer, Offers, SplitRefused, split};
