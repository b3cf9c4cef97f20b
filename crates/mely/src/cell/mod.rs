//! The color: one shared cell that producers post to and one owner runs.
//!
//! * A [`ColorRef`] is a counted reference: who has one may post.
//! * An [`OwnedColor`] is the proof of ownership: there is one for a color exactly
//!   while its inbox is not closed, and only its holder touches the fields below
//!   `owner's alone`. It moves between threads inside queues, whose hand-over
//!   orders the accesses.
#![allow(unsafe_code)]

pub(crate) mod lives;
mod marks;
pub(crate) mod origin;
mod owned;
mod panicked;
mod posted;
mod realm;
mod reference;
pub(crate) mod room;
mod running;
mod states;
mod stopped;
mod weak;

use core::cell::Cell;
use core::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{OnceLock, Weak};

use mely_sched::{ColorQueue, Link};

pub(crate) use self::marks::Here;
use self::marks::Marks;
pub(crate) use self::owned::OwnedColor;
pub(crate) use self::panicked::AfterPanic;
pub use self::panicked::OnPanic;
pub(crate) use self::posted::Posted;
pub(crate) use self::realm::Realm;
use self::room::Places;
pub(crate) use self::running::{Lent, Running};
pub(crate) use self::states::{Anew, Make, Never, Ours};
use self::weak::Anchor;
pub(crate) use self::weak::WeakRef;
use crate::cell::lives::{ENDED, EndsWithColor, Lives, NO_LIFE};
use crate::cell::origin::Origin;
use crate::event::{Event, StatePtr};
use crate::machine::panics::drop_safely;
use crate::machine::prefetch;
use crate::machine::sync::{Arc, AtomicU16, AtomicUsize};
use crate::memory::pool::Pool;
use crate::memory::slab::Block;
use crate::queue::inbox::{Inbox, Pushed};

/// What distinguishes a color from others, fixed when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits {
    /// How many events may be pending.
    pub(crate) capacity: Capacity,
    /// How many of control besides.
    pub(crate) control_capacity: Capacity,
    /// The worker that runs it first, and always if it is pinned.
    pub(crate) home: WorkerIndex,
    /// Never stolen.
    pub(crate) pinned: bool,
    pub(crate) after_panic: AfterPanic,
}

/// A worker's number, as small as it can be: a color is two cache lines.
pub(crate) type WorkerIndex = u16;

/// How many events may be pending on a color; [`UNBOUNDED`] is no limit.
pub(crate) type Capacity = u32;

/// No limit to what is pending.
pub(crate) const UNBOUNDED: Capacity = Capacity::MAX;

/// How many events of control may be pending, if nobody says.
pub(crate) const CONTROL_CAPACITY: Capacity = 64;

/// A color: two cache lines, of which the first has all that posting and running
/// touch.
#[repr(C, align(64))]
pub(crate) struct ColorCell<R: Realm> {
    inbox: Inbox<Event>,
    refs: AtomicUsize,
    // Owner's alone, down to `id`, but for what says otherwise; `link` belongs to
    // the list that holds it.
    link: Link<ColorCell<R>>,
    queue: ColorQueue<Event>,
    /// Read by all. Where events wait in one queue for each core, it changes under the
    /// locks of the old and the new core's.
    home: AtomicU16,
    marks: Marks,
    /// Events in the one queue of the home, under its lock.
    waiting: AtomicU32,
    /// Its number, for people; changes only while the owner alone refers to it.
    id: Cell<u64>,
    // Shared again.
    /// Events posted and not begun; counted only for bounded colors.
    places: Places,
    traits: Traits,
    realm: Arc<R>,
    /// Where that which ends with the color is, among that of its home; see [`Lives`].
    life: AtomicU32,
    /// A panic has stopped it.
    poisoned: AtomicBool,
    /// What weak references refer to, once there was one.
    anchor: OnceLock<Arc<Anchor<R>>>,
}

// SAFETY: events and states are `Send`, the rest is plain or shared data.
unsafe impl<R: Realm> Send for ColorCell<R> {}

/// A counted reference to a color.
pub(crate) struct ColorRef<R: Realm>(NonNull<ColorCell<R>>);

// SAFETY: what a reference reaches is atomic, immutable or behind a lock; the
// owner's fields need an `OwnedColor`.
unsafe impl<R: Realm> Send for ColorRef<R> {}
// SAFETY: as above.
unsafe impl<R: Realm> Sync for ColorRef<R> {}

impl<R: Realm> ColorRef<R> {
    /// A new color without events.
    pub(crate) fn new(pool: Option<&CellPool<R>>, realm: &Arc<R>, id: u64, traits: Traits) -> Self {
        let reused = pool.and_then(CellPool::take);
        let mut cell = reused.unwrap_or_else(|| ColorCell::new(realm));
        cell.begin(id, traits);
        cell.marks.give_out();
        Self(cell.into_raw())
    }

    #[inline]
    fn cell(&self) -> &ColorCell<R> {
        // SAFETY: the count keeps the cell alive.
        unsafe { self.0.as_ref() }
    }

    /// The runtime that it is of.
    #[inline]
    pub(crate) fn realm(&self) -> &Arc<R> {
        &self.cell().realm
    }

    /// What a handle knows by heart.
    pub(crate) fn origin(&self) -> Origin {
        Origin::new(self.realm().number(), self.traits().capacity != UNBOUNDED)
    }

    /// What ends with the runtime at the latest, of the colors that began where this
    /// one did.
    pub(crate) fn lives(&self) -> &Lives {
        self.realm().lives(usize::from(self.traits().home))
    }

    pub(crate) fn traits(&self) -> &Traits {
        &self.cell().traits
    }

    /// Its number, for people.
    pub(crate) fn id(&self) -> u64 {
        self.cell().id.get()
    }

    /// Gives state to the color, to live as long as it; `make` makes it anew.
    pub(crate) fn adopt<T, M>(&self, state: T, make: M) -> StatePtr<T>
    where
        T: Send + 'static,
        M: Make<T>,
    {
        if size_of::<T>() == 0 && !core::mem::needs_drop::<T>() && !M::CAN {
            return StatePtr::new(NonNull::dangling());
        }
        self.lives().adopt(&self.cell().life, state, make)
    }

    /// Notes what is to end with the color: by which key; `None` if it was stopped, or has
    /// ended.
    pub(crate) fn list(&self, what: Weak<dyn EndsWithColor>) -> Option<usize> {
        match self.is_stopped() {
            true => None,
            false => self.lives().list(&self.cell().life, what),
        }
    }

    /// Asks for the line that posting writes.
    #[inline]
    pub(crate) fn prefetch_for_post(&self) {
        prefetch::line(self.0.as_ptr());
    }

    /// Gives an event to the color. Whoever gets the color back has become its
    /// owner and must schedule it. A color that was stopped gives the event back.
    #[inline]
    pub(crate) fn deliver(&self, event: Event) -> Result<Option<OwnedColor<R>>, Event> {
        let inbox = &self.cell().inbox;
        if inbox.open() {
            let owned = OwnedColor::claim(self);
            owned.cell().queue.push(event);
            return Ok(Some(owned));
        }
        self.deliver_unweighed(event)
    }

    /// Gives an event that has not been weighed to the color: its owner weighs it
    /// when it takes the inbox.
    pub(crate) fn deliver_unweighed(&self, event: Event) -> Result<Option<OwnedColor<R>>, Event> {
        match self.cell().inbox.push(event) {
            Pushed::Queued => Ok(None),
            Pushed::Opened => Ok(Some(OwnedColor::claim(self))),
            Pushed::Barred(event) => Err(self.refuse(event)),
        }
    }

    /// Who it is among all that are there now.
    #[inline]
    pub(crate) fn identity(&self) -> *const () {
        self.0.as_ptr().cast_const().cast()
    }

    /// Whether both refer to the same color.
    pub(crate) fn same(&self, other: &ColorRef<R>) -> bool {
        self.0 == other.0
    }
}

impl<R: Realm> Clone for ColorRef<R> {
    #[inline]
    fn clone(&self) -> Self {
        // Relaxed: whoever clones has a reference, so the cell cannot go away.
        self.cell().refs.fetch_add(1, Relaxed);
        Self(self.0)
    }
}

impl<R: Realm> ColorCell<R> {
    fn new(realm: &Arc<R>) -> Block<Self> {
        Block::new(Self {
            inbox: Inbox::new_closed(),
            refs: AtomicUsize::new(0),
            link: Cell::new(None),
            queue: ColorQueue::new(),
            home: AtomicU16::new(0),
            marks: Marks::new(),
            waiting: AtomicU32::new(0),
            id: Cell::new(0),
            places: Places::new(),
            traits: Traits {
                capacity: UNBOUNDED,
                control_capacity: CONTROL_CAPACITY,
                home: 0,
                pinned: false,
                after_panic: AfterPanic::AsRuntime,
            },
            realm: Arc::clone(realm),
            life: AtomicU32::new(NO_LIFE),
            poisoned: AtomicBool::new(false),
            anchor: OnceLock::new(),
        })
    }

    /// Makes an unused cell an idle color with one reference.
    fn begin(&mut self, id: u64, traits: Traits) {
        // Relaxed: nobody else has the cell yet.
        self.refs.store(1, Relaxed);
        self.inbox.begin(false);
        self.home.store(traits.home, Relaxed);
        self.marks.begin(traits);
        self.id.set(id);
        self.places.begin();
        self.poisoned.store(false, Relaxed);
        self.traits = traits;
    }

    /// The runtime that it is of.
    pub(crate) fn realm(&self) -> &Arc<R> {
        &self.realm
    }

    /// Ends a color: drops its state, and keeps the cell for the next one.
    ///
    /// # Safety
    ///
    /// The caller has the last reference, and gives it up; the color has no events.
    unsafe fn end(cell: NonNull<Self>) {
        // SAFETY: the caller's word.
        R::keep_cell(unsafe { Self::end_state(cell) });
    }

    /// The same, on a worker of the color's runtime.
    ///
    /// # Safety
    ///
    /// As for [`end`](Self::end).
    #[inline]
    unsafe fn end_into(cell: NonNull<Self>, cells: &CellPool<R>) {
        // SAFETY: the caller's word.
        cells.keep(unsafe { Self::end_state(cell) });
    }

    /// Drops the state of a color that ends.
    ///
    /// # Safety
    ///
    /// As for [`end`](Self::end).
    #[inline]
    unsafe fn end_state(cell: NonNull<Self>) -> Block<Self> {
        // SAFETY: the caller has the last reference.
        let anchored = unsafe { cell.as_ref() };
        let has_anchor = anchored.has_anchor();
        if has_anchor {
            anchored.weigh_anchor();
        }
        // SAFETY: the last reference is the pointer of the block.
        let mut cell = unsafe { Block::from_raw(cell) };
        if has_anchor {
            cell.anchor.take();
        }
        let life = *cell.life.get_mut();
        if life != NO_LIFE {
            if life != ENDED {
                let home = usize::from(cell.traits.home);
                drop_safely(cell.realm.lives(home).end_color(&cell.life));
            }
            *cell.life.get_mut() = NO_LIFE;
        }
        cell
    }
}

/// Unused cells of a worker: they keep their reference to the runtime, so that a
/// fresh color costs no locked instruction.
pub(crate) type CellPool<R> = Pool<Block<ColorCell<R>>>;
