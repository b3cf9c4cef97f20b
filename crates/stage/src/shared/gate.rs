//! Stages that wait for each other's room, whatever their events.

use std::sync::{Arc, Mutex};

use crate::error::Circle;
use crate::safely::lock;

/// A stage that others feed.
pub(crate) trait Downstream: Send + Sync {
    /// How many events there is room for, at least one; or none now, and the waiter is told
    /// when there is. An ended stage, and one without any capacity, has no room to wait for:
    /// there offers are refused, and nobody waits.
    fn room_or_wait(&self, waiter: Waiter) -> Option<usize>;

    /// The stages that it feeds itself.
    fn feeds(&self) -> Arc<[Arc<dyn Downstream>]>;
}

/// A stage that waits for the room of others.
pub(crate) trait Upstream: Send + Sync {
    /// There is room now, for what the lane waited for.
    fn resume(self: Arc<Self>, lane: usize);
}

/// Who is told of room. It keeps that stage, which nobody else may: its lane waits with events.
#[derive(Clone)]
pub(crate) struct Waiter {
    pub(super) upstream: Arc<dyn Upstream>,
    pub(super) lane: usize,
}

impl Waiter {
    pub(super) fn is(&self, other: &Self) -> bool {
        self.lane == other.lane && Arc::ptr_eq(&self.upstream, &other.upstream)
    }

    pub(super) fn resume(self) {
        self.upstream.resume(self.lane);
    }
}

/// Held while a way between stages is declared: two threads would else close a circle together.
static WAYS: Mutex<()> = Mutex::new(());

fn is(a: &Arc<dyn Downstream>, address: *const ()) -> bool {
    Arc::as_ptr(a).cast::<()>() == address
}

fn leads_to(from: &Arc<dyn Downstream>, address: *const ()) -> bool {
    is(from, address) || from.feeds().iter().any(|next| leads_to(next, address))
}

/// Declares a way to `to` from the stage at `from`, unless one leads back. Nothing of the
/// program's runs meanwhile.
pub(super) fn declare(
    from: *const (),
    to: &Arc<dyn Downstream>,
    add: impl FnOnce(),
) -> Result<(), Circle> {
    let _ways = lock(&WAYS);
    if leads_to(to, from) {
        return Err(Circle);
    }
    add();
    Ok(())
}
