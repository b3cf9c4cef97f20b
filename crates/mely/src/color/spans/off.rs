//! Without spans.

use crate::event::Event;
use crate::worker::Worker;

/// The span that something was posted in.
pub(in crate::color) struct Inside;

impl Inside {
    /// That of this thread now.
    #[inline]
    pub(in crate::color) fn here() -> Self {
        Self
    }

    /// None.
    #[inline]
    pub(in crate::color) fn nothing() -> Self {
        Self
    }

    /// Posts an event that is to run inside the span.
    ///
    /// # Errors
    ///
    /// The event itself, if `post` gives it back.
    #[inline]
    pub(in crate::color) fn carry(
        &mut self,
        _: Option<&Worker>,
        event: Event,
        post: impl FnOnce(Event) -> Result<(), Event>,
    ) -> Result<(), Event> {
        post(event)
    }

    /// An event that runs this one inside the span.
    #[inline]
    pub(in crate::color) fn around(self, _: Option<&Worker>, event: Event) -> Event {
        event
    }

    /// Runs something inside the span.
    #[inline]
    pub(in crate::color) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        work()
    }

    /// A future that is polled and dropped inside the span.
    #[inline]
    pub(in crate::color) fn instrument<Fut: Future>(
        self,
        future: Fut,
    ) -> impl Future<Output = Fut::Output> + use<Fut> {
        future
    }
}
