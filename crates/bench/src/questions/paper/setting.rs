//! What the microbenchmarks of the papers have in common.

use mely::{Policy, Runtime};

use crate::measure::{Failure, Run};

/// A runtime under a policy.
pub(super) fn runtime(policy: Policy, run: &Run) -> Result<Runtime, Failure> {
    let builder = Runtime::builder()
        .workers(run.workers)
        .affinity(run.affinity)
        .policy(policy);
    Ok(builder.build()?)
}

/// The handlers of a workload for a policy: the papers' policies rely on what a
/// programmer annotates after profiling, `adaptive` must find it out by itself.
pub(super) fn handlers<T>(policy: Policy, annotated: &'static T, plain: &'static T) -> &'static T {
    match policy.heuristics().learn {
        true => plain,
        false => annotated,
    }
}
