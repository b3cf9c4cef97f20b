//! Models of replies: an answer beside whoever waits for it.

use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::task::Wake;

use super::*;
use crate::cell::origin::RuntimeNumber;
use crate::color::error::CallError;
use crate::color::reply;

impl Wake for Gate {
    fn wake(self: std::sync::Arc<Self>) {
        self.pass();
    }
}

fn channel<R>() -> (reply::Answerer<R>, reply::Reply<R>) {
    reply::channel(RuntimeNumber::next())
}

/// Who waits gets the answer, with all that was done before it; or is told that nobody
/// will answer.
#[test]
fn loom_an_answer_ends_a_wait() {
    for answered in [true, false] {
        loom::model(move || {
            let (answerer, reply) = channel();
            let answering = thread::spawn(move || match answered {
                true => {
                    let mut watched = Watched::new();
                    watched.add(7);
                    answerer.answer(Ok(watched));
                }
                false => drop(answerer),
            });
            let answer = reply.block().map(|mut watched| watched.values());
            let expected = if answered {
                Ok(vec![7])
            } else {
                Err(CallError::Dropped)
            };
            assert_eq!(answer, expected);
            answering.join().unwrap();
        });
    }
}

/// Of two polls the later one's waker is woken, or the poll sees the answer.
#[test]
fn loom_an_answer_wakes_the_last_poll() {
    loom::model(|| {
        let (answerer, reply) = channel();
        let answering = thread::spawn(move || answerer.answer(Ok(7)));
        let mut reply = pin!(reply);
        let mut poll_by = |gate: &Arc<Gate>| {
            let waker = Waker::from(Arc::clone(gate));
            reply.as_mut().poll(&mut Context::from_waker(&waker))
        };
        let gates = [Gate::new(), Gate::new()];
        let mut answer = poll_by(&gates[0]);
        if answer.is_pending() {
            answer = poll_by(&gates[1]);
        }
        if answer.is_pending() {
            gates[1].wait_for(1);
            answer = poll_by(&gates[1]);
        }
        assert_eq!(answer, Poll::Ready(Ok(7)));
        answering.join().unwrap();
    });
}

/// A result that nobody wants any more is dropped, once.
#[test]
fn loom_a_reply_may_go_beside_its_answer() {
    loom::model(|| {
        let (drops, (answerer, reply)) = (Drops::new(), channel());
        let result = drops.counted();
        let answering = thread::spawn(move || answerer.answer(Ok(result)));
        drop(reply);
        answering.join().unwrap();
        assert_eq!(drops.count(), 1);
    });
}
