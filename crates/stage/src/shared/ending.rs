//! The end of a stage.

use std::cell::Cell;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mely::Handle;

use super::effects::Effects;
use super::queue::Service;
use super::{Phase, Shared, State};
use crate::error::{Shed, Unended};
use crate::safely::drop_safely;

/// What becomes of the events that wait when a stage is destroyed.
///
/// ```
/// # use std::time::Duration;
/// use mely_stage::{Ending, Manager, Schedule, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let later = Schedule::Delayed { events: 100, after: Duration::from_secs(100) };
/// let options = StageOptions::new().schedule(later);
/// let log = Manager::new(&rt).create("log", options, |_| each(|_: u32| ()))?;
/// log.sink().offer(7)?;
/// assert_eq!(log.destroy(Ending::HandBack, Duration::from_secs(5))?, [7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// They are handled.
    Drain,
    /// They are given to whoever destroys the stage.
    HandBack,
}

thread_local! {
    /// The stage that this thread serves, if it is a stage's own.
    static SERVES: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

impl<E: Send + 'static> Shared<E> {
    /// Notes that the calling thread serves this stage, and no other ever.
    pub(super) fn note_serves(self: &Arc<Self>) {
        SERVES.set(Arc::as_ptr(self).cast());
    }

    fn is_inside(self: &Arc<Self>) -> bool {
        Handle::current().is_some() || SERVES.get() == Arc::as_ptr(self).cast()
    }

    /// Takes no more events; gives back those that wait, or lets them be handled.
    pub(crate) fn end(self: &Arc<Self>, ending: Ending) -> Vec<E> {
        let mut events = Vec::new();
        self.change(|state, effects| {
            if state.phase == Phase::Open {
                state.phase = Phase::Ending;
            }
            if ending == Ending::HandBack {
                state.hand_back(&mut events);
            }
            state.note_room(effects);
            effects.notify_all = true;
        });
        self.schedule_all();
        events
    }

    /// Lets all colors come once more that would not: for their last batches, and the end of
    /// their handlers.
    pub(super) fn schedule_all(self: &Arc<Self>) {
        if self.has_threads {
            return;
        }
        let mut state = self.lock();
        let mut turns = Vec::new();
        for (at, lane) in state.lanes.iter_mut().enumerate() {
            let has_nothing = lane.service == Service::Held && lane.is_empty();
            if lane.service == Service::Idle || has_nothing {
                lane.service = Service::Scheduled;
                turns.push(at);
            }
        }
        drop(state);
        if let Some(server) = self.server() {
            turns
                .into_iter()
                .for_each(|lane| server.schedule(self, lane));
        }
    }

    /// Blocks until all handlers are gone.
    pub(crate) fn wait_over(self: &Arc<Self>, timeout: Duration) -> Result<(), Unended> {
        if self.phase() == Phase::Over {
            return Ok(());
        }
        if self.is_inside() {
            return Err(Unended::InsideHandler);
        }
        let until = Instant::now().checked_add(timeout);
        let mut state = self.lock();
        while state.phase != Phase::Over {
            let left = until.map_or(Duration::MAX, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                let running = state.observed.counts.running as usize;
                return Err(Unended::TimedOut { running });
            }
            let waited = self.over.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Ready when all handlers are gone.
    pub(crate) fn poll_over(&self, number: &mut Option<u64>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.lock();
        if state.phase == Phase::Over {
            return Poll::Ready(());
        }
        let number = *number.get_or_insert_with(|| {
            state.ends_begun += 1;
            state.ends_begun
        });
        let before = state.ends.insert(number, waker);
        drop(state);
        drop_safely(before);
        Poll::Pending
    }

    /// Awaits the end no more.
    pub(crate) fn leave_ends(&self, number: u64) {
        let waker = self.lock().ends.remove(&number);
        drop_safely(waker);
    }

    /// Nobody comes for the events of a lane any more: the runtime has ended.
    pub(super) fn lane_lost(self: &Arc<Self>, lane: usize) {
        self.change(|state, effects| {
            if state.lanes[lane].service == Service::Gone {
                return;
            }
            state.lanes[lane].service = Service::Gone;
            if !state.has_threads() {
                state.serving -= 1;
            }
            if state.phase == Phase::Open {
                state.phase = Phase::Ending;
            }
            state.empty(lane, Shed::Ended, effects);
            state.note_room(effects);
            effects.notify_all = true;
        });
    }

    /// A handler is gone.
    pub(super) fn seat_left(self: &Arc<Self>) {
        self.change(|state, effects| {
            state.seats -= 1;
            if state.seats == 0 && state.phase == Phase::Ending {
                state.phase = Phase::Over;
                effects
                    .wakers
                    .extend(std::mem::take(&mut state.ends).into_values());
            }
            effects.notify_all = true;
        });
    }
}

impl<E> State<E> {
    fn hand_back(&mut self, events: &mut Vec<E>) {
        for lane in &mut self.lanes {
            while let Some(waiting) = lane.take() {
                self.queued -= 1;
                self.observed.counts.handed_back += 1;
                self.policies.give_back(waiting.ticket);
                events.push(waiting.event);
            }
        }
    }

    /// Reports all events of a lane.
    pub(super) fn empty(&mut self, lane: usize, why: Shed, effects: &mut Effects<E>) {
        while let Some(waiting) = self.lanes[lane].take() {
            self.queued -= 1;
            self.observed.counts.shed(why);
            self.policies.give_back(waiting.ticket);
            effects.shed.push((waiting.event, why));
        }
    }
}
