//! Events in the hands of a handler.

use std::fmt;
use std::sync::Arc;

use mely_sched::Nanos;
use mely_sched::admission::{Done, Taken};

use super::effects::Effects;
use super::policies::Run;
use super::{Shared, State};
use crate::error::Shed;

/// An event that a handler has taken, and not handled yet.
pub(super) struct InHand {
    run: Run,
    offered: Nanos,
    taken: Nanos,
}

/// For each event that a handler may take, so many more may be shed before its batch ends.
const SHED_PER_EVENT: usize = 16;

/// The events that a handler is given at once: an iterator that takes them out of the queue, one
/// by one, and asks admission for each how long it has waited just then.
///
/// An event counts as handled when the next one is taken, or the handler returns. What it does
/// not take stays in the queue. Events that admission refuses are given to the stage's hook on
/// the way; so that hook must not wait for what the handler holds.
///
/// ```
/// use mely_stage::{Batch, Manager, StageContext, StageOptions};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stage = Manager::new(&rt).create("pairs", StageOptions::new().colors(1), |_| {
///     |batch: &mut Batch<'_, u32>, _: &mut StageContext<'_>| {
///         while let Some(first) = batch.next() {
///             println!("{first}, and {:?}", batch.next());
///         }
///     }
/// })?;
/// (0..10).try_for_each(|n| stage.sink().offer(n))?;
/// # rt.wait_idle();
/// # assert_eq!(stage.snapshot().counts.handled, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch<'a, E> {
    shared: &'a Arc<Shared<E>>,
    lane: usize,
    hand: &'a mut Vec<InHand>,
    left: usize,
    left_to_shed: usize,
    taken: usize,
}

impl<'a, E: Send + 'static> Batch<'a, E> {
    pub(super) fn new(
        shared: &'a Arc<Shared<E>>,
        lane: usize,
        hand: &'a mut Vec<InHand>,
        size: usize,
    ) -> Self {
        Self {
            shared,
            lane,
            hand,
            left: size,
            left_to_shed: size.saturating_mul(SHED_PER_EVENT),
            taken: 0,
        }
    }

    /// How many events can be taken, if admission lets all of them.
    pub fn len(&self) -> usize {
        self.shared.lock().lanes[self.lane].len().min(self.left)
    }

    /// Whether there is nothing to be taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all events of the batch at once: for handlers that do something with them together.
    ///
    /// They count as handled when the handler returns, or takes more; and are lost together if
    /// it panics.
    ///
    /// ```
    /// use mely_stage::{Batch, Manager, StageContext, StageOptions};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let log = Manager::new(&rt).create("log", StageOptions::new().colors(1), |_| {
    ///     |batch: &mut Batch<'_, String>, _: &mut StageContext<'_>| {
    ///         print!("{}", batch.take_all().concat()); // one write
    ///     }
    /// })?;
    /// log.sink().offer("a line\n".to_owned())?;
    /// # rt.wait_idle();
    /// # assert_eq!(log.snapshot().counts.handled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_all(&mut self) -> Vec<E> {
        let mut events = Vec::with_capacity(self.len());
        let now = self.shared.now();
        let mut effects = Effects::default();
        let mut state = self.shared.lock();
        state.complete(self.hand, now);
        while self.left > 0 && self.left_to_shed > 0 {
            match state.take(self.lane, now, &mut effects) {
                None => break,
                Some(None) => self.left_to_shed -= 1,
                Some(Some((event, in_hand))) => {
                    self.left -= 1;
                    self.taken += 1;
                    self.hand.push(in_hand);
                    events.push(event);
                }
            }
        }
        state.note_room(&mut effects);
        drop(state);
        effects.run(self.shared);
        events
    }

    /// How many events were taken, and whether any have left the queue.
    pub(super) fn progress(&self) -> (usize, bool) {
        let all_to_shed = (self.left + self.taken).saturating_mul(SHED_PER_EVENT);
        (
            self.taken,
            self.taken > 0 || self.left_to_shed < all_to_shed,
        )
    }
}

impl<E: Send + 'static> Iterator for Batch<'_, E> {
    type Item = E;

    fn next(&mut self) -> Option<E> {
        loop {
            let now = self.shared.now();
            let mut effects = Effects::default();
            let mut state = self.shared.lock();
            state.complete(self.hand, now);
            let may_take = self.left > 0 && self.left_to_shed > 0;
            let taken = match may_take {
                true => state.take(self.lane, now, &mut effects),
                false => None,
            };
            state.note_room(&mut effects);
            drop(state);
            effects.run(self.shared);
            match taken? {
                None => self.left_to_shed -= 1,
                Some((event, in_hand)) => {
                    self.left -= 1;
                    self.taken += 1;
                    self.hand.push(in_hand);
                    return Some(event);
                }
            }
        }
    }
}

impl<E: Send + 'static> fmt::Debug for Batch<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("left", &self.left)
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}

impl<E> State<E> {
    /// Takes an event out of the queue; `Some(None)` for one that admission does not let.
    fn take(
        &mut self,
        lane: usize,
        now: Nanos,
        effects: &mut Effects<E>,
    ) -> Option<Option<(E, InHand)>> {
        let waiting = self.lanes[lane].take()?;
        self.queued -= 1;
        let waited = now.since(waiting.since);
        self.observed.wait.note(waited.get());
        match self.policies.take(waiting.ticket, &Taken { now, waited }) {
            Ok(run) => {
                self.observed.counts.running += 1;
                let in_hand = InHand {
                    run,
                    offered: waiting.since,
                    taken: now,
                };
                Some(Some((waiting.event, in_hand)))
            }
            Err(reason) => {
                let why = Shed::Expired(reason);
                self.observed.counts.shed(why);
                effects.shed.push((waiting.event, why));
                Some(None)
            }
        }
    }

    /// What was in hand is handled.
    pub(super) fn complete(&mut self, hand: &mut Vec<InHand>, now: Nanos) {
        let together = hand.len() as u64;
        for InHand {
            run,
            offered,
            taken,
        } in hand.drain(..)
        {
            let service = Nanos::new(now.since(taken).get() / together);
            self.observed.service.note(service.get());
            self.observed.busy = self.observed.busy.after(service);
            self.observed.counts.running -= 1;
            self.observed.counts.handled += 1;
            let response = now.since(offered);
            self.policies.complete(run, &Done { now, response });
        }
    }

    /// What was in hand is lost: the handler has panicked.
    pub(super) fn lose(&mut self, hand: &mut Vec<InHand>) {
        for InHand { run, .. } in hand.drain(..) {
            self.observed.counts.running -= 1;
            self.observed.counts.panicked += 1;
            self.policies.cancel(run);
        }
    }
}
