//! What the owner of a color notes of it, in two bytes: the first cache line of a
//! color has no more to spare.

use core::cell::Cell;

use super::{Traits, UNBOUNDED, WorkerIndex};

/// The rest of a worker's number that stands for no worker.
const NOWHERE: u8 = u8::MAX;

/// A worker, as colors know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    pub(crate) worker: WorkerIndex,
    /// What `ran_on` is for it.
    mark: u8,
}

impl Here {
    pub(crate) const fn new(worker: WorkerIndex) -> Self {
        Self {
            worker,
            mark: (worker % NOWHERE as WorkerIndex) as u8,
        }
    }
}

/// What the owner of a color notes of it.
#[derive(Debug)]
pub(super) struct Marks {
    /// The worker that ran it last, but for multiples of [`NOWHERE`].
    ran_on: Cell<u8>,
    flags: Cell<u8>,
}

impl Marks {
    /// Somebody else than the owner has had a reference.
    const GIVEN_OUT: u8 = 2;
    /// It may have so many pending events only.
    const BOUNDED: u8 = 4;
    /// It must stay where it is.
    const PINNED: u8 = 8;

    pub(super) const fn new() -> Self {
        Self {
            ran_on: Cell::new(NOWHERE),
            flags: Cell::new(0),
        }
    }

    /// Begins a color that has not run.
    #[inline]
    pub(super) fn begin(&self, traits: Traits) {
        self.ran_on.set(NOWHERE);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let bounded = flag(traits.capacity != UNBOUNDED, Self::BOUNDED);
        self.flags.set(bounded | flag(traits.pinned, Self::PINNED));
    }

    /// Whether the color may have so many pending events only.
    #[inline]
    pub(super) fn is_bounded(&self) -> bool {
        self.flags.get() & Self::BOUNDED != 0
    }

    /// Whether the color must stay where it is.
    #[inline]
    pub(super) fn is_pinned(&self) -> bool {
        self.flags.get() & Self::PINNED != 0
    }

    /// Whether this worker ran it last.
    #[inline]
    pub(super) fn is_settled(&self, here: Here) -> bool {
        self.ran_on.get() == here.mark
    }

    /// Notes that a worker runs the color; whether another one ran it before. Of
    /// workers so far apart that they look the same it says no.
    #[inline]
    pub(super) fn arrive(&self, here: Here) -> bool {
        if self.ran_on.get() == here.mark {
            return false;
        }
        self.ran_on.replace(here.mark) != NOWHERE
    }

    #[inline]
    pub(super) fn give_out(&self) {
        self.flags.set(self.flags.get() | Self::GIVEN_OUT);
    }

    /// Not given out, nor anything else.
    #[inline]
    pub(super) fn has_none(&self) -> bool {
        self.flags.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(capacity: u32, pinned: bool) -> Traits {
        Traits {
            capacity,
            home: 0,
            pinned,
            after_panic: super::super::AfterPanic::AsRuntime,
        }
    }

    #[test]
    fn only_a_move_from_one_worker_to_another_is_one() {
        let marks = Marks::new();
        let arrivals = [(0, false), (0, false), (3, true), (3, false), (0, true)];
        for (worker, moved) in arrivals {
            assert_eq!(marks.arrive(Here::new(worker)), moved, "to {worker}");
        }
        marks.begin(traits(UNBOUNDED, false));
        assert!(!marks.arrive(Here::new(254)) && marks.arrive(Here::new(4_000)));
    }

    #[test]
    fn a_new_color_has_no_flags() {
        let marks = Marks::new();
        marks.begin(traits(UNBOUNDED, false));
        assert!(marks.has_none());
        marks.give_out();
        assert!(!marks.has_none());
    }

    #[test]
    fn traits_that_a_turn_asks_for_are_at_hand() {
        let marks = Marks::new();
        for (capacity, pinned) in [(8, false), (UNBOUNDED, true), (1, true)] {
            marks.begin(traits(capacity, pinned));
            assert_eq!(marks.is_bounded(), capacity != UNBOUNDED);
            assert_eq!(marks.is_pinned(), pinned);
        }
    }
}
