//! Programs that do what they should not.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mely::Color;
use mely_async::{UnixStream, sleep};

use crate::support::{Wakes, bounded, colored, eventually, runtime, silent_panic};

/// Panics when it is woken, and when it is dropped.
struct Bomb(AtomicBool);

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
        silent_panic();
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            silent_panic();
        }
    }
}

fn bomb() -> (Waker, Arc<Bomb>) {
    let bomb = Arc::new(Bomb(AtomicBool::new(false)));
    (Waker::from(Arc::clone(&bomb)), bomb)
}

/// What a test keeps of a bomb must not go off in the test.
fn keep_for_ever(bomb: Arc<Bomb>) {
    std::mem::forget(bomb);
}

#[test]
fn a_waker_that_panics_keeps_nothing_from_the_others() {
    colored(|_| async {
        let (mut here, there) = UnixStream::pair().expect("a pair");
        let (waker, kept) = bomb();
        // It waits to read as a poller; a future that is listed waits after it.
        let polled = there.poll_read(&Context::from_waker(&waker), &mut [0; 1]);
        assert!(polled.is_pending());
        let (wakes, quiet) = Wakes::waker();
        let mut readable = Box::pin(there.readable());
        let polled = readable.as_mut().poll(&mut Context::from_waker(&quiet));
        assert!(polled.is_pending());
        here.write_all(b"x").await.expect("room");
        for _ in 0..1000 {
            if wakes.count() > 0 {
                break;
            }
            sleep(Duration::from_millis(1)).await.expect("a timer");
        }
        assert!(wakes.count() > 0 && kept.0.load(Relaxed));
        readable.await.expect("it is readable");
        let mut byte = [0; 1];
        poll_fn(|cx| there.poll_read(cx, &mut byte))
            .await
            .expect("a byte");
        drop(waker);
        keep_for_ever(kept);
    });
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_harms_nobody() {
    colored(|_| async {
        for replaced in [true, false] {
            let (here, there) = UnixStream::pair().expect("a pair");
            let (waker, kept) = bomb();
            let mut nap = Box::pin(sleep(Duration::from_secs(3600)));
            {
                let mut cx = Context::from_waker(&waker);
                assert!(there.poll_read(&cx, &mut [0; 1]).is_pending());
                assert!(nap.as_mut().poll(&mut cx).is_pending());
            }
            // From now on those that wait have the last ones.
            drop(kept);
            drop(waker);
            if replaced {
                let (_, quiet) = Wakes::waker();
                let mut cx = Context::from_waker(&quiet);
                assert!(there.poll_read(&cx, &mut [0; 1]).is_pending());
                assert!(nap.as_mut().poll(&mut cx).is_pending());
            }
            drop((there, nap, here));
        }
    });
}

/// Polls its stream right when it is woken, wherever that is.
struct PollsAtOnce(UnixStream, AtomicBool);

impl Wake for PollsAtOnce {
    fn wake(self: Arc<Self>) {
        let (_, waker) = Wakes::waker();
        let read = self.0.poll_read(&Context::from_waker(&waker), &mut [0; 8]);
        self.1.store(matches!(read, Poll::Ready(Ok(1))), Relaxed);
    }
}

#[test]
fn a_waker_may_poll_what_woke_it() {
    colored(|_| async {
        let (mut here, there) = UnixStream::pair().expect("a pair");
        let polls = Arc::new(PollsAtOnce(there, AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&polls));
        let polled = polls.0.poll_read(&Context::from_waker(&waker), &mut [0; 8]);
        assert!(polled.is_pending());
        here.write_all(b"x").await.expect("room");
        for _ in 0..1000 {
            if polls.1.load(Relaxed) {
                break;
            }
            sleep(Duration::from_millis(1)).await.expect("a timer");
        }
        assert!(polls.1.load(Relaxed), "it has read the byte");
    });
}

#[test]
fn a_future_may_drop_the_runtime_that_runs_it() {
    bounded(|| {
        let rt = Box::new(runtime(2));
        let color = rt.new_color();
        let (mut here, mut there) = UnixStream::pair().expect("a pair");
        let waits = rt.new_color().spawn(async move {
            let mut byte = [0; 1];
            there.read(&mut byte).await.map(|_| there)
        });
        let ended = color.spawn(async move {
            sleep(Duration::from_millis(1)).await.expect("a timer");
            drop(rt);
            // What still waits is refused or dropped; nothing hangs and nothing panics.
            let written = here.write_all(b"x").await;
            let slept = sleep(Duration::from_secs(3600)).await;
            (written.is_ok(), slept)
        });
        // Either the task came to its end, or it went with the runtime.
        if let Ok((written, slept)) = ended.wait() {
            assert!(written && slept.is_err());
        }
        drop(waits.wait());
    });
}

#[test]
fn a_panic_drops_the_stream_of_its_task() {
    bounded(|| {
        let rt = runtime(1);
        let (mut here, mut there) = UnixStream::pair().expect("a pair");
        let panics = rt.new_color().spawn(async move {
            assert_eq!(there.read(&mut [0; 1]).await.ok(), Some(1));
            silent_panic();
        });
        let sees_end = rt.new_color().spawn(async move {
            here.write_all(b"x").await?;
            here.read(&mut [0; 1]).await
        });
        assert!(matches!(
            panics.wait(),
            Err::<(), _>(mely::CallError::Panicked(_))
        ));
        assert_eq!(sees_end.wait().expect("it ends").expect("the end"), 0);
        eventually("it is counted", || rt.metrics().events.pending() == 0);
    });
}

#[test]
fn a_destructor_may_wait_for_what_it_cannot_have() {
    struct SleepsWhenDropped;
    impl Drop for SleepsWhenDropped {
        fn drop(&mut self) {
            let (_, waker) = Wakes::waker();
            let mut nap = Box::pin(sleep(Duration::from_secs(3600)));
            // Within an event or not: an answer or a wait, never a panic.
            let _ = nap.as_mut().poll(&mut Context::from_waker(&waker));
        }
    }
    bounded(|| {
        let rt = runtime(1);
        let state = rt.colored(SleepsWhenDropped);
        let waits = state.spawn(async {
            let _dropped = SleepsWhenDropped;
            futures::future::pending::<()>().await;
        });
        drop(state);
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        assert!(waits.wait().is_err());
        assert_eq!(Color::current(), None);
    });
}
