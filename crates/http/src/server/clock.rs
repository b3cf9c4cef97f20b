//! The time, with its date formatted once a second for each worker.

use crate::date::{DateCache, Now};
use mely::Context;
use std::cell::RefCell;
use std::time::SystemTime;

thread_local! {
    static DATES: RefCell<DateCache> = RefCell::new(DateCache::new());
}

/// The moment at which a handler runs, by the clock of its runtime.
pub(super) fn now<T: Send + 'static>(cx: &Context<'_, T>) -> Now {
    DATES.with_borrow_mut(|dates| dates.at(cx.now(), SystemTime::now()))
}
