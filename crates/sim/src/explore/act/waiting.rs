//! What waits for answers: sections that code outside waits for, and tasks.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use super::{ColorRef, From, Running};
use crate::explore::checks::{ColorId, Poster, Seen};
use crate::explore::program::{Event, Kind};
use crate::explore::watch::Watch;
use crate::mely::Reply;
use crate::mely::simulated::meter;

impl Running {
    /// Runs a section under a color, and waits until it has run.
    pub(super) fn wait_for_section(&self, number: usize, from: From) {
        let Some(to) = self.color(number, &[]) else {
            return;
        };
        let event = self.watch.next_event();
        let color = ColorId::Planned(number);
        let mut token = self.posting(event, color, from, Kind::Plain, None);
        // Refused, as a post may be: the token says so when it is dropped.
        let _refused = to.try_blocking_with(move |_| {
            token.begin(meter::cpu(), None);
            token.end();
        });
        self.watch.see(Seen::Posted { event });
    }

    /// Spawns a task on a color, that calls another one so many times. Nobody waits for
    /// the task itself.
    pub(super) fn spawn(
        self: &Arc<Self>,
        between: (usize, usize),
        times: u32,
        event: &Arc<Event>,
        known: &[ColorRef],
    ) {
        let spawned = self.spawn_task(between, times, event, known);
        drop(spawned);
    }

    /// The same, with the task's answer.
    pub(super) fn spawn_task(
        self: &Arc<Self>,
        (on, to): (usize, usize),
        times: u32,
        event: &Arc<Event>,
        known: &[ColorRef],
    ) -> Option<Reply<()>> {
        let (color, callee) = (self.color(on, known)?, self.color(to, known)?);
        let (running, event) = (Arc::clone(self), Arc::clone(event));
        let from = From {
            by: Poster::Task(self.watch.next_task()),
            color: Some(ColorId::Planned(on)),
        };
        let steps = async move {
            for _ in 0..times {
                let id = running.watch.next_event();
                let to = ColorId::Planned(to);
                let token = running.posting(id, to, from, event.kind, None);
                let token = token.parting(&running, &event);
                let (inner, called) = (Arc::clone(&running), Arc::clone(&event));
                let callee = callee.with_handler(called.kind.handler());
                let answer = callee.call(move |state, cx| {
                    inner.run((state, cx), token, &called);
                });
                running.watch.see(Seen::Posted { event: id });
                // Whatever became of it: the next call may be answered.
                let _answer = answer.await;
            }
        };
        self.watch.see(Seen::Spawning);
        Some(color.spawn(Watched {
            steps: Box::pin(steps),
            color: ColorId::Planned(on),
            watch: Arc::clone(&self.watch),
        }))
    }
}

type Steps = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task, each of whose polls is seen.
struct Watched {
    steps: Steps,
    color: ColorId,
    watch: Arc<Watch>,
}

impl Future for Watched {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let (color, worker) = (this.color, meter::cpu());
        this.watch.see(Seen::PollBegan { color, worker });
        let result = this.steps.as_mut().poll(cx);
        this.watch.see(Seen::PollEnded { color });
        result
    }
}
