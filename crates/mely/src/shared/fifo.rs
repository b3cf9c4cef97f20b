//! One locked queue of events for each core: what the policies of Libasync-smp run
//! on (seed 000, section II). `docs/protocols.md` has the protocol and its proof.

use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize as Hint;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use mely_sched::{EventFifo, QueueKind};

use crate::cell::{ColorRef, Posted};
use crate::event::Event;
use crate::machine::lock_time::{Untimed, Waiter, lock_by};
use crate::machine::sync::{Arc, AtomicBool, Mutex, lock};
use crate::shared::Shared;
use crate::shared::remote::Remote;

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

/// Where an event went.
pub(crate) struct Appended {
    home: usize,
    can_be_stolen: bool,
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
        remotes: &[Arc<Remote>],
        one: usize,
        other: usize,
        work: impl FnOnce(&mut EventFifo<Posted>, &mut EventFifo<Posted>) -> R,
    ) -> R {
        let lower = lock_by(waiter, &remotes[one.min(other)].fifo.queue);
        let higher = lock_by(waiter, &remotes[one.max(other)].fifo.queue);
        let (mut first, mut second) = if one < other {
            (lower, higher)
        } else {
            (higher, lower)
        };
        let result = work(&mut first.events, &mut second.events);
        remotes[one].fifo.publish(&first.events);
        remotes[other].fifo.publish(&second.events);
        result
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

impl Shared {
    /// Whether the events of a core wait in one queue.
    pub(crate) fn has_fifos(&self) -> bool {
        self.config.heuristics.queues == QueueKind::EventFifo
    }

    /// Posts to the queue of the color's home.
    #[cold]
    pub(crate) fn post_event(&self, color: ColorRef, event: Event) {
        if let Some(appended) = self.append(&mut Untimed, Posted::new(color, event)) {
            self.announce(&appended);
        }
    }

    /// Appends an event to the queue of its color's home; after the end, drops it.
    pub(crate) fn append(&self, waiter: &mut impl Waiter, posted: Posted) -> Option<Appended> {
        loop {
            let home = posted.home();
            let fifo = &self.remotes[home].fifo;
            let mut queue = lock_by(waiter, &fifo.queue);
            if posted.home() != home {
                // Stolen before the lock was taken.
                continue;
            }
            if queue.shut {
                drop(queue);
                posted.abandon();
                return None;
            }
            queue.events.push(posted);
            fifo.publish(&queue.events);
            let can_be_stolen = queue.events.can_be_stolen();
            return Some(Appended {
                home,
                can_be_stolen,
            });
        }
    }

    /// After an event was appended: wakes whoever sleeps and can run it.
    pub(crate) fn announce(&self, appended: &Appended) {
        let remote = &self.remotes[appended.home];
        if remote.mailbox.open() {
            remote.driver.wake();
        }
        if appended.can_be_stolen {
            self.wake_for_events();
        }
    }

    /// After a queue was changed under its lock so that thieves may find a color in
    /// it: wakes one sleeper, as [`wake_a_thief`](Self::wake_a_thief) does.
    pub(crate) fn wake_for_events(&self) {
        // A hint is enough, and spares an exchange each time: a sleeper has taken
        // the lock after it lay down, and found nothing, or comes to it yet.
        if self.idle.hint().sleeping() > 0 {
            self.wake_a_thief();
        }
    }
}
