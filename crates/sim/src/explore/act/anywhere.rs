//! What can be done anywhere: in handlers, in destructors, outside.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::carried::{State, Token};
use super::{ColorRef, From, OnPurpose, Running, lock, panic_on_purpose};
use crate::explore::checks::{ColorId, EventId, Seen};
use crate::explore::fault::Fault;
use crate::explore::program::{Action, Event, How, Kind};
use crate::mely::{Colored, Context, Pending};

impl Running {
    /// Does what comes from outside, by a thread or not.
    pub(in crate::explore) fn act_outside(self: &Arc<Self>, does: &[Action]) {
        let from = From {
            by: self.here(),
            color: None,
        };
        for action in does {
            let act = || match action {
                Action::With { color } => self.wait_for_section(*color, from),
                action => self.act(action, from, &[]),
            };
            // A waker may panic when it is dropped. Where the machine stands still, that is
            // told by a panic, too.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(act))
                && !panic.is::<OnPurpose>()
            {
                self.watch.give_up();
                resume_unwind(panic);
            }
        }
    }

    /// Does what can be done anywhere, by these references first.
    pub(super) fn act(self: &Arc<Self>, action: &Action, from: From, known: &[ColorRef]) {
        match action {
            Action::Post {
                color,
                how,
                times,
                event,
            } => {
                if let Some(to) = self.color(*color, known) {
                    for id in self.ids(*times) {
                        self.post(&to, ColorId::Planned(*color), id, *how, event, from);
                    }
                }
            }
            Action::PostFresh { times, event } => self.post_fresh(*times, event, from),
            Action::After {
                cycles,
                color,
                event,
            } => {
                if let Some(to) = self.color(*color, known) {
                    self.set_timer(&to, ColorId::Planned(*color), *cycles, event, from);
                }
            }
            Action::Task {
                color,
                to,
                awaits,
                times,
                event,
            } => self.spawn((*color, *to), (*awaits, *times), event, known),
            Action::Ask {
                color,
                task,
                woken,
                event,
            } => {
                if let Some(to) = self.color(*color, known) {
                    self.ask((*color, &to), *task, *woken, event, from);
                }
            }
            Action::Cancel { back } => self.cancel(*back),
            Action::Drop { color } => {
                let dropped = self.slots.get(*color).and_then(|slot| lock(slot).take());
                if dropped.is_some() && self.fault == Some(Fault::EarlyFree) {
                    let color = ColorId::Planned(*color);
                    self.watch.see(Seen::Freed { color });
                }
                drop(dropped);
            }
            Action::Stop { color, pending } => {
                if let Some(to) = self.color(*color, known) {
                    self.stop(&to, ColorId::Planned(*color), *pending, from);
                }
            }
            Action::DropHandle => self.drop_handle(),
            Action::Panic => panic_on_purpose(),
            Action::Spend(_)
            | Action::With { .. }
            | Action::PostSelf { .. }
            | Action::LetGo
            | Action::End => {}
        }
    }

    /// Numbers for events that are posted in a row, each when it is posted: what is
    /// refused may post others between.
    pub(super) fn ids(&self, times: u32) -> impl Iterator<Item = EventId> {
        let mut swapped: Vec<_> = match self.fault {
            Some(Fault::SwappedPosts) => (0..times).map(|_| self.watch.next_event()).collect(),
            _ => Vec::new(),
        };
        let next = move |_| swapped.pop().unwrap_or_else(|| self.watch.next_event());
        (0..times).map(next)
    }

    /// An event is about to be posted.
    pub(super) fn posting(
        &self,
        event: EventId,
        color: ColorId,
        from: From,
        kind: Kind,
        due: Option<Instant>,
    ) -> Token {
        self.watch.see(Seen::Posting {
            event,
            color,
            by: from.by,
            from: from.color,
            kind,
            due,
        });
        Token::new(event, color, Arc::clone(&self.watch))
    }

    fn post(
        self: &Arc<Self>,
        to: &Colored<State>,
        color: ColorId,
        id: EventId,
        how: How,
        event: &Arc<Event>,
        from: From,
    ) {
        let token = self.posting(id, color, from, event.kind, None);
        let token = token.parting(self, event);
        if self.fault == Some(Fault::ExtraPost) && id.is_multiple_of(5) {
            to.post_or_shed(|_, _| ());
        }
        let (running, event) = (Arc::clone(self), Arc::clone(event));
        let to = to.with_handler(event.kind.handler());
        match how {
            How::Post => to.post_or_shed(move |state, cx| running.run((state, cx), token, &event)),
            // What is given back is dropped here, as a refused post drops it.
            How::TryPost => {
                let posted = to.post(move |state, cx| running.run((state, cx), token, &event));
                drop(posted);
            }
            How::Control => {
                self.watch.see(Seen::Control { event: id });
                let event = move |state: &mut State, cx: &mut Context<'_, State>| {
                    running.run((state, cx), token, &event);
                };
                let posted = match self.fault {
                    Some(Fault::PlainControl) => to.post(event),
                    _ => to.post_control(event),
                };
                drop(posted);
            }
            How::Call => {
                let called = to.call(move |state, cx| running.run((state, cx), token, &event));
                drop(called);
            }
        }
        self.watch.see(Seen::Posted { event: id });
    }

    fn stop(&self, to: &Colored<State>, color: ColorId, pending: Pending, from: From) {
        self.watch.see(Seen::Stopping { color, pending });
        match self.fault {
            Some(Fault::DeafStop) => {}
            Some(Fault::RashStop) => to.stop(Pending::Drop),
            _ => to.stop(pending),
        }
        self.watch.see(Seen::Stopped {
            color,
            by: from.by,
            pending,
            within: from.color == Some(color),
        });
    }

    /// Posts to fresh colors, which the runtime's handle makes.
    fn post_fresh(self: &Arc<Self>, times: u32, event: &Arc<Event>, from: From) {
        let Some(handle) = self.handle() else {
            return;
        };
        for id in self.ids(times) {
            let color = handle.new_color();
            let token = self.posting(id, ColorId::Fresh(id), from, event.kind, None);
            let token = token.parting(self, event);
            let (running, event) = (Arc::clone(self), Arc::clone(event));
            let handler = event.kind.handler();
            color
                .with_handler(handler)
                .post_or_shed(move |state, cx| running.run((state, cx), token, &event));
            self.watch.see(Seen::Posted { event: id });
        }
    }

    fn set_timer(
        self: &Arc<Self>,
        to: &Colored<State>,
        color: ColorId,
        cycles: u64,
        event: &Arc<Event>,
        from: From,
    ) {
        // Outside there is no clock to read but that of the last event.
        let Some(now) = *lock(&self.now) else {
            return;
        };
        let due = now + Duration::from_nanos(cycles);
        let id = self.watch.next_event();
        let token = self.posting(id, color, from, event.kind, Some(due));
        let token = token.parting(self, event);
        let (running, event) = (Arc::clone(self), Arc::clone(event));
        let to = to.with_handler(event.kind.handler());
        let timer = to.post_at(due, move |state, cx| {
            running.run((state, cx), token, &event);
        });
        self.watch.see(Seen::Posted { event: id });
        lock(&self.timers).push((id, timer));
    }

    fn cancel(&self, back: usize) {
        let chosen = {
            let timers = lock(&self.timers);
            let at = timers.len().checked_sub(back + 1);
            at.and_then(|at| timers.get(at)).cloned()
        };
        let Some((event, timer)) = chosen else {
            return;
        };
        let is_deaf = self.fault == Some(Fault::DeafCancel) && timer.is_pending();
        self.watch.see(Seen::Cancelling { event });
        if is_deaf || timer.cancel() {
            self.watch.see(Seen::Cancelled { event });
        }
    }
}
