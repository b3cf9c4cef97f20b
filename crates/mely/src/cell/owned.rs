//! The owner of a color: who may run it.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use mely_sched::{Link, Linked, ReadyColor};

use super::{CellPool, ColorCell, ColorRef, Here, Realm, Traits, WorkerIndex};
use crate::event::Event;
use crate::event::handler::HandlerId;
use crate::machine::panics::drop_safely;
use crate::machine::region::Access;
use crate::machine::sync::Arc;
use crate::machine::{prefetch, probe};
use crate::queue::inbox::Left;

/// The right to run a color; also a counted reference.
///
/// Dropping it drops the pending events, counted as abandoned, and leaves the
/// color idle.
#[repr(transparent)]
pub(crate) struct OwnedColor<R: Realm>(NonNull<ColorCell<R>>);

// SAFETY: there is one owner at a time, and moving it through a queue orders what
// the old and the new owner do.
unsafe impl<R: Realm> Send for OwnedColor<R> {}

// SAFETY: the cell is given up and taken back as it is; the link is a plain field.
unsafe impl<R: Realm> Linked for OwnedColor<R> {
    type Target = ColorCell<R>;

    #[inline]
    fn into_raw(self) -> NonNull<ColorCell<R>> {
        ManuallyDrop::new(self).0
    }

    #[inline]
    unsafe fn from_raw(raw: NonNull<ColorCell<R>>) -> Self {
        Self(raw)
    }

    #[inline]
    unsafe fn link<'a>(raw: NonNull<ColorCell<R>>) -> &'a Link<ColorCell<R>> {
        probe::touch(raw.as_ptr(), Access::Read);
        // SAFETY: the caller vouches that the cell is live.
        unsafe { &(*raw.as_ptr()).link }
    }
}

impl<R: Realm> OwnedColor<R> {
    /// Whether this is the owner of that color.
    #[inline]
    pub(crate) fn is_of(&self, color: &ColorRef<R>) -> bool {
        self.0 == color.0
    }

    /// For whoever has just opened the inbox.
    #[inline]
    pub(super) fn claim(color: &ColorRef<R>) -> Self {
        Self(ManuallyDrop::new(color.clone()).0)
    }

    /// For the worker that has taken this event from its queue of events, where
    /// all events of the color wait: nobody else can own it, unless it was stopped, which
    /// gives the event back, and says whether by a panic.
    pub(super) fn claim_for(color: ColorRef<R>, event: Event) -> Result<Self, (Event, bool)> {
        if !color.cell().inbox.open() {
            assert!(color.is_stopped(), "a color has one owner");
            return Err((color.refuse(event), color.is_poisoned()));
        }
        color.cell().queue.push(event);
        Ok(Self(ManuallyDrop::new(color).0))
    }

    #[inline]
    pub(super) fn cell(&self) -> &ColorCell<R> {
        // SAFETY: an owner counts as a reference.
        unsafe { self.0.as_ref() }
    }

    /// The worker whose queues the color goes to.
    #[inline]
    pub(crate) fn home(&self) -> usize {
        self.borrow().home()
    }

    /// Makes another worker the color's home.
    #[inline]
    pub(crate) fn set_home(&self, worker: WorkerIndex) {
        // Relaxed: the queues that hand the color over have the ordering.
        self.cell().home.store(worker, Relaxed);
    }

    /// Notes that a worker runs the color; whether another one ran it before.
    #[inline]
    pub(crate) fn arrive(&self, here: Here) -> bool {
        probe::touch(self.0.as_ptr(), Access::Write);
        self.cell().marks.arrive(here)
    }

    /// Whether this worker is its home and ran it last.
    #[inline]
    pub(crate) fn is_settled(&self, here: Here) -> bool {
        let cell = self.cell();
        // Relaxed: as in `set_home`.
        cell.home.load(Relaxed) == here.worker && cell.marks.is_settled(here)
    }

    /// Whether it must stay on its core.
    #[inline]
    pub(crate) fn is_pinned(&self) -> bool {
        self.cell().marks.is_pinned()
    }

    /// Its number, for people.
    pub(crate) fn id(&self) -> u64 {
        self.cell().id.get()
    }

    /// A reference for others.
    pub(crate) fn to_ref(&self) -> ColorRef<R> {
        self.cell().marks.give_out();
        ColorRef::clone(&self.borrow())
    }

    /// Lends this owner as a reference.
    #[inline]
    pub(crate) fn borrow(&self) -> ManuallyDrop<ColorRef<R>> {
        ManuallyDrop::new(ColorRef(self.0))
    }

    /// Counts one more pending event, unless the color is full.
    #[inline]
    pub(crate) fn reserve(&self) -> bool {
        !self.cell().marks.is_bounded() || self.borrow().reserve()
    }

    /// Posts to the color from the one who owns it: after everything that is in
    /// the inbox, which may hold earlier events of this thread.
    ///
    /// # Errors
    ///
    /// The event, if the color was stopped.
    #[inline]
    pub(crate) fn push(&self, event: Event, weigh: impl Fn(&Event)) -> Result<(), Event> {
        if self.has_posts() {
            if self.is_stopped() {
                return Err(self.borrow().refuse(event));
            }
            self.empty_inbox(weigh);
        }
        self.cell().queue.push(event);
        Ok(())
    }

    /// Whether no event is pending, in the queue or in the inbox, and others may come.
    #[inline]
    pub(crate) fn has_none_pending(&self) -> bool {
        let cell = self.cell();
        cell.queue.is_empty() && cell.inbox.is_quiet()
    }

    /// Whether others have posted what is still in the inbox, or have stopped the color.
    #[inline]
    pub(crate) fn has_posts(&self) -> bool {
        !self.cell().inbox.is_quiet()
    }

    /// Gives the first event to a color that has none in its queue.
    #[inline]
    pub(crate) fn push_first(&self, event: Event) {
        self.cell().queue.push(event);
    }

    /// Takes the next event to run.
    #[inline]
    pub(crate) fn pop(&self, weigh: impl Fn(&Event)) -> Option<Event> {
        let cell = self.cell();
        let event = match cell.queue.pop() {
            Some(event) => event,
            None => {
                self.take_inbox(weigh);
                cell.queue.pop()?
            }
        };
        Some(event)
    }

    /// Counts one pending event less.
    #[inline]
    pub(crate) fn unreserve(&self) {
        let cell = self.cell();
        if cell.marks.is_bounded() {
            // Relaxed: a count only.
            cell.pending.fetch_sub(1, Relaxed);
        }
    }

    /// Puts back the one event that was to be run next.
    #[inline]
    pub(crate) fn put_back(&self, event: Event) {
        self.cell().queue.push_front(event);
    }

    /// Moves what was posted by others to the pending events, weighing each; of a color that
    /// was stopped nothing.
    #[inline]
    pub(crate) fn take_inbox(&self, weigh: impl Fn(&Event)) {
        if self.cell().inbox.has_elements() {
            self.empty_inbox(weigh);
        }
    }

    /// The loop of [`take_inbox`](Self::take_inbox), kept out of the handlers that
    /// post.
    #[inline(never)]
    fn empty_inbox(&self, weigh: impl Fn(&Event)) {
        let cell = self.cell();
        let posted = cell.inbox.take();
        while let Some(event) = posted.pop_front() {
            weigh(&event);
            cell.queue.push(event);
        }
    }

    /// A fresh color that nobody else refers to, owned from the start.
    #[inline]
    pub(crate) fn fresh(pool: &CellPool<R>, realm: &Arc<R>, id: u64, traits: Traits) -> Self {
        let mut cell = pool.take().unwrap_or_else(|| ColorCell::new(realm));
        cell.begin(id, traits);
        cell.inbox.begin(true);
        // It is made where it runs.
        cell.marks.arrive(Here::new(traits.home));
        Self(cell.into_raw())
    }

    /// Whether nobody else has ever referred to the color, and nothing is pending: it
    /// could as well be another one.
    #[inline]
    pub(crate) fn is_as_new(&self) -> bool {
        let cell = self.cell();
        cell.queue.is_empty() && cell.marks.has_none()
    }

    /// Makes a color that is as new another one.
    #[inline]
    pub(crate) fn renew(&self, id: u64) {
        debug_assert!(self.is_as_new(), "nobody else may see the number change");
        self.cell().id.set(id);
    }

    /// Shows its first event, of those that are not in the inbox.
    pub(crate) fn look_first(&self, look: impl FnOnce(&Event)) {
        self.cell().queue.look_first(look);
    }

    /// The handler of its first event, of those that are not in the inbox.
    pub(crate) fn first_handler(&self) -> Option<HandlerId> {
        let handler = Cell::new(None);
        let note = |event: &Event| handler.set(Some(event.handler_id()));
        self.cell().queue.look_first(note);
        handler.get()
    }

    /// Asks for the cache line of the color before it is needed.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch::line(self.0.as_ptr());
    }

    /// Asks for the line of its first event; touches the color.
    #[inline]
    pub(crate) fn prefetch_event(&self) {
        self.cell().queue.look_first(Event::prefetch);
    }

    /// Asks for the line of one more event in its inbox, behind so many newer ones;
    /// touches the color and these.
    #[inline]
    pub(crate) fn prefetch_inbox(&self, behind: usize) {
        self.cell().inbox.look(behind, prefetch::line);
    }

    /// Asks for the line of the state that its first event works on; touches both.
    #[inline]
    pub(crate) fn prefetch_state(&self) {
        self.cell().queue.look_first(Event::prefetch_state);
    }

    /// Gives up a color without events, on a worker whose unused cells these are;
    /// gives it back if there are some.
    #[inline]
    pub(crate) fn release(self, cells: &CellPool<R>) -> Result<(), Self> {
        match self.try_end() {
            // SAFETY: the last reference, which the ending holds, is given up.
            Ok(Some(ended)) => unsafe { ColorCell::end_into(ended, cells) },
            Ok(None) => {}
            Err(again) => return Err(again),
        }
        Ok(())
    }

    /// The same, on any thread.
    pub(crate) fn release_anywhere(self) -> Result<(), Self> {
        match self.try_end() {
            // SAFETY: the last reference, which the ending holds, is given up.
            Ok(Some(ended)) => unsafe { ColorCell::end(ended) },
            Ok(None) => {}
            Err(again) => return Err(again),
        }
        Ok(())
    }

    /// Closes a color without events. Where the owner's was the last reference,
    /// it is the caller's now, who must end the cell.
    #[inline]
    fn try_end(self) -> Result<Option<NonNull<ColorCell<R>>>, Self> {
        let cell = self.cell();
        if !cell.queue.is_empty() {
            return Err(self);
        }
        // Acquire pairs with the release of the references that were dropped: what
        // they posted is seen in the inbox.
        if cell.refs.load(Acquire) == 1 && !cell.has_anchor() {
            // Nobody else can post or get another reference. What was posted before is
            // in the inbox.
            return match cell.inbox.has_elements() {
                true => Err(self),
                false => Ok(Some(self.into_raw())),
            };
        }
        match cell.inbox.close() {
            Ok(()) => {}
            Err(Left::Elements) => return Err(self),
            Err(Left::Barred) => self.end_stopped(),
        }
        drop(ColorRef(self.into_raw()));
        Ok(None)
    }

    /// Drops the events that are pending, after showing each to `count`. What their
    /// destructors post, if it is accepted, stays: it may be more and more of it.
    pub(crate) fn discard(&self, count: impl Fn(&Event)) {
        let cell = self.cell();
        let posted = match self.is_stopped() {
            true => cell.inbox.shut_down(),
            false => cell.inbox.take(),
        };
        while let Some(event) = posted.pop_front() {
            cell.queue.push(event);
        }
        for _ in 0..cell.queue.len() {
            let Some(event) = cell.queue.pop() else { break };
            self.unreserve();
            count(&event);
            drop_safely(event);
        }
    }
}

impl<R: Realm> Drop for OwnedColor<R> {
    fn drop(&mut self) {
        let mut owned = Self(self.0);
        loop {
            let realm = owned.cell().realm();
            owned.discard(|event| realm.count_abandoned(event.handler_info().name));
            match owned.release_anywhere() {
                Ok(()) => return,
                Err(again) => owned = again,
            }
        }
    }
}

impl<R: Realm> ReadyColor for OwnedColor<R> {
    #[inline]
    fn len(&self) -> u32 {
        self.cell().queue.len()
    }

    #[inline]
    fn time_left_cycles(&self) -> u64 {
        self.cell().queue.time_left_cycles()
    }
}
