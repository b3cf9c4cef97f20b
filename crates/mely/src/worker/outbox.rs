//! Posts that wait until the cache line of their color has come.
//!
//! A color that another core wrote last is some 100 ns away, and a post must write
//! it. A handler that posts to several colors pays that once for all of them when
//! each is asked for at once and written later: the outbox holds a few posts, in
//! their order, until the end of the turn at the latest. Only handlers known to be
//! short may use it, so nothing waits long.
//!
//! The color that is being run is never in it: posts to that go to its queue.
//!
//! What waits holds no reference to its color: counting it would write the very line
//! that has not come. Instead each worker shows whether its outbox is in use, and a
//! color is not ended while any is (`docs/protocols.md`, "Passing").

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::Worker;
use crate::cell::{ColorRef, Passing};
use crate::event::Event;

/// How many posts wait at the most: so many lines can be on their way at once.
const POSTS_MAX: usize = 8;

#[derive(Default)]
pub(super) struct Outbox {
    posts: RefCell<VecDeque<(Passing, Event)>>,
    /// The passes of the worker have begun, and not ended.
    in_use: Cell<bool>,
    /// Whether the handler that is being run may use it.
    open: Cell<bool>,
}

impl Worker {
    /// Lets the posts of the handlers that follow wait, or not.
    #[inline]
    pub(super) fn open_outbox(&self, open: bool) {
        if self.outbox.open.replace(open) && !open {
            self.empty_outbox();
        }
    }

    /// Posts to a color that is not being run.
    #[inline]
    pub(super) fn pass(&self, color: &ColorRef, event: Event) {
        if !self.outbox.open.get() {
            if let Some(owned) = color.deliver(event) {
                self.schedule(owned);
            }
            return;
        }
        if !self.outbox.in_use.replace(true) {
            self.remote().passes.begin();
        }
        let mut posts = self.outbox.posts.borrow_mut();
        posts.push_back((color.pass(), event));
        if posts.len() > POSTS_MAX
            && let Some(oldest) = posts.pop_front()
        {
            drop(posts);
            self.deliver_passed(oldest);
        }
    }

    /// Delivers all posts that wait.
    #[inline]
    pub(crate) fn empty_outbox(&self) {
        if self.outbox.in_use.get() {
            self.deliver_all();
        }
    }

    fn deliver_all(&self) {
        loop {
            let oldest = self.outbox.posts.borrow_mut().pop_front();
            let Some(oldest) = oldest else { break };
            self.deliver_passed(oldest);
        }
        // What was delivered may have run the code of a user, who posts and drops.
        if self.outbox.in_use.replace(false) {
            self.remote().passes.end();
            self.shared.end_waiting_colors();
        }
    }

    fn deliver_passed(&self, (color, event): (Passing, Event)) {
        // The worker's passes have begun, and end only after this.
        if let Some(owned) = color.deliver(event) {
            self.schedule(owned);
        }
    }
}
