//! What a worker of a runtime that records does besides: all of it out of the way of
//! those that do not.

use std::cell::RefCell;

use super::Worker;
use crate::event::Event;
use crate::event::handler::HandlerId;
use crate::shared::ready::Ready;
use crate::shared::{ColorRef, OwnedColor};
use crate::trace::Tracer;

/// The tracer of a worker, if its runtime records.
pub(super) type WorkerTracer = Option<Box<RefCell<Tracer>>>;

impl Worker {
    /// Whether what runs here is recorded.
    #[inline]
    pub(super) fn is_traced(&self) -> bool {
        self.tracer.is_some()
    }

    /// Posts where events are recorded or wait in one queue.
    #[cold]
    pub(super) fn post_by_detour(&self, color: &ColorRef, event: Event) -> Result<(), Event> {
        self.trace_post(color.id(), &event);
        if self.fifo {
            return self.post_event(color.clone(), event);
        }
        match self.running_of(color) {
            Some(running) => self.post_behind(&running, self.next.take(), event),
            None => self.deliver(color, event),
        }
    }

    /// The same for the color that is being run.
    #[cold]
    pub(super) fn post_to_running_by_detour(
        &self,
        running: &OwnedColor,
        event: Event,
    ) -> Result<(), Event> {
        self.trace_post(running.id(), &event);
        match self.fifo {
            true => self.post_event(running.to_ref(), event),
            false => self.post_behind(running, self.next.take(), event),
        }
    }

    /// Queues a color where events are recorded or wait in one queue. The color of a
    /// fresh event is made at once where its number is wanted.
    #[cold]
    pub(super) fn make_ready_by_detour(&self, color: Ready) {
        let color = match color {
            Ready::Fresh(event) if self.is_traced() => {
                let color = self.make_fresh(event);
                color.look_first(|event| self.trace_post(color.id(), event));
                Ready::Color(color)
            }
            color => color,
        };
        match self.fifo {
            true => self.scatter(color),
            false => self.queue_ready(color),
        }
    }

    /// Records a post, and notes in the event that this worker posted it.
    fn trace_post(&self, color: u64, event: &Event) {
        if let Some(tracer) = &self.tracer {
            let mut tracer = tracer.borrow_mut();
            event.note_poster(tracer.source());
            let now = || self.shared.clock.cycles();
            tracer.post(event.handler_id(), color, now);
        }
    }

    /// An event of the running color begins.
    pub(super) fn begin_trace(&self, handler: HandlerId, start: u64) {
        if let (Some(tracer), Some(running)) = (&self.tracer, self.running.lend()) {
            tracer.borrow_mut().begin(handler, running.id(), start);
        }
    }

    /// It has ended.
    pub(super) fn end_trace(&self, end: u64) {
        if let Some(tracer) = &self.tracer {
            tracer.borrow_mut().end(end, false);
        }
    }

    /// It has ended with a panic.
    pub(super) fn end_trace_by_panic(&self) {
        if let Some(tracer) = &self.tracer {
            let now = self.shared.clock.cycles();
            tracer.borrow_mut().end(now, true);
        }
    }

    /// Hands over what was recorded last.
    pub(super) fn finish_trace(&self) {
        if let Some(tracer) = &self.tracer {
            tracer.borrow_mut().finish();
        }
    }
}
