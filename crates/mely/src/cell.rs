//! The color: one shared cell that producers post to and one owner runs.
//!
//! * A [`ColorRef`] is a counted reference: who has one may post.
//! * An [`OwnedColor`] is the proof of ownership: there is one for a color exactly
//!   while its inbox is not closed, and only its holder touches the fields below
//!   `owner's alone`. It moves between threads inside queues, whose hand-over
//!   orders the accesses.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::any::Any;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use mely_sched::{ColorQueue, Link, Linked, ReadyColor};

use crate::event::{Event, StatePtr};
use crate::inbox::{Inbox, Pushed};
use crate::panics::drop_safely;
use crate::pool::Pool;
use crate::prefetch;
use crate::shared::Shared;
use crate::sync::{Arc, AtomicUsize, Mutex, lock};
use crate::worker::{self, Worker};

/// What distinguishes a color from others, fixed when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Its number, for people.
    pub(crate) id: u64,
    /// How many events may be pending.
    pub(crate) capacity: Capacity,
    /// The worker that runs it first, and always if it is pinned.
    pub(crate) home: WorkerIndex,
    /// Never stolen.
    pub(crate) pinned: bool,
}

/// A worker's number, as small as it can be: a color is two cache lines.
pub(crate) type WorkerIndex = u16;

/// How many events may be pending on a color; [`UNBOUNDED`] is no limit.
pub(crate) type Capacity = u32;

/// No limit to what is pending.
pub(crate) const UNBOUNDED: Capacity = Capacity::MAX;

/// State that a color owns, before what it owned already.
struct Owned<T> {
    value: T,
    _next: Option<Box<dyn Any + Send>>,
}

/// A color: two cache lines, of which the first has all that posting and running
/// touch.
#[repr(C, align(64))]
pub(crate) struct ColorCell {
    inbox: Inbox<Event>,
    refs: AtomicUsize,
    // Owner's alone, down to `home`; `link` belongs to the list that holds it.
    link: Link<ColorCell>,
    ticket: Cell<u64>,
    queue: ColorQueue<Event>,
    home: Cell<WorkerIndex>,
    poisoned: Cell<bool>,
    // Shared again.
    /// Events posted and not begun; counted only for bounded colors.
    pending: AtomicUsize,
    traits: Traits,
    shared: Arc<Shared>,
    states: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: events and states are `Send`, the rest is plain or shared data.
unsafe impl Send for ColorCell {}

#[cfg(all(target_pointer_width = "64", not(loom)))]
const _: () = assert!(size_of::<ColorCell>() == 128);

/// A counted reference to a color.
pub(crate) struct ColorRef(NonNull<ColorCell>);

// SAFETY: what a reference reaches is atomic, immutable or behind a lock; the
// owner's fields need an `OwnedColor`.
unsafe impl Send for ColorRef {}
// SAFETY: as above.
unsafe impl Sync for ColorRef {}

impl ColorRef {
    /// A new color without events.
    pub(crate) fn new(shared: &Arc<Shared>, traits: Traits) -> Self {
        let reused = worker::with_current(shared, |w| w.and_then(|w| w.cells().take()));
        let mut cell = reused.unwrap_or_else(|| ColorCell::new(shared));
        cell.begin(traits);
        Self(NonNull::from(Box::leak(cell)))
    }

    #[inline]
    fn cell(&self) -> &ColorCell {
        // SAFETY: the count keeps the cell alive.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.cell().shared
    }

    pub(crate) fn traits(&self) -> &Traits {
        &self.cell().traits
    }

    /// Gives state to the color, to live as long as it.
    pub(crate) fn adopt<T: Send + 'static>(&self, state: T) -> StatePtr<T> {
        if size_of::<T>() == 0 && !core::mem::needs_drop::<T>() {
            return StatePtr(NonNull::dangling());
        }
        let mut states = lock(&self.cell().states);
        let mut owned = Box::new(Owned {
            value: state,
            _next: states.take(),
        });
        let at = StatePtr(NonNull::from(&mut owned.value));
        *states = Some(owned);
        at
    }

    /// Counts one more pending event, unless the color is full.
    #[inline]
    pub(crate) fn reserve(&self) -> bool {
        let cell = self.cell();
        if cell.traits.capacity == UNBOUNDED {
            return true;
        }
        // Relaxed: a count only; the events themselves go through the inbox.
        let room = |pending| (pending < cell.traits.capacity as usize).then_some(pending + 1);
        cell.pending.fetch_update(Relaxed, Relaxed, room).is_ok()
    }

    /// Whether one more event could be pending.
    pub(crate) fn has_room(&self) -> bool {
        let capacity = self.cell().traits.capacity;
        // Relaxed: as above.
        capacity == UNBOUNDED || self.cell().pending.load(Relaxed) < capacity as usize
    }

    /// Drops the state of the color, whoever refers to it, after the runtime has
    /// ended and no event can reach the state any more.
    pub(crate) fn end_state(&self) {
        if self.cell().shared.has_ended() {
            let states = lock(&self.cell().states).take();
            drop_safely(states);
        }
    }

    /// Counts one more pending event, full or not.
    #[inline]
    pub(crate) fn reserve_always(&self) {
        if self.cell().traits.capacity != UNBOUNDED {
            // Relaxed: as above.
            self.cell().pending.fetch_add(1, Relaxed);
        }
    }

    /// Gives an event to the color. Whoever gets the color back has become its
    /// owner and must schedule it.
    #[inline]
    pub(crate) fn deliver(&self, event: Event) -> Option<OwnedColor> {
        let inbox = &self.cell().inbox;
        if inbox.open() {
            let owned = OwnedColor::claim(self);
            owned.cell().queue.push(event);
            return Some(owned);
        }
        self.deliver_unweighed(event)
    }

    /// Gives an event that has not been weighed to the color: its owner weighs it
    /// when it takes the inbox.
    pub(crate) fn deliver_unweighed(&self, event: Event) -> Option<OwnedColor> {
        match self.cell().inbox.push(event) {
            Pushed::Queued => None,
            Pushed::Opened => Some(OwnedColor::claim(self)),
            Pushed::Shut(_) => unreachable!("the inbox of a color is never shut"),
        }
    }

    /// Whether both refer to the same color.
    #[inline]
    pub(crate) fn is(&self, other: &OwnedColor) -> bool {
        self.0 == other.0
    }

    /// Whether both refer to the same color.
    pub(crate) fn same(&self, other: &ColorRef) -> bool {
        self.0 == other.0
    }
}

impl Clone for ColorRef {
    #[inline]
    fn clone(&self) -> Self {
        // Relaxed: whoever clones has a reference, so the cell cannot go away.
        self.cell().refs.fetch_add(1, Relaxed);
        Self(self.0)
    }
}

impl Drop for ColorRef {
    #[inline]
    fn drop(&mut self) {
        // Release: all that was done through this reference comes before the end
        // of the cell. Acquire: the last one sees all of it.
        if self.cell().refs.fetch_sub(1, AcqRel) == 1 {
            // SAFETY: no reference is left.
            unsafe { ColorCell::end(self.0) };
        }
    }
}

impl ColorCell {
    fn new(shared: &Arc<Shared>) -> Box<Self> {
        Box::new(Self {
            inbox: Inbox::new_closed(),
            refs: AtomicUsize::new(0),
            link: Cell::new(None),
            ticket: Cell::new(0),
            queue: ColorQueue::new(),
            home: Cell::new(0),
            poisoned: Cell::new(false),
            pending: AtomicUsize::new(0),
            traits: Traits {
                id: 0,
                capacity: UNBOUNDED,
                home: 0,
                pinned: false,
            },
            shared: Arc::clone(shared),
            states: Mutex::new(None),
        })
    }

    /// Makes an unused cell an idle color with one reference.
    fn begin(&mut self, traits: Traits) {
        // Relaxed: nobody else has the cell yet.
        self.refs.store(1, Relaxed);
        self.inbox.begin(false);
        self.home.set(traits.home);
        self.poisoned.set(false);
        self.pending.store(0, Relaxed);
        self.traits = traits;
    }

    /// Ends a color: drops its state, and keeps the cell for the next one.
    ///
    /// # Safety
    ///
    /// The caller has the last reference, and gives it up; the color has no events.
    unsafe fn end(cell: NonNull<Self>) {
        // SAFETY: the caller has the last reference; the cell was boxed.
        let cell = unsafe { Box::from_raw(cell.as_ptr()) };
        let states = lock(&cell.states).take();
        drop_safely(states);
        let shared = Arc::as_ptr(&cell.shared);
        worker::with_any_current(|worker| {
            if let Some(worker) = worker.filter(|w| Arc::as_ptr(w.shared()) == shared) {
                worker.cells().keep(cell);
            }
        });
    }
}

/// Unused cells of a worker: they keep their reference to the runtime, so that a
/// fresh color costs no locked instruction.
pub(crate) type CellPool = Pool<Box<ColorCell>>;

/// The right to run a color; also a counted reference.
///
/// Dropping it drops the pending events, counted as abandoned, and leaves the
/// color idle.
pub(crate) struct OwnedColor(NonNull<ColorCell>);

// SAFETY: there is one owner at a time, and moving it through a queue orders what
// the old and the new owner do.
unsafe impl Send for OwnedColor {}

// SAFETY: the cell is given up and taken back as it is; the link is a plain field.
unsafe impl Linked for OwnedColor {
    type Target = ColorCell;

    #[inline]
    fn into_raw(self) -> NonNull<ColorCell> {
        ManuallyDrop::new(self).0
    }

    #[inline]
    unsafe fn from_raw(raw: NonNull<ColorCell>) -> Self {
        Self(raw)
    }

    #[inline]
    unsafe fn link<'a>(raw: NonNull<ColorCell>) -> &'a Link<ColorCell> {
        // SAFETY: the caller vouches that the cell is live.
        unsafe { &(*raw.as_ptr()).link }
    }
}

impl OwnedColor {
    /// For whoever has just opened the inbox.
    #[inline]
    fn claim(color: &ColorRef) -> Self {
        Self(ManuallyDrop::new(color.clone()).0)
    }

    #[inline]
    fn cell(&self) -> &ColorCell {
        // SAFETY: an owner counts as a reference.
        unsafe { self.0.as_ref() }
    }

    /// The worker whose queues the color goes to.
    #[inline]
    pub(crate) fn home(&self) -> usize {
        usize::from(self.cell().home.get())
    }

    /// Makes another worker the color's home.
    #[inline]
    pub(crate) fn set_home(&self, worker: WorkerIndex) {
        self.cell().home.set(worker);
    }

    pub(crate) fn traits(&self) -> &Traits {
        &self.cell().traits
    }

    /// Marks the color so that its events are dropped from now on.
    pub(crate) fn poison(&self) {
        self.cell().poisoned.set(true);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.cell().poisoned.get()
    }

    /// A reference for others.
    pub(crate) fn to_ref(&self) -> ColorRef {
        ColorRef::clone(&self.borrow())
    }

    /// Lends this owner as a reference.
    #[inline]
    fn borrow(&self) -> ManuallyDrop<ColorRef> {
        ManuallyDrop::new(ColorRef(self.0))
    }

    /// Counts one more pending event, unless the color is full.
    #[inline]
    pub(crate) fn reserve(&self) -> bool {
        self.borrow().reserve()
    }

    /// Posts to the color from the one who owns it: after everything that is in
    /// the inbox, which may hold earlier events of this thread.
    #[inline]
    pub(crate) fn push(&self, event: Event, weigh: impl Fn(&Event)) {
        self.take_inbox(weigh);
        self.cell().queue.push(event);
    }

    /// Gives the first event to a fresh color.
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
        if cell.traits.capacity != UNBOUNDED {
            // Relaxed: a count only.
            cell.pending.fetch_sub(1, Relaxed);
        }
        Some(event)
    }

    /// Moves what was posted by others to the pending events, weighing each.
    #[inline]
    pub(crate) fn take_inbox(&self, weigh: impl Fn(&Event)) {
        let cell = self.cell();
        if !cell.inbox.has_elements() {
            return;
        }
        let posted = cell.inbox.take();
        while let Some(event) = posted.pop_front() {
            weigh(&event);
            cell.queue.push(event);
        }
    }

    /// A fresh color that nobody else refers to, owned by `worker` from the start.
    #[inline]
    pub(crate) fn fresh(worker: &Worker, traits: Traits) -> Self {
        let reused = worker.cells().take();
        let mut cell = reused.unwrap_or_else(|| ColorCell::new(worker.shared()));
        cell.begin(traits);
        cell.inbox.begin(true);
        Self(NonNull::from(Box::leak(cell)))
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

    /// Gives up a color without events; gives it back if there are some.
    #[inline]
    pub(crate) fn release(self) -> Result<(), Self> {
        let cell = self.cell();
        if !cell.queue.is_empty() {
            return Err(self);
        }
        // Acquire pairs with the release of the references that were dropped: what
        // they posted is seen in the inbox.
        if cell.refs.load(Acquire) == 1 {
            if cell.inbox.has_elements() {
                return Err(self);
            }
            // SAFETY: the owner's is the last reference, so nobody can post or get
            // another one; nothing is pending.
            unsafe { ColorCell::end(self.into_raw()) };
            return Ok(());
        }
        if cell.inbox.close() {
            drop(ColorRef(self.into_raw()));
            return Ok(());
        }
        Err(self)
    }

    /// Drops the events that are pending now, after showing each to `count`.
    pub(crate) fn discard(&self, count: impl Fn(&Event)) {
        while let Some(event) = self.pop(|_| ()) {
            count(&event);
            drop_safely(event);
        }
    }
}

impl Drop for OwnedColor {
    fn drop(&mut self) {
        let mut owned = Self(self.0);
        loop {
            let shared = &owned.cell().shared;
            owned.discard(|event| shared.count_abandoned(event.handler_info().name));
            match owned.release() {
                Ok(()) => return,
                Err(again) => owned = again,
            }
        }
    }
}

impl ReadyColor for OwnedColor {
    #[inline]
    fn len(&self) -> u32 {
        self.cell().queue.len()
    }

    #[inline]
    fn time_left_cycles(&self) -> u64 {
        self.cell().queue.time_left_cycles()
    }

    #[inline]
    fn ticket(&self) -> u64 {
        self.cell().ticket.get()
    }

    #[inline]
    fn set_ticket(&self, ticket: u64) {
        self.cell().ticket.set(ticket);
    }
}
