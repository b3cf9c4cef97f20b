//! Stages on real runtimes: what they promise, and those who try to break it.

mod breakers;
mod canary;
mod delays;
mod endings;
mod feeding;
mod forgotten;
mod law;
mod order;
mod policies;
mod reconfigured;
mod rooms;
mod seen;
mod slides;
mod stress;
mod threads;
mod ways;

use std::time::Duration;

use mely::Runtime;
use mely_stage::{Counts, Snapshot};

/// Long enough for anything that ends at all.
const LONG: Duration = Duration::from_secs(60);

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().expect("two workers")
}

/// The law that holds at any time.
#[track_caller]
fn assert_accounted(seen: &Snapshot) -> &Counts {
    let counts = &seen.counts;
    let offered = counts.accepted + counts.refused() + counts.withdrawn + seen.reserved as u64;
    assert_eq!(counts.offered, offered, "{seen:?}");
    let known = counts.handled + counts.expired() + counts.reported();
    let accepted = known + seen.queued as u64 + counts.running;
    assert_eq!(counts.accepted, accepted, "{seen:?}");
    counts
}
