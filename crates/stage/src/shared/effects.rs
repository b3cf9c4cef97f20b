//! What comes of a change, done when the lock is free.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::gate::Waiter;
use super::{Phase, Shared, State};
use crate::error::Shed;
use crate::safely::{caught, drop_safely};

pub(super) struct Effects<E> {
    pub(super) turn: Option<usize>,
    pub(super) later: Option<(usize, Duration)>,
    /// Events that nobody handles.
    pub(super) shed: Vec<(E, Shed)>,
    pub(super) wakers: Vec<Waker>,
    pub(super) upstream: Vec<Waiter>,
    pub(super) grow: bool,
    pub(super) notify_all: bool,
}

impl<E> Default for Effects<E> {
    fn default() -> Self {
        Self {
            turn: None,
            later: None,
            shed: Vec::new(),
            wakers: Vec::new(),
            upstream: Vec::new(),
            grow: false,
            notify_all: false,
        }
    }
}

impl<E: Send + 'static> Effects<E> {
    pub(super) fn run(self, shared: &Arc<Shared<E>>) {
        if self.notify_all {
            shared.work.notify_all();
            shared.over.notify_all();
        }
        if let Some(server) = shared.server() {
            if let Some(lane) = self.turn {
                server.schedule(shared, lane);
            }
            if let Some((lane, delay)) = self.later {
                server.schedule_after(shared, lane, delay);
            }
            if self.grow && server.grow(shared).is_err() {
                // The next look of the governor tries again.
            }
        }
        resume_in_turn(self.upstream);
        for waker in self.wakers {
            caught(|| waker.wake());
        }
        for (event, why) in self.shed {
            shared.give_to_hook(event, why);
        }
    }
}

thread_local! {
    /// Who is to be resumed by this thread, while it resumes others.
    static RESUMED: RefCell<Option<VecDeque<Waiter>>> = const { RefCell::new(None) };
}

/// Forgets who is left, at the end of the resuming.
struct Resuming;

impl Drop for Resuming {
    fn drop(&mut self) {
        let left = RESUMED.try_with(RefCell::take);
        drop(left);
    }
}

/// Resumes stages one after the other. One that cannot go on, since its runtime has ended, has
/// others to resume at once: they come after it, as within it a long chain of held stages would
/// take all of the stack.
fn resume_in_turn(waiters: Vec<Waiter>) {
    if waiters.is_empty() {
        return;
    }
    let mut waiters = Some(waiters);
    let queue = |resumed: &RefCell<Option<VecDeque<Waiter>>>| {
        let waiters = waiters.take().unwrap_or_default();
        let mut resumed = resumed.borrow_mut();
        let is_first = resumed.is_none();
        resumed.get_or_insert_default().extend(waiters);
        is_first
    };
    let is_first = RESUMED.try_with(queue);
    // A thread that ends has no such queue any more.
    for waiter in waiters.into_iter().flatten() {
        waiter.resume();
    }
    if is_first != Ok(true) {
        return;
    }
    let _resuming = Resuming;
    let next = || RESUMED.with_borrow_mut(|resumed| resumed.as_mut()?.pop_front());
    while let Some(waiter) = next() {
        waiter.resume();
    }
}

impl<E: Send + 'static> Shared<E> {
    /// Gives an event that nobody handles to the program's hook, or drops it.
    pub(super) fn give_to_hook(&self, event: E, why: Shed) {
        match &self.program.on_shed {
            Some(hook) => _ = caught(|| hook(event, why)),
            None => drop_safely(event),
        }
    }
}

impl<E> State<E> {
    /// There may be more room than before: tells those who wait for it.
    ///
    /// Stages are told when half of the queue is free, so that they come with more than one
    /// event; or when nothing is left that would free more.
    pub(super) fn note_room(&mut self, effects: &mut Effects<E>) {
        let is_open = self.phase == Phase::Open && self.capacity > 0;
        let room = if is_open { self.room() } else { usize::MAX };
        if room == 0 || (self.rooms.is_empty() && self.upstream.is_empty()) {
            return;
        }
        let woken = room.min(self.rooms.len());
        let wakers = self.rooms.drain(..woken).map(|(_, waker)| waker);
        effects.wakers.extend(wakers);
        let has_much = self.occupied() <= self.capacity / 2 || self.queued == 0;
        if has_much || !is_open {
            effects.upstream.append(&mut self.upstream);
        }
    }
}
