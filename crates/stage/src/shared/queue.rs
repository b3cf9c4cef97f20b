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
    ByUrgency(BTreeMap<(Reverse<i64>, u64), Waiting<E>>),
}

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
    /// Whether a timer will look for events that are to accumulate.
    pub(super) has_timer: bool,
}

impl<E> Lane<E> {
    pub(super) fn new(by_urgency: bool) -> Self {
        Self {
            order: match by_urgency {
                true => Order::ByUrgency(BTreeMap::new()),
                false => Order::AsTheyCame(VecDeque::new()),
            },
            put: 0,
            service: Service::Idle,
            has_timer: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.order {
            Order::AsTheyCame(queue) => queue.len(),
            Order::ByUrgency(queue) => queue.len(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn put(&mut self, urgency: i64, waiting: Waiting<E>) {
        match &mut self.order {
            Order::AsTheyCame(queue) => queue.push_back(waiting),
            Order::ByUrgency(queue) => {
                queue.insert((Reverse(urgency), self.put), waiting);
                self.put += 1;
            }
        }
    }

    pub(super) fn take(&mut self) -> Option<Waiting<E>> {
        match &mut self.order {
            Order::AsTheyCame(queue) => queue.pop_front(),
            Order::ByUrgency(queue) => queue.pop_first().map(|(_, waiting)| waiting),
        }
    }

    /// When the event that would be taken next was put in.
    pub(super) fn since(&self) -> Option<Nanos> {
        match &self.order {
            Order::AsTheyCame(queue) => queue.front().map(|first| first.since),
            Order::ByUrgency(queue) => queue.values().next().map(|first| first.since),
        }
    }
}
