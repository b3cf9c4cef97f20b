//! Models of tasks: wake-ups beside polls, and what gives a task up beside both.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::atomic::Ordering::{Acquire, Release};

use super::*;
use crate::color::error::CallError;
use crate::color::reply::Reply;
use crate::machine::sync::AtomicBool;

/// Where a future waits until it is told.
struct Line {
    told: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Line {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            told: AtomicBool::new(false),
            waker: Mutex::new(None),
        })
    }

    /// Wakes, after what it is to see.
    fn tell(&self) {
        self.told.store(true, Release);
        self.wake();
    }

    fn wake(&self) {
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A future that loom watches: two polls at once are an error, as is a drop beside one.
struct Told {
    line: Arc<Line>,
    counted: Counted,
}

impl Future for Told {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
        self.counted.touched.add(1);
        let before = lock(&self.line.waker).replace(cx.waker().clone());
        drop(before);
        match self.line.told.load(Acquire) {
            true => Poll::Ready(7),
            false => Poll::Pending,
        }
    }
}

/// A runtime of one worker with a task that waits to be told.
struct Model {
    shared: Arc<Shared>,
    worker: thread::JoinHandle<()>,
    line: Arc<Line>,
    drops: Drops,
    reply: Reply<u32>,
}

impl Model {
    fn new() -> Self {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let (line, drops) = (Line::new(), Drops::new());
        let reply = colored(&shared, 0, ()).spawn(Told {
            line: Arc::clone(&line),
            counted: drops.counted(),
        });
        Self {
            shared,
            worker,
            line,
            drops,
            reply,
        }
    }

    /// Waits for the answer, and ends: the future is gone, once.
    fn end(self) -> Result<u32, CallError> {
        let answer = self.reply.block();
        assert_eq!(self.drops.count(), 1, "dropped before the answer");
        drop(self.line);
        stop(&self.shared, vec![self.worker]);
        assert_eq!(self.drops.count(), 1);
        answer
    }
}

/// A wake-up at any moment, also during a poll, is not lost.
#[test]
fn loom_a_wake_up_of_a_task_is_not_lost() {
    loom::model(|| {
        let model = Model::new();
        model.line.tell();
        assert_eq!(model.end(), Ok(7));
    });
}

/// Wake-ups from two threads: one poll at a time.
#[test]
fn loom_a_task_is_polled_by_one_at_a_time() {
    model_of_two(|| {
        let model = Model::new();
        let line = Arc::clone(&model.line);
        let other = thread::spawn(move || line.wake());
        model.line.tell();
        other.join().unwrap();
        assert_eq!(model.end(), Ok(7));
    });
}

/// What ends with the runtime is told of its end while the task is polled and woken: the
/// future is dropped once, after its poll, and whoever waits is answered.
#[test]
fn loom_a_task_given_up_beside_its_poll_is_answered() {
    for told in [true, false] {
        // Two preemptions: to the poll, and back to the end.
        loom::model(move || {
            let model = Model::new();
            let line = Arc::clone(&model.line);
            let other = thread::spawn(move || if told { line.tell() } else { line.wake() });
            model.shared.remotes[0].lives.end();
            other.join().unwrap();
            match model.end() {
                Ok(7) => assert!(told),
                Err(CallError::Dropped) => {}
                other => panic!("{other:?}"),
            }
        });
    }
}

/// The runtime stops while a task is polled and woken.
#[test]
fn loom_a_task_is_answered_by_the_end() {
    loom::model(|| {
        let model = Model::new();
        model.shared.enter(Phase::Stopped);
        model.line.tell();
        assert!(matches!(model.end(), Ok(7) | Err(CallError::Dropped)));
    });
}

/// Its color is stopped while somebody wakes a task: it is given up in any case.
#[test]
fn loom_a_task_ends_with_its_color() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let (line, drops) = (Line::new(), Drops::new());
        let color = colored(&shared, 0, ());
        let reply = color.spawn(Told {
            line: Arc::clone(&line),
            counted: drops.counted(),
        });
        let waking = thread::spawn(move || line.wake());
        color.stop(crate::color::Pending::Drop);
        assert_eq!(reply.block(), Err(CallError::Dropped));
        assert_eq!(drops.count(), 1, "dropped before the answer");
        waking.join().unwrap();
        drop(color);
        stop(&shared, vec![worker]);
    });
}
