//! A one-word inbox that many threads push to and one owner empties.
//!
//! The word is *closed*, *open and empty*, or the newest element of a chain. The
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

use crate::machine::sync::AtomicPtr;

/// What a push found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed<P> {
    /// The inbox was open: its owner will come to the element.
    Queued,
    /// The inbox was closed and is now open: the pusher must act.
    Opened,
    /// The inbox is shut for good; here is the element back.
    Shut(P),
}

/// What is in an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Nothing,
    Elements,
    /// It is shut for good.
    Shut,
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
        ptr::without_provenance_mut(1)
    }

    /// Nor is 2.
    const fn shut() -> *mut P::Target {
        ptr::without_provenance_mut(2)
    }

    fn is_element(word: *mut P::Target) -> bool {
        word.addr() > 2
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
            if word == Self::shut() {
                // SAFETY: `raw` has just come from `into_raw`.
                return Pushed::Shut(unsafe { P::from_raw(raw) });
            }
            let next = Self::is_element(word).then(|| NonNull::new(word)).flatten();
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
        Self::is_element(self.word.load(Relaxed))
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
        let mut at = self.word.load(Acquire);
        for _ in 0..behind {
            if !Self::is_element(at) {
                return;
            }
            let Some(element) = NonNull::new(at) else {
                return;
            };
            // SAFETY: only the owner, the caller, takes elements out, so this one is
            // live; its link was set before it was pushed, and stays.
            let next = unsafe { P::link(element) }.get();
            at = next.map_or(ptr::null_mut(), NonNull::as_ptr);
        }
        if Self::is_element(at) {
            look(at);
        }
    }

    /// Whether a push would be the first thing to do for whoever owns it: it has no elements,
    /// and is not shut.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        // Relaxed: as above.
        self.word.load(Relaxed).addr() < Self::shut().addr()
    }

    /// What is in it, by one look; exact as far as [`has_elements`](Self::has_elements) is.
    #[inline]
    pub(crate) fn content(&self) -> Content {
        // Relaxed: as above.
        Self::content_of(self.word.load(Relaxed))
    }

    fn content_of(word: *mut P::Target) -> Content {
        match Self::is_element(word) {
            true => Content::Elements,
            false if word == Self::shut() => Content::Shut,
            false => Content::Nothing,
        }
    }

    /// Takes all elements, oldest first. Leaves an open inbox open and a closed one
    /// closed.
    #[inline]
    pub(crate) fn take(&self) -> List<P> {
        let mut word = self.word.load(Relaxed);
        while Self::is_element(word) {
            // Acquire pairs with the release of every push in the chain (each push
            // is a read-modify-write, so they form one release sequence). Release
            // makes a pusher that finds the empty inbox see what its owner did.
            let taken = self
                .word
                .compare_exchange_weak(word, Self::open_empty(), AcqRel, Relaxed);
            match taken {
                Ok(newest) => {
                    let Some(newest) = NonNull::new(newest) else {
                        break;
                    };
                    // SAFETY: the exchange took the whole chain, element by element
                    // given up in `push`; nobody else can reach it now.
                    return unsafe { List::from_reversed(newest) };
                }
                Err(found) => word = found,
            }
        }
        List::new()
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

    /// Closes an open and empty inbox; `false` if there are elements to take first, or it is
    /// shut.
    #[inline]
    pub(crate) fn close(&self) -> bool {
        self.try_close().is_ok()
    }

    /// The same, with what is in it if it could not be closed.
    #[inline]
    pub(crate) fn try_close(&self) -> Result<(), Content> {
        // Release pairs with the acquire of `open` and `push`. Acquire orders the
        // owner's later looks elsewhere after the closing.
        self.word
            .compare_exchange(Self::open_empty(), Self::closed(), AcqRel, Relaxed)
            .map(drop)
            .map_err(Self::content_of)
    }

    /// Shuts the inbox for good, and returns what was in it.
    pub(crate) fn shut_down(&self) -> List<P> {
        self.shut_by_any().0
    }

    /// The same, by whomever: whether it was closed, too. Then the caller is its owner, the
    /// last one.
    pub(crate) fn shut_by_any(&self) -> (List<P>, bool) {
        let word = self.word.swap(Self::shut(), AcqRel);
        let elements = match NonNull::new(word) {
            // SAFETY: the swap took the whole chain, as in `take`.
            Some(newest) if Self::is_element(word) => unsafe { List::from_reversed(newest) },
            _ => List::new(),
        };
        (elements, word == Self::closed())
    }

    /// Whether it is closed: a hint.
    pub(crate) fn is_closed(&self) -> bool {
        self.word.load(Acquire) == Self::closed()
    }
}

impl<P: Linked> Drop for Inbox<P> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::cell::Cell;
    use mely_sched::Link;

    #[derive(Debug, PartialEq, Eq)]
    struct Number(Box<NumberTarget>);

    #[derive(Debug, PartialEq, Eq)]
    struct NumberTarget {
        link: Link<NumberTarget>,
        value: u64,
    }

    fn number(value: u64) -> Number {
        Number(Box::new(NumberTarget {
            link: Cell::new(None),
            value,
        }))
    }

    // SAFETY: plain data, reached by its owner alone.
    unsafe impl Send for Number {}

    // SAFETY: a box leaked and taken back; the link is a plain field of it.
    unsafe impl Linked for Number {
        type Target = NumberTarget;

        fn into_raw(self) -> NonNull<NumberTarget> {
            NonNull::from(Box::leak(self.0))
        }

        unsafe fn from_raw(raw: NonNull<NumberTarget>) -> Self {
            // SAFETY: `raw` was leaked by `into_raw`.
            Self(unsafe { Box::from_raw(raw.as_ptr()) })
        }

        unsafe fn link<'a>(raw: NonNull<NumberTarget>) -> &'a Link<NumberTarget> {
            // SAFETY: the caller vouches that `raw` is live; only the link is reached.
            unsafe { &(*raw.as_ptr()).link }
        }
    }

    fn values(list: &List<Number>) -> Vec<u64> {
        std::iter::from_fn(|| list.pop_front())
            .map(|n| n.0.value)
            .collect()
    }

    #[test]
    fn inbox_walks_through_its_states() {
        let inbox = Inbox::new_closed();
        assert!(inbox.is_closed() && !inbox.close());
        assert_eq!(inbox.push(number(1)), Pushed::Opened);
        assert_eq!(inbox.push(number(2)), Pushed::Queued);
        assert!(inbox.has_elements() && !inbox.close() && !inbox.open());
        assert_eq!(values(&inbox.take()), [1, 2]);
        assert!(inbox.take().is_empty() && inbox.close());
        assert!(inbox.open() && !inbox.open());
        assert_eq!(inbox.push(number(3)), Pushed::Queued);
    }

    #[test]
    fn inbox_gives_back_what_comes_after_it_is_shut() {
        let inbox = Inbox::new_open();
        assert_eq!(inbox.push(number(1)), Pushed::Queued);
        assert_eq!(values(&inbox.shut_down()), [1]);
        assert_eq!(inbox.push(number(2)), Pushed::Shut(number(2)));
        assert!(!inbox.open() && !inbox.close() && inbox.take().is_empty());
        assert!(inbox.content() == Content::Shut && !inbox.is_quiet());
        let (left, was_closed) = inbox.shut_by_any();
        assert!(left.is_empty() && !was_closed);
        assert!(Inbox::<Number>::new_closed().shut_by_any().1);
    }

    #[test]
    fn inbox_takes_from_a_closed_one_leave_it_closed() {
        let inbox = Inbox::<Number>::new_closed();
        assert!(inbox.take().is_empty() && inbox.is_closed());
    }

    #[test]
    fn inbox_of_two_pushers_keeps_the_order_of_each() {
        const EACH: u64 = if cfg!(miri) { 30 } else { 20_000 };
        let inbox = Inbox::new_closed();
        let mut seen = [0, EACH];
        std::thread::scope(|scope| {
            for base in [0, EACH] {
                let inbox = &inbox;
                scope.spawn(move || (base..base + EACH).for_each(|v| drop(inbox.push(number(v)))));
            }
            while seen != [EACH, 2 * EACH] {
                for value in values(&inbox.take()) {
                    let next = &mut seen[usize::from(value >= EACH)];
                    assert_eq!(value, *next);
                    *next += 1;
                }
                std::hint::spin_loop();
            }
        });
    }
}
