//! Stages that wait for each other's room, whatever their events.

use std::collections::HashSet;
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
    fn feeds(&self) -> Feeds;

    /// Whether it takes events, and so may ever be waited for.
    fn is_open(&self) -> bool;

    /// Lets go of it. If nobody else has it, it is dropped, and those that it feeds are left.
    fn let_go(self: Arc<Self>) -> Feeds;
}

/// The stages that a stage feeds.
pub(crate) type Feeds = Arc<[Arc<dyn Downstream>]>;

/// Lets go of stages that a stage fed, which is dropped, one after the other: in a long chain
/// the stack would not do for destructors within destructors.
pub(super) fn let_go(feeds: Feeds) {
    let mut left = feeds.to_vec();
    drop(feeds);
    while let Some(next) = left.pop() {
        left.extend_from_slice(&next.let_go());
    }
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

/// Each stage is looked at once, by however many ways it is fed.
fn leads_to(from: &Arc<dyn Downstream>, address: *const ()) -> bool {
    let mut known = HashSet::new();
    let mut left = vec![Arc::clone(from)];
    while let Some(stage) = left.pop() {
        if is(&stage, address) {
            return true;
        }
        if known.insert(Arc::as_ptr(&stage).cast::<()>()) {
            left.extend_from_slice(&stage.feeds());
        }
    }
    false
}

/// Those that may still be waited for, and one more.
fn with(feeds: &Feeds, to: &Arc<dyn Downstream>) -> Feeds {
    let address = Arc::as_ptr(to).cast();
    let kept = feeds
        .iter()
        .filter(|feed| !is(feed, address) && feed.is_open());
    kept.chain([to]).cloned().collect()
}

/// Declares a way to `to` from the stage at `from`, unless one leads back: `set` is given what
/// that feeds from now on, in place of `before`. Nothing of the program's runs meanwhile.
pub(super) fn declare(
    from: *const (),
    to: &Arc<dyn Downstream>,
    before: impl FnOnce() -> Feeds,
    set: impl FnOnce(Feeds) -> Feeds,
) -> Result<Feeds, Circle> {
    let _ways = lock(&WAYS);
    if leads_to(to, from) {
        return Err(Circle);
    }
    Ok(set(with(&before(), to)))
}
