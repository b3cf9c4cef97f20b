//! What waits for answers: sections that code outside waits for, and tasks.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use super::carried::{State, Token};
use super::{ColorRef, From, Running, drop_on_purpose};
use crate::explore::checks::{ColorId, EventId, Poster, Seen};
use crate::explore::fault::Fault;
use crate::explore::program::{Awaits, Event, Kind};
use crate::explore::watch::Watch;
use crate::mely::simulated::meter;
use crate::mely::{self, Colored, Reply};

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

    /// Spawns a task on a color, that calls another one so many times, or posts to it. Nobody
    /// waits for the task itself.
    pub(super) fn spawn(
        self: &Arc<Self>,
        between: (usize, usize),
        what: (Awaits, u32),
        event: &Arc<Event>,
        known: &[ColorRef],
    ) {
        let spawned = self.spawn_task(between, what, event, known);
        drop(spawned);
    }

    /// The same, with the task's answer.
    pub(super) fn spawn_task(
        self: &Arc<Self>,
        (on, to): (usize, usize),
        (awaits, times): (Awaits, u32),
        event: &Arc<Event>,
        known: &[ColorRef],
    ) -> Option<Reply<()>> {
        let (color, callee) = (self.color(on, known)?, self.color(to, known)?);
        let (running, event) = (Arc::clone(self), Arc::clone(event));
        let from = From {
            by: Poster::Task(self.watch.next_task()),
            // Others of the color may post while it waits for room.
            color: (awaits == Awaits::Answer).then_some(ColorId::Planned(on)),
        };
        let steps = async move {
            for _ in 0..times {
                let id = running.watch.next_event();
                let token = running.posting(id, ColorId::Planned(to), from, event.kind, None);
                let token = token.parting(&running, &event);
                // Whatever became of it: the next one may come through.
                running.step(&callee, awaits, token, &event).await;
            }
        };
        self.watch.see(Seen::Spawning);
        Some(color.spawn(Watched {
            steps: Box::pin(steps),
            color: ColorId::Planned(on),
            watch: Arc::clone(&self.watch),
        }))
    }

    /// A step of a task: posts an event, and awaits what it is to await.
    async fn step(
        self: &Arc<Self>,
        callee: &Colored<State>,
        awaits: Awaits,
        token: Token,
        event: &Arc<Event>,
    ) {
        let (id, callee) = (token.event, callee.with_handler(event.kind.handler()));
        let (running, event) = (Arc::clone(self), Arc::clone(event));
        let called = move |state: &mut State, cx: &mut mely::Context<'_, State>| {
            running.run((state, cx), token, &event);
        };
        match awaits {
            Awaits::Answer => {
                let answer = callee.call(called);
                self.watch.see(Seen::Posted { event: id });
                _ = answer.await;
                return;
            }
            Awaits::Room => {
                let posted = self.room(id, callee.post_when_room(called)).await;
                // What is given back may panic when it is dropped: no fault of the task's.
                drop_on_purpose(posted);
            }
            Awaits::RoomAndAnswer => _ = self.room(id, callee.call_when_room(called)).await,
        }
        self.watch.see(Seen::Posted { event: id });
    }

    /// Awaits room.
    async fn room<F: Future + Unpin>(&self, event: EventId, mut waits: F) -> F::Output {
        // Nobody but its wakers keeps a task.
        let mut kept = None;
        poll_fn(|cx| {
            let polled = Pin::new(&mut waits).poll(cx);
            if polled.is_ready() {
                return polled;
            }
            self.watch.see(Seen::NoRoom { event });
            match self.fault {
                // Another waker takes the place of the task's.
                Some(Fault::DeafRoom) => {
                    kept = Some(cx.waker().clone());
                    Pin::new(&mut waits).poll(&mut Context::from_waker(Waker::noop()))
                }
                _ => polled,
            }
        })
        .await
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
