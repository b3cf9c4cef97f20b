//! Events that are noted on their way from the post to the run.
#![allow(unsafe_code)]

use crate::event::handler::{Handler, Kind, Weight};
use crate::event::{Call, Event, Place, StatePtr};
use crate::shared::Shared;
use crate::worker::{Frame, Worker};

/// A closure, and when it was posted.
struct Noted<F> {
    posted_cycles: u64,
    call: F,
}

impl<T, F: Call<T>> Call<T> for Noted<F> {
    #[inline]
    fn kind(handler: Option<&'static Handler>) -> Kind {
        F::kind(handler)
    }

    unsafe fn call(self, state: StatePtr<T>, place: Place<'_>) {
        // SAFETY: workers run events in frames.
        let frame = unsafe { Frame::of(place) };
        frame.worker.note_wait(self.posted_cycles);
        // SAFETY: passed on from the caller.
        unsafe { self.call.call(state, place) };
    }
}

/// An event that was made of a closure, noted or not.
pub(super) struct Made {
    pub(super) event: Event,
    is_noted: bool,
}

impl Made {
    /// By the worker of this thread, which has just counted it as posted.
    #[inline]
    pub(super) fn by<T, F>(
        worker: &Worker,
        handler: Option<&'static Handler>,
        state: StatePtr<T>,
        call: F,
    ) -> Self
    where
        T: Send + 'static,
        F: Call<T>,
    {
        let is_noted = worker.notes_post();
        let event = match is_noted {
            false => worker.event(handler, state, call),
            true => Self::noted_by(worker, handler, state, call),
        };
        Self { event, is_noted }
    }

    #[cold]
    #[inline(never)]
    fn noted_by<T, F>(
        worker: &Worker,
        handler: Option<&'static Handler>,
        state: StatePtr<T>,
        call: F,
    ) -> Event
    where
        T: Send + 'static,
        F: Call<T>,
    {
        worker.note_later();
        let posted_cycles = worker.shared().clock.cycles();
        let call = Noted {
            posted_cycles,
            call,
        };
        worker.event(handler, state, call)
    }

    /// By a thread that is no worker, in a node of nobody's.
    pub(super) fn outside<T, F>(
        shared: &Shared,
        handler: Option<&'static Handler>,
        state: StatePtr<T>,
        call: F,
    ) -> Self
    where
        T: Send + 'static,
        F: Call<T>,
    {
        // Threads that post at the same time may note two of theirs, or none.
        let is_noted = shared.outside_counts.posted.get() % 64 == 1;
        let event = match is_noted {
            false => Event::new(None, handler, Weight::UNKNOWN, state, call),
            true => {
                let posted_cycles = shared.clock.cycles();
                let call = Noted {
                    posted_cycles,
                    call,
                };
                Event::new(None, handler, Weight::UNKNOWN, state, call)
            }
        };
        Self { event, is_noted }
    }

    /// What is to be known to take the closure out again.
    #[inline]
    pub(super) fn is_noted(&self) -> bool {
        self.is_noted
    }
}

/// Takes the closure out of an event that nobody wants.
///
/// # Safety
///
/// It was made of this very closure, as [`Made`], which said whether it is noted.
#[cold]
pub(super) unsafe fn closure_of<T, F>(event: Event, is_noted: bool) -> F {
    match is_noted {
        // SAFETY: the caller's word.
        false => unsafe { event.into_call::<T, F>() },
        // SAFETY: as above.
        true => unsafe { event.into_call::<T, Noted<F>>() }.call,
    }
}
