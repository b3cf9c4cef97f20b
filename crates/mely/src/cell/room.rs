//! Room for events on bounded colors.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use super::{Capacity, ColorRef, OwnedColor, Realm, UNBOUNDED};
use crate::event::{Event, Takes};
use crate::machine::sync::AtomicUsize;

/// How an event takes its place among the pending events of a bounded color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// If there is room.
    IfAny,
    /// The same, of the room that control events have to themselves.
    Control,
    /// The color is not bounded, and not even looked at; or the event is the runtime's own
    /// (readiness, a poll of a task), which comes only once and must not be lost. If such took
    /// places, tasks that wait for room would give it to each other, for ever.
    NotNeeded,
    /// In any case, of an event that the runtime means to run even while it drains.
    Last,
}

impl Room {
    /// That of what takes this.
    #[inline]
    pub(crate) fn of(takes: Takes) -> Self {
        match takes {
            Takes::Data => Self::IfAny,
            Takes::Control => Self::Control,
            Takes::Nothing => Self::NotNeeded,
        }
    }

    /// Takes the place, if there is room for the event.
    #[inline]
    pub(crate) fn take<R: Realm>(self, color: &ColorRef<R>) -> bool {
        match self {
            Room::NotNeeded => true,
            Room::IfAny => color.reserve(),
            Room::Control => color.reserve_control(),
            Room::Last => {
                color.reserve_always();
                true
            }
        }
    }
}

/// The events of a bounded color that were posted and have not begun, in one word: those of
/// data in its low half, those of control above them, and whether somebody waits for room.
/// Relaxed throughout, but where it says otherwise: counts only, the events themselves go
/// through the inbox.
pub(super) struct Places(AtomicUsize);

const HALF: u32 = usize::BITS / 2;
const DATA: usize = (1 << HALF) - 1;
const ONE_OF_CONTROL: usize = 1 << HALF;
const AWAITED: usize = 1 << (usize::BITS - 1);
const CONTROL: usize = !(DATA | AWAITED);

/// As many events of control as the word can count.
pub(crate) const CONTROL_MAX: Capacity = Capacity::MAX >> 1;

impl Places {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(super) fn begin(&self) {
        self.0.store(0, Relaxed);
    }

    #[inline]
    fn take(&self, capacity: Capacity) -> bool {
        let room = |all: usize| ((all & DATA) < capacity as usize).then_some(all + 1);
        self.0.fetch_update(Relaxed, Relaxed, room).is_ok()
    }

    fn take_of_control(&self, capacity: Capacity) -> bool {
        let has_room = |all: usize| (all & CONTROL) >> HALF < capacity as usize;
        let room = |all: usize| has_room(all).then(|| all + ONE_OF_CONTROL);
        self.0.fetch_update(Relaxed, Relaxed, room).is_ok()
    }

    /// Gives one back. Whether somebody waits for that.
    #[inline]
    fn give_back(&self, taken: Takes) -> bool {
        match taken {
            Takes::Data => self.0.fetch_sub(1, Relaxed) & AWAITED != 0,
            Takes::Control => {
                self.0.fetch_sub(ONE_OF_CONTROL, Relaxed);
                false
            }
            Takes::Nothing => false,
        }
    }
}

impl<R: Realm> ColorRef<R> {
    fn is_bounded(&self) -> bool {
        self.traits().capacity != UNBOUNDED
    }

    /// Counts one more pending event, unless the color is full.
    #[inline]
    pub(crate) fn reserve(&self) -> bool {
        let capacity = self.traits().capacity;
        capacity == UNBOUNDED || self.cell().places.take(capacity)
    }

    /// Counts one more pending event of control, unless there are as many as may be.
    fn reserve_control(&self) -> bool {
        let traits = self.traits();
        !self.is_bounded() || self.cell().places.take_of_control(traits.control_capacity)
    }

    /// Whether one more event could be pending.
    pub(crate) fn has_room(&self) -> bool {
        let capacity = self.traits().capacity;
        capacity == UNBOUNDED || (self.cell().places.0.load(Relaxed) & DATA) < capacity as usize
    }

    /// Counts one more pending event, full or not.
    #[inline]
    pub(crate) fn reserve_always(&self) {
        if self.is_bounded() {
            self.cell().places.0.fetch_add(1, Relaxed);
        }
    }

    /// Counts this pending event no more.
    pub(super) fn unreserve(&self, event: &Event) {
        if self.is_bounded() && self.cell().places.give_back(event.takes()) {
            self.realm().room_came(self, false);
        }
    }

    /// Notes that somebody waits for room, or that nobody does any more: under the lock of
    /// the list of those.
    pub(crate) fn note_awaited(&self, is_awaited: bool) {
        let places = &self.cell().places.0;
        // AcqRel: of this and `end_waiting` the second sees what was done before the first.
        let note = |all: usize| match is_awaited {
            true => Some(all | AWAITED),
            false => Some(all & !AWAITED),
        };
        _ = places.fetch_update(AcqRel, Relaxed, note);
    }

    /// Tells all who wait for room that there will be none: after the inbox was barred.
    pub(super) fn end_waiting(&self) {
        // AcqRel: as above; adding nothing keeps the word as it is.
        if self.is_bounded() && self.cell().places.0.fetch_add(0, AcqRel) & AWAITED != 0 {
            self.realm().room_came(self, true);
        }
    }

    /// What it is known by while somebody has a reference.
    pub(crate) fn address(&self) -> usize {
        self.0.addr().get()
    }
}

impl<R: Realm> OwnedColor<R> {
    /// Counts one more pending event, unless the color is full.
    #[inline]
    pub(crate) fn reserve(&self) -> bool {
        !self.cell().marks.is_bounded() || self.borrow().reserve()
    }

    /// Counts one more pending event, full or not.
    #[inline]
    pub(crate) fn reserve_always(&self) {
        if self.cell().marks.is_bounded() {
            self.borrow().reserve_always();
        }
    }

    /// Counts this pending event no more.
    #[inline]
    pub(crate) fn unreserve(&self, event: &Event) {
        if self.cell().marks.is_bounded() {
            self.borrow().unreserve(event);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn data_and_control_have_room_of_their_own() {
        let places = Places::new();
        let taken = |n: u32, take: &dyn Fn() -> bool| (0..n).filter(|_| take()).count();
        assert_eq!(taken(5, &|| places.take(3)), 3);
        assert_eq!(taken(5, &|| places.take_of_control(2)), 2);
        assert!(!places.give_back(Takes::Control) && places.take_of_control(2));
        assert!(!places.take(3) && !places.take_of_control(2));
        places.0.fetch_add(AWAITED, Relaxed);
        assert!(!places.give_back(Takes::Control), "nobody waits for that");
        assert!(places.give_back(Takes::Data) && places.take(3) && !places.take(3));
    }
}
