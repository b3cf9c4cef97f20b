//! The pending events of one color: the unit of stealing.

use core::cell::Cell;

use crate::list::{Linked, List};

/// An event as a [`ColorQueue`] sees it.
pub trait Event: Linked {
    /// The cycles that this event adds to its color's time left (cost ÷ penalty).
    fn time_left_cycles(&self) -> u32;
}

/// The pending events of a color, oldest first, with their summed time left.
///
/// *Efficient Workstealing*, section IV: events of one color are grouped in a queue of
/// their own, so that stealing a color never scans the events of others. Only the core that
/// owns the color touches its queue.
#[derive(Debug)]
pub struct ColorQueue<E: Event> {
    events: List<E>,
    len: Cell<u32>,
    time_left_cycles: Cell<u64>,
}

impl<E: Event> ColorQueue<E> {
    /// A queue without events.
    pub const fn new() -> Self {
        Self {
            events: List::new(),
            len: Cell::new(0),
            time_left_cycles: Cell::new(0),
        }
    }

    /// Appends an event.
    #[inline]
    pub fn push(&self, event: E) {
        self.count(&event);
        self.events.push_back(event);
    }

    /// Puts an event before all others.
    #[inline]
    pub fn push_front(&self, event: E) {
        self.count(&event);
        self.events.push_front(event);
    }

    #[inline]
    fn count(&self, event: &E) {
        // Neither sum can overflow: there is no memory for 2^32 events.
        self.len.set(self.len.get().wrapping_add(1));
        let time_left = self.time_left_cycles.get();
        let more = u64::from(event.time_left_cycles());
        self.time_left_cycles.set(time_left.wrapping_add(more));
    }

    /// Takes the oldest event.
    #[inline]
    pub fn pop(&self) -> Option<E> {
        let event = self.events.pop_front()?;
        self.len.set(self.len.get().wrapping_sub(1));
        let time_left = self.time_left_cycles.get();
        let less = u64::from(event.time_left_cycles());
        self.time_left_cycles.set(time_left.wrapping_sub(less));
        Some(event)
    }

    /// Shows the oldest event, to fetch it into the cache.
    #[inline]
    pub fn look_first(&self, look: impl FnOnce(&E)) {
        self.events.peek(look);
    }

    /// How many events are pending.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len.get()
    }

    /// Whether no event is pending.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The summed time left of the pending events, in cycles.
    #[inline]
    pub fn time_left_cycles(&self) -> u64 {
        self.time_left_cycles.get()
    }
}

impl<E: Event> Default for ColorQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::tests::Item;

    impl Event for Item {
        fn time_left_cycles(&self) -> u32 {
            u32::try_from(self.value()).unwrap()
        }
    }

    #[test]
    fn keeps_order_and_the_sum_of_time_left() {
        let queue = ColorQueue::new();
        for cycles in [5, 7, 11] {
            queue.push(Item::new(cycles));
        }
        assert_eq!((queue.len(), queue.time_left_cycles()), (3, 23));
        assert_eq!(queue.pop().map(|e| e.value()), Some(5));
        assert_eq!((queue.len(), queue.time_left_cycles()), (2, 18));
        assert_eq!(queue.pop().map(|e| e.value()), Some(7));
        assert_eq!(queue.pop().map(|e| e.value()), Some(11));
        assert!(queue.pop().is_none() && queue.is_empty());
        assert_eq!((queue.len(), queue.time_left_cycles()), (0, 0));
    }
}
