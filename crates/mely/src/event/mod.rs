//! Events: a closure in a queue node of one cache line.
#![allow(unsafe_code)]

mod call;
pub(crate) mod handler;
mod place;
mod state;

use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

use mely_sched::{Link, Linked};

pub(crate) use self::call::{Call, Takes};
pub(crate) use self::place::Place;
pub(crate) use self::state::StatePtr;
use crate::event::handler::{Handler, HandlerId, HandlerInfo, Kind, Weight};
use crate::machine::prefetch;
use crate::machine::probe::{self, Work};
use crate::machine::region::Access;
use crate::memory::pool::Pool;
use crate::memory::slab::{Block, in_slab};

/// What a closure may hold to be stored in the node itself; larger ones are boxed.
type Inline = [usize; 4];

/// A queue node: exactly one cache line, so that handing it to another core moves
/// one line.
#[repr(C, align(64))]
pub(crate) struct Node {
    link: Link<Node>,
    vtable: &'static VTable,
    handler: Option<&'static Handler>,
    weight: Cell<Weight>,
    /// The state that the closure is lent, of the type that `vtable` knows; after
    /// it the closure itself.
    payload: UnsafeCell<MaybeUninit<Inline>>,
}

// SAFETY: what a node holds is `Send` (see `Event::new`), and a free one is memory.
unsafe impl Send for Node {}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Node>() == 64);

/// Free memory for a node.
pub(crate) type NodeMemory = Block<MaybeUninit<Node>>;

in_slab!(MaybeUninit<Node>);

/// The free nodes of a worker.
pub(crate) type NodePool = Pool<NodeMemory>;

struct VTable {
    /// Takes the closure out of the node, hands the node back, and calls.
    run: unsafe fn(Event, &NodePool, Place<'_>),
    /// Drops the closure in place.
    drop: unsafe fn(NonNull<Node>),
    /// What a closure of this type is, as an event of a handler or of none.
    kind: fn(Option<&'static Handler>) -> Kind,
    takes: Takes,
    /// The event that the one in the node holds, if it holds one.
    held: Option<unsafe fn(&Node) -> &Event>,
}

/// An event: a closure to be run under a color. Dropping it drops the closure.
pub(crate) struct Event(NonNull<Node>);

// SAFETY: `Event::new` takes only closures and states that are `Send`; the cells
// in the node are reached through the event alone.
unsafe impl Send for Event {}

// SAFETY: the node is given up and taken back as it is; the link is a plain field.
unsafe impl Linked for Event {
    type Target = Node;

    #[inline]
    fn into_raw(self) -> NonNull<Node> {
        ManuallyDrop::new(self).0
    }

    #[inline]
    unsafe fn from_raw(raw: NonNull<Node>) -> Self {
        Self(raw)
    }

    #[inline]
    unsafe fn link<'a>(raw: NonNull<Node>) -> &'a Link<Node> {
        // SAFETY: the caller vouches that the node is live.
        unsafe { &(*raw.as_ptr()).link }
    }
}

impl mely_sched::Event for Event {
    #[inline]
    fn time_left_cycles(&self) -> u32 {
        self.node().weight.get().time_left_cycles
    }
}

#[repr(C)]
struct Payload<T, F> {
    state: StatePtr<T>,
    call: F,
}

impl<T, F> Payload<T, F> {
    const IS_INLINE: bool =
        size_of::<Self>() <= size_of::<Inline>() && align_of::<Self>() <= align_of::<Inline>();
}

impl Event {
    /// Puts a closure into a node of `pool` (a fresh node without a pool).
    ///
    /// `state` must belong to the color that the event is posted to: only
    /// [`Event::run`] relies on it.
    #[inline]
    pub(crate) fn new<T, F>(
        pool: Option<&NodePool>,
        handler: Option<&'static Handler>,
        weight: Weight,
        state: StatePtr<T>,
        call: F,
    ) -> Self
    where
        T: Send + 'static,
        F: Call<T>,
    {
        let payload = Payload { state, call };
        let inline = Payload::<T, F>::IS_INLINE;
        let vtable = if inline {
            Typed::<T, F>::INLINE
        } else {
            Typed::<T, F>::BOXED
        };
        let reused = pool.and_then(Pool::take);
        let memory = reused.unwrap_or_else(|| Block::new(MaybeUninit::uninit()));
        let node: NonNull<Node> = memory.into_raw().cast();
        probe::work(Work::Post, 1);
        probe::touch(node.as_ptr(), Access::Write);
        // SAFETY: the node is free memory of the right size and ours alone; the
        // payload fits (just asserted) or is a box, which does.
        unsafe {
            node.write(Node {
                link: Cell::new(None),
                vtable,
                handler,
                weight: Cell::new(weight),
                payload: UnsafeCell::new(MaybeUninit::uninit()),
            });
            let at = (*node.as_ptr()).payload.get();
            if inline {
                at.cast::<Payload<T, F>>().write(payload);
            } else {
                at.cast::<Box<Payload<T, F>>>().write(Box::new(payload));
            }
        }
        Self(node)
    }

    /// An event of the same handler that stands for this one: what `hold` makes of it has it,
    /// and runs it. On whatever color that is posted to, this one belongs there.
    pub(crate) fn held_by<C: Call<()>>(
        self,
        pool: Option<&NodePool>,
        hold: impl FnOnce(Self) -> C,
    ) -> Self {
        let (handler, weight) = (self.node().handler, self.node().weight.get());
        Self::new(pool, handler, weight, StatePtr::dangling(), hold(self))
    }

    /// Runs the closure on its state; the node goes to `pool`, that of the worker,
    /// before the closure runs, so that its first post finds it warm.
    ///
    /// # Safety
    ///
    /// The caller owns the color that the event was posted to, which owns the state
    /// that the event was made with, and no other event of it is being run. `place` was
    /// made of what all that implement [`Call`] take it for, of that color.
    #[inline]
    pub(crate) unsafe fn run(self, pool: &NodePool, place: Place<'_>) {
        let run = self.node().vtable.run;
        // SAFETY: `run` is of the type that the node was made with; the rest is
        // the caller's word.
        unsafe { run(self, pool, place) }
    }

    /// Takes the closure out of an event that nobody wants.
    ///
    /// # Safety
    ///
    /// It was made with this very closure.
    #[cold]
    pub(crate) unsafe fn into_call<T, F>(self) -> F {
        let node = ManuallyDrop::new(self).0;
        // SAFETY: the caller vouches for the type; it is read once, as the event is given up.
        let payload = unsafe {
            let at = (*node.as_ptr()).payload.get();
            match Payload::<T, F>::IS_INLINE {
                true => at.cast::<Payload<T, F>>().read(),
                false => *at.cast::<Box<Payload<T, F>>>().read(),
            }
        };
        // SAFETY: nothing in the node is alive any more.
        drop(unsafe { free(node) });
        payload.call
    }

    /// What it takes of the room of a bounded color.
    pub(crate) fn takes(&self) -> Takes {
        self.innermost().vtable.takes
    }

    /// The node of the event that this one stands for in the end; mostly its own.
    #[inline]
    fn innermost(&self) -> &Node {
        let mut node = self.node();
        while let Some(held) = node.vtable.held {
            // SAFETY: `held` is of the type that the node was made with.
            node = unsafe { held(node) }.node();
        }
        node
    }

    /// What the event was posted as.
    pub(crate) fn kind(&self) -> Kind {
        let node = self.innermost();
        (node.vtable.kind)(node.handler)
    }

    /// The descriptor of its handler, or one made from the type of the closure.
    pub(crate) fn handler_info(&self) -> HandlerInfo {
        self.kind().info()
    }

    #[inline]
    pub(crate) fn handler_id(&self) -> HandlerId {
        self.node().weight.get().id
    }

    /// Records what the handler was looked up as, and what the event weighs.
    #[inline]
    pub(crate) fn weigh(&self, weight: Weight) {
        self.node().weight.set(weight);
    }

    /// Notes which worker posted it, besides its handler: for traces.
    pub(crate) fn note_poster(&self, source: u16) {
        let weight = self.node().weight.get();
        let id = weight.id.noting_poster(source);
        self.weigh(Weight { id, ..weight });
    }

    /// Asks for the cache line of the event before it is needed.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch::line(self.0.as_ptr());
    }

    /// Asks for the cache line of the state that the event works on.
    #[inline]
    pub(crate) fn prefetch_state(&self) {
        // SAFETY: the first word of the payload is always a pointer: to the state,
        // or to the box that holds the closure.
        let first = unsafe { self.node().payload.get().cast::<*const u8>().read() };
        prefetch::untold(first);
    }

    #[inline]
    fn node(&self) -> &Node {
        // SAFETY: an event owns its node, which is live and initialised.
        unsafe { self.0.as_ref() }
    }

    /// Takes the closure out; the node is free memory afterwards.
    ///
    /// # Safety
    ///
    /// `P` is what the node was made with.
    #[inline]
    unsafe fn take_payload<P>(self, pool: &NodePool) -> P {
        let node = ManuallyDrop::new(self).0;
        probe::work(Work::Event, 1);
        probe::touch(node.as_ptr(), Access::Read);
        // SAFETY: the caller vouches for the type; it is read once, since the
        // event that owned it has been given up.
        let payload = unsafe { (*node.as_ptr()).payload.get().cast::<P>().read() };
        // SAFETY: nothing in the node is alive any more.
        pool.keep(unsafe { free(node) });
        payload
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        /// Frees the node even when dropping the closure panics.
        struct Free(NonNull<Node>);
        impl Drop for Free {
            fn drop(&mut self) {
                // SAFETY: the payload has been dropped, or is lost to a panic.
                drop(unsafe { free(self.0) });
            }
        }
        let _free = Free(self.0);
        let drop = self.node().vtable.drop;
        // SAFETY: `drop` is of the type that the node was made with, called once.
        unsafe { drop(self.0) };
    }
}

/// Turns a node into the memory that it was made in.
///
/// # Safety
///
/// The caller owns the node, and nothing in it is alive.
unsafe fn free(node: NonNull<Node>) -> NodeMemory {
    // SAFETY: `Event::new` gave away exactly this block.
    unsafe { Block::from_raw(node.cast()) }
}

/// The tables of a closure type.
struct Typed<T, F>(PhantomData<(T, F)>);

impl<T, F> Typed<T, F>
where
    T: Send + 'static,
    F: Call<T>,
{
    const INLINE: &'static VTable = &Self::table(
        Self::run_inline,
        Self::drop_as::<Payload<T, F>>,
        Self::held_inline,
    );
    const BOXED: &'static VTable = &Self::table(
        Self::run_boxed,
        Self::drop_as::<Box<Payload<T, F>>>,
        Self::held_boxed,
    );

    const fn table(
        run: unsafe fn(Event, &NodePool, Place<'_>),
        drop: unsafe fn(NonNull<Node>),
        held: unsafe fn(&Node) -> &Event,
    ) -> VTable {
        VTable {
            run,
            drop,
            kind: Kind::of::<F>,
            takes: F::TAKES,
            held: if F::HELD.is_some() { Some(held) } else { None },
        }
    }

    unsafe fn run_inline(event: Event, pool: &NodePool, place: Place<'_>) {
        // SAFETY: nodes with this table hold this type.
        let Payload { state, call } = unsafe { event.take_payload::<Payload<T, F>>(pool) };
        // SAFETY: passed on from the caller.
        unsafe { call.call(state, place) };
    }

    unsafe fn run_boxed(event: Event, pool: &NodePool, place: Place<'_>) {
        // SAFETY: nodes with this table hold this type.
        let boxed = unsafe { event.take_payload::<Box<Payload<T, F>>>(pool) };
        let Payload { state, call } = *boxed;
        // SAFETY: passed on from the caller.
        unsafe { call.call(state, place) };
    }

    unsafe fn held_inline(node: &Node) -> &Event {
        // SAFETY: nodes with this table hold this type; who has the event alone reaches it.
        Self::held_of(unsafe { &*node.payload.get().cast::<Payload<T, F>>() })
    }

    unsafe fn held_boxed(node: &Node) -> &Event {
        // SAFETY: as above.
        Self::held_of(unsafe { &*node.payload.get().cast::<Box<Payload<T, F>>>() })
    }

    fn held_of(payload: &Payload<T, F>) -> &Event {
        F::HELD.expect("only tables of those that hold one have this")(&payload.call)
    }

    unsafe fn drop_as<P>(node: NonNull<Node>) {
        // SAFETY: nodes with this table hold `P`, and the caller drops it once.
        unsafe { (*node.as_ptr()).payload.get().cast::<P>().drop_in_place() };
    }
}
