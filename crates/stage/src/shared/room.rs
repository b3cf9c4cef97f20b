//! Futures that wait for room.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::{Phase, Shared, State};
use crate::safely::drop_safely;

/// A place among those that wait for room in a stage.
pub(crate) struct Turnstile<E: Send + 'static> {
    shared: Arc<Shared<E>>,
    number: Option<u64>,
}

impl<E: Send + 'static> Turnstile<E> {
    pub(crate) fn new(shared: &Arc<Shared<E>>) -> Self {
        Self {
            shared: Arc::clone(shared),
            number: None,
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared<E>> {
        &self.shared
    }

    /// Ready when there is room, or never will be.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.shared.lock();
        let will_have_none = state.phase != Phase::Open || state.capacity == 0;
        let (poll, before) = if will_have_none || state.room() > 0 {
            (Poll::Ready(()), Some(waker))
        } else {
            (Poll::Pending, state.wait_for_room(&mut self.number, waker))
        };
        drop(state);
        drop_safely(before);
        poll
    }

    /// Waits no more; whom it has kept from being woken is woken instead.
    pub(crate) fn leave(&mut self) {
        let Some(number) = self.number.take() else {
            return;
        };
        let waker = self.shared.change(|state, effects| {
            let found = state.rooms.iter().position(|(other, _)| *other == number);
            if found.is_none() {
                state.note_room(effects);
            }
            found.and_then(|at| state.rooms.remove(at))
        });
        drop_safely(waker);
    }
}

impl<E: Send + 'static> Drop for Turnstile<E> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<E: Send + 'static> Shared<E> {
    /// Whether there ever may be room.
    pub(crate) fn may_have_room(&self) -> bool {
        let state = self.lock();
        state.phase == Phase::Open && state.capacity > 0
    }
}

impl<E> State<E> {
    /// Gives back the waker that is not needed any more.
    fn wait_for_room(&mut self, number: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let known = number.and_then(|number| {
            let mut rooms = self.rooms.iter_mut();
            rooms.find(|(other, _)| *other == number)
        });
        if let Some((_, before)) = known {
            return Some(std::mem::replace(before, waker));
        }
        match *number {
            // It was woken, and others were faster: it keeps its turn.
            Some(number) => self.rooms.push_front((number, waker)),
            None => {
                self.rooms_begun += 1;
                *number = Some(self.rooms_begun);
                self.rooms.push_back((self.rooms_begun, waker));
            }
        }
        None
    }
}
