//! Stages that may block: served by threads of their own.

use std::io;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use mely::Colored;
use mely_sched::{Nanos, StageLoad};

use super::colors::REST;
use super::ending::Ending;
use super::seat::Seat;
use super::{Effects, Phase, Server, Shared, State};

/// All threads take from one queue.
const LANE: usize = 0;

/// Dropped by the runtime when it has ended.
struct Sentinel<E: Send + 'static>(Weak<Shared<E>>);

impl<E: Send + 'static> Drop for Sentinel<E> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.lane_lost(LANE);
        }
    }
}

struct Threads<E: Send + 'static> {
    _sentinel: Colored<Sentinel<E>>,
}

impl<E: Send + 'static> Server<E> for Threads<E> {
    fn schedule(&self, shared: &Arc<Shared<E>>, _lane: usize) {
        shared.work.notify_one();
    }

    /// A thread that waits has looked how long events are to accumulate; one that begins to
    /// wait will.
    fn schedule_after(&self, shared: &Arc<Shared<E>>, _lane: usize, _delay: Duration) {
        shared.lock().lanes[LANE].timer = None;
        shared.work.notify_one();
    }

    fn grow(&self, shared: &Arc<Shared<E>>) -> io::Result<()> {
        while shared.lock().is_short_of_threads() {
            add_thread(shared)?;
        }
        Ok(())
    }
}

/// Whoever serves a stage, until it leaves.
struct Serving<E: Send + 'static> {
    shared: Arc<Shared<E>>,
    seat: Seat<E>,
}

impl<E: Send + 'static> Drop for Serving<E> {
    fn drop(&mut self) {
        self.seat.clear();
        self.shared.seat_left();
    }
}

pub(super) fn serve<E: Send + 'static>(shared: &Arc<Shared<E>>) -> io::Result<()> {
    let sentinel = shared.runtime.colored(Sentinel(Arc::downgrade(shared)));
    _ = shared.server.set(Box::new(Threads {
        _sentinel: sentinel,
    }));
    let begun = shared.server().map_or(Ok(()), |server| server.grow(shared));
    if begun.is_err() {
        shared.end(Ending::Drain);
    }
    begun
}

fn add_thread<E: Send + 'static>(shared: &Arc<Shared<E>>) -> io::Result<()> {
    let number = {
        let mut state = shared.lock();
        if !state.is_short_of_threads() {
            return Ok(());
        }
        state.serving += 1;
        state.seats += 1;
        state.next_number += 1;
        state.next_number - 1
    };
    let serving = Serving {
        shared: Arc::clone(shared),
        seat: Seat::new(number),
    };
    // The system takes no name with a zero byte.
    let name = shared.name.replace('\0', " ");
    let thread = std::thread::Builder::new().name(name);
    match thread.spawn(move || serving.run()) {
        Ok(_) => Ok(()),
        Err(error) => {
            // What was to serve is dropped.
            shared.lock().serving -= 1;
            Err(error)
        }
    }
}

impl<E: Send + 'static> Serving<E> {
    fn run(mut self) {
        self.shared.note_serves();
        while let Some(size) = self.shared.await_batch() {
            let served = self.shared.serve(&mut self.seat, LANE, size);
            if !served.has_progressed {
                self.shared.rest();
            }
        }
    }
}

impl<E: Send + 'static> Shared<E> {
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State<E>>,
        timeout: Option<Duration>,
    ) -> MutexGuard<'a, State<E>> {
        let Some(timeout) = timeout else {
            return self
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        let waited = self.work.wait_timeout(state, timeout);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The handler has left what there is.
    fn rest(&self) {
        let state = self.lock();
        if !state.lanes[LANE].is_empty() {
            drop(self.wait(state, Some(REST)));
        }
    }

    /// How many events the next batch may have, when there is one; `None` if the thread is to
    /// end, which the count of those that serve knows already.
    fn await_batch(self: &Arc<Self>) -> Option<usize> {
        loop {
            let now = self.now();
            // Threads are added outside of the lock.
            self.change(|state, effects| state.look_at_threads(now, effects));
            let state = self.lock();
            if state.has_no_need_of_thread() {
                self.leave(state);
                return None;
            }
            let size = state.batching.batch() as usize;
            if state.lanes[LANE].is_empty() {
                let timeout = state.until_next_look(now);
                drop(self.wait(state, timeout));
                continue;
            }
            let due_in = state.due_in(LANE, now);
            if !due_in.is_zero() {
                drop(self.wait(state, Some(due_in)));
                continue;
            }
            let (feeds, resumed) = (Arc::clone(&state.feeds), state.resumed);
            drop(state);
            if let Some(size) = self.room_of(&feeds, LANE, size) {
                return Some(size);
            }
            self.wait_while_held(resumed);
        }
    }

    /// Waits until there is room elsewhere, or nothing to be done with it.
    fn wait_while_held(&self, resumed: u64) {
        let mut state = self.lock();
        state.threads_held += 1;
        while state.resumed == resumed
            && !state.lanes[LANE].is_empty()
            && !state.has_no_need_of_thread()
        {
            state = self.wait(state, None);
        }
        state.threads_held -= 1;
    }

    fn leave(&self, mut state: MutexGuard<'_, State<E>>) {
        state.serving -= 1;
        drop(state);
        // It may have been woken for an event that another one must take now.
        self.work.notify_one();
    }
}

impl<E> State<E> {
    fn threads_wanted(&self) -> usize {
        let governor = self.governor.as_ref();
        governor.map_or(0, |governor| governor.threads() as usize)
    }

    pub(super) fn is_short_of_threads(&self) -> bool {
        self.phase == Phase::Open && self.serving < self.threads_wanted()
    }

    fn has_no_need_of_thread(&self) -> bool {
        let is_idle = self.lanes[LANE].is_empty();
        match self.phase {
            Phase::Open => self.serving > self.threads_wanted(),
            Phase::Ending | Phase::Over => is_idle,
        }
    }

    /// How long an idle thread may wait: threads in excess learn of it when the governor looks.
    fn until_next_look(&self, now: Nanos) -> Option<Duration> {
        let governor = self.governor.as_ref()?;
        let may_shrink = governor.threads() > governor.options().threads_min;
        let next = governor.next_look().since(now).get().max(1);
        may_shrink.then(|| Duration::from_nanos(next))
    }

    /// Lets the governor look, if it is time.
    pub(super) fn look_at_threads(&mut self, now: Nanos, effects: &mut Effects<E>) {
        let counts = &self.observed.counts;
        let load = StageLoad {
            now,
            queued: self.queued as u64,
            arrived: counts.accepted,
            completed: counts.handled + counts.panicked,
            busy: self.observed.busy,
        };
        let Some(governor) = &mut self.governor else {
            return;
        };
        if now < governor.next_look() {
            return;
        }
        governor.look(&load);
        effects.grow |= self.is_short_of_threads();
        effects.notify_all |= self.serving > self.threads_wanted();
    }
}
