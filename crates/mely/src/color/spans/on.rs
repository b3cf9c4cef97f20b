//! With spans.
#![allow(unsafe_code)]

use std::panic::{RefUnwindSafe, UnwindSafe};

use tracing::instrument::Instrument;
use tracing::{Span, trace};

use crate::event::{Call, Event, Place, StatePtr};
use crate::worker::{Frame, Worker};

/// The span that something was posted in; none if there was none.
pub(in crate::color) struct Inside(Span);

// What has one is to be as without the feature; a panic leaves no span halfway.
impl UnwindSafe for Inside {}
impl RefUnwindSafe for Inside {}

/// An event that runs inside a span.
struct Spanned {
    event: Event,
    span: Span,
}

impl Call<()> for Spanned {
    const HELD: Option<fn(&Self) -> &Event> = Some(|spanned| &spanned.event);

    unsafe fn call(self, _: StatePtr<()>, place: Place<'_>) {
        // SAFETY: workers run events in frames.
        let frame = unsafe { Frame::of(place) };
        let Self { event, span } = self;
        let _entered = span.enter();
        trace!(
            target: "mely",
            handler = event.handler_info().name,
            color = frame.color.id(),
            worker = frame.worker.index(),
            "an event begins to run"
        );
        // SAFETY: passed on from the caller: where this event is run, that one was posted to.
        unsafe { frame.worker.run_held(event, place) };
    }
}

impl Inside {
    /// That of this thread now.
    #[inline]
    pub(in crate::color) fn here() -> Self {
        Self(Span::current())
    }

    /// None.
    #[inline]
    pub(in crate::color) fn nothing() -> Self {
        Self(Span::none())
    }

    /// Posts an event that is to run inside the span.
    ///
    /// # Errors
    ///
    /// The event itself, if `post` gives it back; the span is here again then.
    #[inline]
    pub(in crate::color) fn carry(
        &mut self,
        worker: Option<&Worker>,
        event: Event,
        post: impl FnOnce(Event) -> Result<(), Event>,
    ) -> Result<(), Event> {
        if self.0.is_none() {
            return post(event);
        }
        let span = std::mem::replace(&mut self.0, Span::none());
        post(Self(span).around(worker, event)).map_err(|refused| {
            // SAFETY: it was made of that just now, and `post` gives back what it was given.
            let spanned = unsafe { refused.into_call::<(), Spanned>() };
            self.0 = spanned.span;
            spanned.event
        })
    }

    /// An event that runs this one inside the span.
    pub(in crate::color) fn around(self, worker: Option<&Worker>, event: Event) -> Event {
        let span = self.0;
        match (span.is_none(), worker) {
            (true, _) => event,
            (false, Some(worker)) => worker.hold(event, |event| Spanned { event, span }),
            (false, None) => event.held_by(None, |event| Spanned { event, span }),
        }
    }

    /// Runs something inside the span.
    pub(in crate::color) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        self.0.in_scope(work)
    }

    /// A future that is polled and dropped inside the span.
    pub(in crate::color) fn instrument<Fut: Future>(
        self,
        future: Fut,
    ) -> impl Future<Output = Fut::Output> + use<Fut> {
        future.instrument(self.0)
    }
}
