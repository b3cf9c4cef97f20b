//! One locked queue of events for each core: what the policies of Libasync-smp run on
//! (*Efficient Workstealing*, section II). `docs/protocols.md` has the protocol and its
//! proof.

use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize as Hint;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use mely_sched::EventFifo;

use crate::machine::lock_time::{Waiter, lock_by};
use crate::machine::sync::{AtomicBool, Mutex, lock};
use crate::shared::Posted;

/// The queue of a core; unused under the policies with color queues.
pub(crate) struct Fifo {
    queue: Mutex<Queue>,
    /// How many events wait, for thieves to find the busiest core.
    len: Hint,
    /// How many colors they are of, for the metrics.
    colors: Hint,
    /// Whether a thief may find a color here.
    can_be_stolen: AtomicBool,
}

#[derive(Default)]
struct Queue {
    events: EventFifo<Posted>,
    /// The worker has ended.
    shut: bool,
}

/// What became of an event that was to be appended.
pub(crate) enum Append {
    Done {
        can_be_stolen: bool,
    },
    /// Its color was stolen before the lock was taken.
    Moved(Posted),
    /// The worker has ended.
    Shut(Posted),
}

impl Fifo {
    pub(crate) fn new() -> Self {
        Self {
            queue: Mutex::new(Queue::default()),
            len: Hint::new(0),
            colors: Hint::new(0),
            can_be_stolen: AtomicBool::new(false),
        }
    }

    /// Works on the queue under its lock.
    pub(crate) fn with<R>(
        &self,
        waiter: &mut impl Waiter,
        work: impl FnOnce(&mut EventFifo<Posted>) -> R,
    ) -> R {
        let mut queue = lock_by(waiter, &self.queue);
        let result = work(&mut queue.events);
        self.publish(&queue.events);
        result
    }

    /// Works on the queues of two workers under both locks, taken in the order of
    /// the workers' numbers.
    pub(crate) fn with_both<R>(
        waiter: &mut impl Waiter,
        one: (usize, &Self),
        other: (usize, &Self),
        work: impl FnOnce(&mut EventFifo<Posted>, &mut EventFifo<Posted>) -> R,
    ) -> R {
        let in_order = one.0 < other.0;
        let (lower, higher) = if in_order { (one, other) } else { (other, one) };
        let lower = lock_by(waiter, &lower.1.queue);
        let higher = lock_by(waiter, &higher.1.queue);
        let (mut first, mut second) = if in_order {
            (lower, higher)
        } else {
            (higher, lower)
        };
        let result = work(&mut first.events, &mut second.events);
        one.1.publish(&first.events);
        other.1.publish(&second.events);
        result
    }

    /// Appends an event of a color whose home was seen to be `home`, the worker of this
    /// queue.
    pub(crate) fn append(&self, waiter: &mut impl Waiter, home: usize, posted: Posted) -> Append {
        let mut queue = lock_by(waiter, &self.queue);
        if posted.home() != home {
            return Append::Moved(posted);
        }
        if queue.shut {
            return Append::Shut(posted);
        }
        queue.events.push(posted);
        self.publish(&queue.events);
        Append::Done {
            can_be_stolen: queue.events.can_be_stolen(),
        }
    }

    /// Takes all events, and takes no more.
    pub(crate) fn shut_down(&self) -> VecDeque<Posted> {
        let mut queue = lock(&self.queue);
        queue.shut = true;
        let events = queue.events.take_all();
        self.publish(&queue.events);
        events
    }

    /// How many events wait: a hint.
    pub(crate) fn len(&self) -> usize {
        // Relaxed: decides only where a thief looks first.
        self.len.load(Relaxed)
    }

    /// How many colors they are of: a hint.
    pub(crate) fn colors(&self) -> usize {
        // Relaxed: for people.
        self.colors.load(Relaxed)
    }

    /// Whether a thief may find a color here.
    pub(crate) fn can_be_stolen(&self) -> bool {
        // Acquire pairs with the release of `publish`; who must not miss a color is
        // ordered by the counts of `Idle` besides.
        self.can_be_stolen.load(Acquire)
    }

    fn publish(&self, events: &EventFifo<Posted>) {
        // Relaxed: hints.
        self.len.store(events.len(), Relaxed);
        self.colors.store(events.colors(), Relaxed);
        self.can_be_stolen.store(events.can_be_stolen(), Release);
    }
}
