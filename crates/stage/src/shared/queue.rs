//! The events that wait for one color, or for the threads.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use mely_sched::Nanos;

use super::policies::Ticket;

/// An event that waits.
pub(super) struct Waiting<E> {
    pub(super) event: E,
    pub(super) since: Nanos,
    pub(super) ticket: Ticket,
}

/// Events in their order: as they came, or the urgent ones first.
enum Order<E> {
    AsTheyCame(VecDeque<Waiting<E>>),
    ByUrgency {
        queue: BTreeMap<(Reverse<i64>, u64), Waiting<E>>,
        /// When each was put in, in that order.
        since: BTreeMap<u64, Nanos>,
    },
}

/// For how many events an empty queue keeps memory.
const KEPT: usize = 1_024;

/// Whether somebody will come for the events of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// Nobody: whoever puts an event in sees to it.
    Idle,
    /// A turn is posted, or runs.
    Scheduled,
    /// Nobody until a stage that it feeds has room.
    Held,
    /// Nobody any more.
    Gone,
}

/// The queue of a color, or that of all threads.
pub(super) struct Lane<E> {
    order: Order<E>,
    put: u64,
    pub(super) service: Service,
    /// When a timer will look for events that are to accumulate.
    pub(super) timer: Option<Nanos>,
}

impl<E> Lane<E> {
    pub(super) fn new(by_urgency: bool) -> Self {
        Self {
            order: match by_urgency {
                true => Order::ByUrgency {
                    queue: BTreeMap::new(),
                    since: BTreeMap::new(),
                },
                false => Order::AsTheyCame(VecDeque::new()),
            },
            put: 0,
            service: Service::Idle,
            timer: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.order {
            Order::AsTheyCame(queue) => queue.len(),
            Order::ByUrgency { queue, .. } => queue.len(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn put(&mut self, urgency: i64, waiting: Waiting<E>) {
        match &mut self.order {
            Order::AsTheyCame(queue) => queue.push_back(waiting),
            Order::ByUrgency { queue, since } => {
                since.insert(self.put, waiting.since);
                queue.insert((Reverse(urgency), self.put), waiting);
                self.put += 1;
            }
        }
    }

    pub(super) fn take(&mut self) -> Option<Waiting<E>> {
        match &mut self.order {
            Order::AsTheyCame(queue) => {
                let first = queue.pop_front();
                if queue.is_empty() && queue.capacity() > KEPT {
                    *queue = VecDeque::new();
                }
                first
            }
            Order::ByUrgency { queue, since } => {
                let ((_, put), first) = queue.pop_first()?;
                since.remove(&put);
                Some(first)
            }
        }
    }

    /// When the event was put in that waits longest.
    pub(super) fn since(&self) -> Option<Nanos> {
        match &self.order {
            Order::AsTheyCame(queue) => queue.front().map(|first| first.since),
            Order::ByUrgency { since, .. } => since.values().next().copied(),
        }
    }
}
