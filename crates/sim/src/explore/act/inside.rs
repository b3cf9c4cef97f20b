//! What handlers do.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::carried::{Pocket, Token};
use super::{From, Running, lock};
use crate::explore::checks::{ColorId, Poster, Seen};
use crate::explore::program::{Action, Event, LONG_CYCLES};
use crate::mely::Context;

impl Running {
    /// Runs an event.
    pub(super) fn run<T: Pocket>(
        self: &Arc<Self>,
        (state, cx): (&mut T, &mut Context<'_, T>),
        mut token: Token,
        event: &Event,
    ) {
        let now = cx.now();
        *lock(&self.now) = Some(now);
        token.begin(cx.worker(), Some(now));
        cx.spend(event.kind.cycles());
        let from = From {
            by: Poster::Worker(cx.worker()),
            color: Some(token.color),
        };
        for action in &event.does {
            match action {
                Action::Spend(cycles) => cx.spend(*cycles),
                Action::PostSelf { times, event } => {
                    self.post_self(cx, token.color, (*times, event), from);
                }
                Action::PostFresh { times, event } => {
                    for id in self.ids(*times) {
                        let token = self.posting(id, ColorId::Fresh(id), from, event.kind, None);
                        let token = token.parting(self, event);
                        let (running, event) = (Arc::clone(self), Arc::clone(event));
                        let handler = event.kind.handler();
                        cx.with_handler(handler).post_parallel(move |state, cx| {
                            running.run((state, cx), token, &event);
                        });
                        self.watch.see(Seen::Posted { event: id });
                    }
                }
                Action::After { .. } => {
                    *lock(&self.now) = Some(cx.now());
                    self.act(action, from, &[]);
                }
                Action::LetGo => state.let_go(),
                Action::End => {
                    // Relaxed: all is on one thread.
                    self.ends.store(true, Relaxed);
                    cx.spend(LONG_CYCLES);
                }
                action => self.act(action, from, &[]),
            }
        }
        token.end();
    }

    /// Posts to the color that runs.
    fn post_self<T: Pocket>(
        self: &Arc<Self>,
        cx: &mut Context<'_, T>,
        color: ColorId,
        (times, event): (u32, &Arc<Event>),
        from: From,
    ) {
        for id in self.ids(times) {
            let token = self.posting(id, color, from, event.kind, None);
            let token = token.parting(self, event);
            let (running, event) = (Arc::clone(self), Arc::clone(event));
            let handler = event.kind.handler();
            cx.with_handler(handler).post_or_shed(move |state, cx| {
                running.run((state, cx), token, &event);
            });
            self.watch.see(Seen::Posted { event: id });
        }
    }
}
