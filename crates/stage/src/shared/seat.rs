//! An instance of the handler, and a batch in its hands.

use std::sync::Arc;

use super::batch::{Batch, InHand};
use super::stage::{Stage, StageContext};
use super::{Phase, Shared};
use crate::error::Shed;
use crate::safely::{caught, drop_safely};

/// Where a handler is.
pub(super) struct Seat<E> {
    handler: Option<Box<dyn Stage<E>>>,
    number: usize,
    hand: Vec<InHand>,
}

/// What came of a batch.
pub(super) struct Served {
    /// Whether events have left the queue.
    pub(super) has_progressed: bool,
}

impl<E: Send + 'static> Seat<E> {
    pub(super) fn new(number: usize) -> Self {
        Self {
            handler: None,
            number,
            hand: Vec::new(),
        }
    }

    /// Drops the handler.
    pub(super) fn clear(&mut self) {
        drop_safely(self.handler.take());
    }

    fn handler(&mut self, shared: &Shared<E>) -> Option<&mut Box<dyn Stage<E>>> {
        if self.handler.is_none() {
            let mut handler = caught(|| (shared.program.make)(self.number))?;
            if caught(|| handler.init(&mut shared.context(self.number))).is_none() {
                // Not while that panic unwinds: this may panic, too.
                drop_safely(handler);
                return None;
            }
            self.handler = Some(handler);
        }
        self.handler.as_mut()
    }
}

impl<E: Send + 'static> Shared<E> {
    fn context(&self, number: usize) -> StageContext<'_> {
        StageContext {
            name: &self.name,
            number,
            runtime: &self.runtime,
        }
    }

    /// Gives the handler a batch.
    pub(super) fn serve(self: &Arc<Self>, seat: &mut Seat<E>, lane: usize, size: usize) -> Served {
        let mut hand = std::mem::take(&mut seat.hand);
        let number = seat.number;
        let Some(handler) = seat.handler(self) else {
            self.fail();
            return Served {
                has_progressed: true,
            };
        };
        let mut batch = Batch::new(self, lane, &mut hand, size);
        let handled = caught(|| handler.handle(&mut batch, &mut self.context(number)));
        let (taken, has_progressed) = batch.progress();
        if handled.is_none() {
            seat.clear();
        }
        self.batch_over(&mut hand, taken, handled.is_none());
        seat.hand = hand;
        Served {
            has_progressed: has_progressed || handled.is_none(),
        }
    }

    fn batch_over(&self, hand: &mut Vec<InHand>, taken: usize, has_panicked: bool) {
        let now = self.now();
        let mut state = self.lock();
        match has_panicked {
            true => {
                state.observed.counts.panics += 1;
                state.lose(hand);
            }
            false => state.complete(hand, now),
        }
        if taken > 0 {
            state.observed.batches.note(taken as u64);
        }
        let handled = state.observed.counts.handled;
        state.batching.look(now, handled);
        let unused = state.policies.unused();
        drop(state);
        drop_safely(unused);
    }

    /// No handler can be made: the stage ends, and what waits is reported.
    fn fail(self: &Arc<Self>) {
        self.change(|state, effects| {
            state.observed.counts.panics += 1;
            if state.phase == Phase::Open {
                state.phase = Phase::Ending;
            }
            (0..state.lanes.len()).for_each(|lane| state.empty(lane, Shed::NoHandler, effects));
            state.note_room(effects);
            effects.notify_all = true;
        });
        self.schedule_all();
    }
}
