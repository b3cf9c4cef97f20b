//! Answers that are waited for by wakers of the program's own, which panic and post.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::Wake;

use super::carried::State;
use super::{ColorRef, From, Running, lock, panic_on_purpose};
use crate::explore::checks::{AskId, ColorId, Seen};
use crate::explore::fault::Fault;
use crate::explore::program::{Action, Awaits, Event, How, Kind, Woken};
use crate::mely::{Colored, Reply};

/// A question, as its waker knows it: until it is woken the two keep each other.
struct Asked {
    number: AskId,
    running: Arc<Running>,
    does: Woken,
    /// Whom it asks.
    color: ColorRef,
    /// What is waited for, but while it is polled.
    reply: Mutex<Option<Reply<()>>>,
    woken: AtomicBool,
}

impl Asked {
    /// Looks whether the answer is there, which it must be.
    fn look(&self) {
        let reply = lock(&self.reply).take();
        if let Some(mut reply) = reply {
            let ready = poll(&mut reply, Waker::noop());
            self.running.watch.see(Seen::Looked {
                ask: self.number,
                ready,
            });
        }
    }
}

impl Wake for Asked {
    fn wake(self: Arc<Self>) {
        let running = &self.running;
        running.watch.see(Seen::Woken { ask: self.number });
        // Relaxed: all is on one thread.
        self.woken.store(true, Relaxed);
        self.look();
        if self.does == Woken::Posts {
            let (color, _) = self.color;
            let (kind, does, last) = (Kind::Plain, Vec::new(), Vec::new());
            let post = Action::Post {
                color,
                how: How::Post,
                times: 1,
                event: Arc::new(Event { kind, does, last }),
            };
            running.do_last(&[post], None, std::slice::from_ref(&self.color));
        }
        if self.does == Woken::Panics {
            panic_on_purpose();
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // A second panic would end the process.
        if self.does == Woken::PanicsDropped && !std::thread::panicking() {
            panic_on_purpose();
        }
    }
}

/// Whether it is ready.
fn poll(reply: &mut Reply<()>, waker: &Waker) -> bool {
    let polled = Pin::new(reply).poll(&mut Context::from_waker(waker));
    matches!(polled, Poll::Ready(_))
}

impl Running {
    /// Calls a color, and polls the answer.
    pub(super) fn ask(
        self: &Arc<Self>,
        (number, to): (usize, &Arc<Colored<State>>),
        task: bool,
        woken: Woken,
        event: &Arc<Event>,
        from: From,
    ) {
        let color = (number, Arc::clone(to));
        let reply = match task {
            true => {
                let between = (number, number);
                let known = std::slice::from_ref(&color);
                self.spawn_task(between, (Awaits::Answer, 1), event, known)
            }
            false => Some(self.call(&color, event, from)),
        };
        let Some(mut reply) = reply else {
            return;
        };
        let asked = Arc::new(Asked {
            number: self.watch.next_ask(),
            running: Arc::clone(self),
            does: woken,
            color,
            reply: Mutex::new(None),
            woken: AtomicBool::new(false),
        });
        self.wait_for(&asked, &mut reply);
        if woken != Woken::PanicsDropped {
            *lock(&asked.reply) = Some(reply);
            // Relaxed: as above. Else it is woken later, or the answer was there.
            if asked.woken.load(Relaxed) {
                asked.look();
            }
        }
    }

    fn wait_for(&self, asked: &Arc<Asked>, reply: &mut Reply<()>) {
        let ask = asked.number;
        self.watch.see(Seen::Asking { ask });
        let waker = Waker::from(Arc::clone(asked));
        if poll(reply, &waker) {
            self.watch.see(Seen::Unasked { ask });
            return;
        }
        // Unseen, if it is a planted bug.
        let replaced = asked.does == Woken::PanicsDropped;
        if replaced {
            self.watch.see(Seen::Unasked { ask });
        }
        if replaced || self.fault == Some(Fault::DeafWaker) {
            poll(reply, Waker::noop());
        }
    }

    fn call(
        self: &Arc<Self>,
        (number, to): &ColorRef,
        event: &Arc<Event>,
        from: From,
    ) -> Reply<()> {
        let id = self.watch.next_event();
        let token = self.posting(id, ColorId::Planned(*number), from, event.kind, None);
        let token = token.parting(self, event);
        let (running, event) = (Arc::clone(self), Arc::clone(event));
        let to = to.with_handler(event.kind.handler());
        let reply = to.call(move |state, cx| running.run((state, cx), token, &event));
        self.watch.see(Seen::Posted { event: id });
        reply
    }
}
