//! A one-word inbox that many threads push to and one owner empties.
//!
//! The word is *closed*, *open and empty*, or the newest element of a chain; an open one may
//! be *barred*, which refuses all that comes later and leaves what is there to the owner. The
//! same protocol serves twice (`docs/protocols.md` has the proof by cases):
//!
//! | inbox of | closed means | who finds it closed must |
//! |---|---|---|
//! | a color | idle: nobody owns the color | own the color and schedule it |
//! | a worker | the worker sleeps | wake the worker |
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use mely_sched::{Linked, List};

use crate::machine::sync::{AtomicPtr, load_untold};

/// What a push found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed<P> {
    /// The inbox was open: its owner will come to the element.
    Queued,
    /// The inbox was closed and is now open: the pusher must act.
    Opened,
    /// The inbox is barred; here is the element back.
    Barred(P),
}

/// What an owner found who could not close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Elements, to be taken first.
    Elements,
    /// Nothing, nor will anything come: it is barred, and the caller has been its last owner.
    Barred,
}

/// A chain of elements behind one atomic word.
pub(crate) struct Inbox<P: Linked> {
    word: AtomicPtr<P::Target>,
    _owns: PhantomData<P>,
}

// SAFETY: elements enter by `Send` values and leave to whoever takes them; the
// word itself is atomic.
unsafe impl<P: Linked + Send> Sync for Inbox<P> {}
// SAFETY: as above.
unsafe impl<P: Linked + Send> Send for Inbox<P> {}

impl<P: Linked> Inbox<P> {
    pub(crate) fn new_closed() -> Self {
        Self::with_word(Self::closed())
    }

    pub(crate) fn new_open() -> Self {
        Self::with_word(Self::open_empty())
    }

    fn with_word(word: *mut P::Target) -> Self {
        Self {
            word: AtomicPtr::new(word),
            _owns: PhantomData,
        }
    }

    const fn closed() -> *mut P::Target {
        ptr::null_mut()
    }

    /// Every element is aligned to more than two bytes, so 1 is never one of them.
    const fn open_empty() -> *mut P::Target {
        const { assert!(align_of::<P::Target>() > 2) };
        ptr::without_provenance_mut(Self::OPEN_EMPTY)
    }

    /// As *open and empty*, but barred.
    const fn barred_empty() -> *mut P::Target {
        ptr::without_provenance_mut(Self::OPEN_EMPTY | Self::BAR)
    }

    const OPEN_EMPTY: usize = 1;

    /// Marks an open inbox as barred, whatever is in it: no element has this bit.
    const BAR: usize = 2;

    fn has_bar(word: *mut P::Target) -> bool {
        word.addr() & Self::BAR != 0
    }

    /// Whether there is a chain, of an inbox that is barred or is not.
    fn is_chain(word: *mut P::Target) -> bool {
        word.addr() > Self::OPEN_EMPTY | Self::BAR
    }

    /// The newest element of a chain.
    fn newest(word: *mut P::Target) -> Option<NonNull<P::Target>> {
        let element = NonNull::new(word.map_addr(|word| word & !Self::BAR));
        element.filter(|_| Self::is_chain(word))
    }

    /// Sets an inbox that nobody else can reach and that is empty.
    #[inline]
    pub(crate) fn begin(&mut self, open: bool) {
        // A simulation is the same in debug builds: it must not see a look more.
        let empty = || cfg!(feature = "virtual") || !self.has_elements();
        debug_assert!(empty(), "an inbox begins empty");
        let word = if open {
            Self::open_empty()
        } else {
            Self::closed()
        };
        // Relaxed: nobody else can reach it.
        self.word.store(word, Relaxed);
    }

    /// Opens a closed inbox. Whoever gets `true` is its owner from then on.
    #[inline]
    pub(crate) fn open(&self) -> bool {
        // Relaxed: only a hint that spares a failing exchange.
        if self.word.load(Relaxed) != Self::closed() {
            return false;
        }
        // Acquire pairs with the release of `close`: the new owner sees all that
        // the last one did.
        self.word
            .compare_exchange(Self::closed(), Self::open_empty(), Acquire, Relaxed)
            .is_ok()
    }

    /// Adds an element, opening the inbox if it was closed.
    #[inline]
    pub(crate) fn push(&self, element: P) -> Pushed<P> {
        let raw = element.into_raw();
        // Relaxed: the exchange below has the ordering.
        let mut word = self.word.load(Relaxed);
        loop {
            // Only what is no less than an element need be looked at for the bar.
            let next = NonNull::new(word).filter(|_| word.addr() > Self::OPEN_EMPTY);
            if next.is_some() && Self::has_bar(word) {
                // SAFETY: `raw` has just come from `into_raw`.
                return Pushed::Barred(unsafe { P::from_raw(raw) });
            }
            // SAFETY: `raw` is live and ours until the exchange succeeds.
            unsafe { P::link(raw) }.set(next);
            // Release pairs with the acquire of `take`: the taker sees the element
            // and its link. Acquire pairs with the release of `close`, for a
            // pusher that becomes the owner.
            match self
                .word
                .compare_exchange_weak(word, raw.as_ptr(), AcqRel, Relaxed)
            {
                Ok(found) if found == Self::closed() => return Pushed::Opened,
                Ok(_) => return Pushed::Queued,
                Err(found) => word = found,
            }
        }
    }

    /// Whether there are elements: a hint, exact for the elements that the calling
    /// thread itself pushed.
    #[inline]
    pub(crate) fn has_elements(&self) -> bool {
        // Relaxed: a thread sees its own pushes in any case, and who needs the
        // elements goes through `take`.
        Self::is_chain(self.word.load(Relaxed))
    }

    /// For the owner, ahead of [`take`](Self::take): shows the element behind `behind`
    /// newer ones, if there is one, to fetch it into the cache.
    ///
    /// Elements from other cores are a chain of dependent cache misses: one that
    /// walks a step farther each time it comes by, and fetches where it ends, pays
    /// for none of them.
    #[inline]
    pub(crate) fn look(&self, behind: usize, look: impl FnOnce(*const P::Target)) {
        // Acquire pairs with the release of every push in the chain.
        let word = self.word.load(Acquire);
        if Self::has_bar(word) {
            // They are not run.
            return;
        }
        let mut at = Self::newest(word);
        for _ in 0..behind {
            let Some(element) = at else { return };
            // SAFETY: only the owner, the caller, takes elements out, so this one is
            // live; its link was set before it was pushed, and stays.
            at = unsafe { P::link(element) }.get();
        }
        if let Some(at) = at {
            look(at.as_ptr());
        }
    }

    /// Whether it has no elements and is not barred: a push would be the first thing to do for
    /// whoever owns it. As exact as [`has_elements`](Self::has_elements).
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        // Relaxed: as above.
        self.word.load(Relaxed).addr() <= Self::OPEN_EMPTY
    }

    /// Whether it is barred. Who learns that from whoever barred it sees it.
    #[inline]
    pub(crate) fn is_barred(&self) -> bool {
        // Acquire pairs with the release of `bar`. A simulation would count what it costs.
        Self::has_bar(load_untold(&self.word))
    }

    /// Takes all elements, oldest first, of an inbox that is not barred. Leaves an open inbox
    /// open and a closed one closed.
    #[inline]
    pub(crate) fn take(&self) -> List<P> {
        let mut word = self.word.load(Relaxed);
        while Self::is_chain(word) && !Self::has_bar(word) {
            // Acquire pairs with the release of every push in the chain (each push
            // is a read-modify-write, so they form one release sequence). Release
            // makes a pusher that finds the empty inbox see what its owner did.
            let taken = self
                .word
                .compare_exchange_weak(word, Self::open_empty(), AcqRel, Relaxed);
            match taken {
                // SAFETY: the exchange took the whole chain.
                Ok(chain) => return unsafe { Self::list_of(chain) },
                Err(found) => word = found,
            }
        }
        List::new()
    }

    /// What was in it, oldest first.
    ///
    /// # Safety
    ///
    /// The caller has just exchanged this word for one without elements.
    #[inline]
    unsafe fn list_of(word: *mut P::Target) -> List<P> {
        match Self::newest(word) {
            // SAFETY: element by element was given up in `push`, and only one exchange takes
            // the chain: nobody else can reach it now.
            Some(newest) => unsafe { List::from_reversed(newest) },
            None => List::new(),
        }
    }

    /// Whether it is open and empty, as a read-modify-write: a later push sees what
    /// the caller did before.
    #[inline]
    pub(crate) fn touch_empty(&self) -> bool {
        // AcqRel: the release pairs with the acquire of `push`.
        self.word
            .compare_exchange(Self::open_empty(), Self::open_empty(), AcqRel, Relaxed)
            .is_ok()
    }

    /// Closes an open and empty inbox; says what there is if it could not be closed.
    #[inline]
    pub(crate) fn close(&self) -> Result<(), Left> {
        // Release pairs with the acquire of `open` and `push`. Acquire orders the
        // owner's later looks elsewhere after the closing.
        let closed =
            self.word
                .compare_exchange(Self::open_empty(), Self::closed(), AcqRel, Relaxed);
        match closed {
            Ok(_) => Ok(()),
            Err(found) if found == Self::barred_empty() => Err(Left::Barred),
            Err(_) => Err(Left::Elements),
        }
    }

    /// Refuses all that comes from now on, by whomever; what is there stays for the owner.
    /// Whoever gets `true` has found it closed, and is its owner from then on.
    pub(crate) fn bar(&self) -> bool {
        // Relaxed: the exchange below has the ordering.
        let mut word = self.word.load(Relaxed);
        loop {
            let barred = match Self::is_chain(word) {
                true => word.map_addr(|word| word | Self::BAR),
                false => Self::barred_empty(),
            };
            // Acquire as in `open`, for who becomes the owner. Release pairs with the acquire
            // of `is_barred`, and keeps the pushes of the chain in one release sequence.
            match self
                .word
                .compare_exchange_weak(word, barred, AcqRel, Relaxed)
            {
                Ok(found) => return found == Self::closed(),
                Err(found) => word = found,
            }
        }
    }

    /// For the owner: bars it, and takes what is in it.
    pub(crate) fn shut_down(&self) -> List<P> {
        // As in `take`.
        let word = self.word.swap(Self::barred_empty(), AcqRel);
        // SAFETY: the swap took the whole chain.
        unsafe { Self::list_of(word) }
    }

    /// Whether it is closed: a hint.
    pub(crate) fn is_closed(&self) -> bool {
        self.word.load(Acquire) == Self::closed()
    }
}

impl<P: Linked> Drop for Inbox<P> {
    fn drop(&mut self) {
        if self.has_elements() {
            drop(self.shut_down());
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
