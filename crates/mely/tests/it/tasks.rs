//! Futures under a color.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use mely::{CallError, Color};

use crate::checkers::{Faults, Serial};
use crate::support::{
    Gate, LIMIT, OpenOnDrop, bounded, holds, panicked, runtime, settle, silent_panic,
};

/// Is ready at its second poll, and wakes itself at its first.
#[derive(Default)]
struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[test]
fn a_task_never_runs_beside_its_colors_events() {
    bounded("serial tasks", || {
        let rt = runtime(4);
        let faults = Arc::new(Faults::default());
        let serial = Arc::new(Serial::new(&faults));
        let color = rt.new_color();
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (serial, other) = (Arc::clone(&serial), rt.colored(1));
                color.spawn(async move {
                    let mut sum = 0;
                    for _ in 0..20 {
                        drop(serial.enter());
                        sum += other.call(|n, _| *n).await?;
                        drop(serial.enter());
                        Yield::default().await;
                    }
                    Ok::<_, CallError>(sum)
                })
            })
            .collect();
        for _ in 0..400 {
            let serial = Arc::clone(&serial);
            color.post_or_shed(move |_, _| drop(serial.enter()));
        }
        for task in tasks {
            assert_eq!(task.wait(), Ok(Ok(20)));
        }
        holds(faults.verdict());
    });
}

#[test]
fn a_task_that_panics_says_so() {
    bounded("panics", || {
        let rt = runtime(1);
        let color = rt.new_color();
        let task = color.spawn(async {
            Yield::default().await;
            silent_panic()
        });
        assert_eq!(task.wait(), panicked());
        assert_eq!(color.spawn(async { 3 }).wait(), Ok(3));
    });
}

#[test]
fn a_task_is_woken_from_any_thread_and_any_number_of_times() {
    bounded("wakers", || {
        struct Flag(Arc<AtomicBool>, std::sync::mpsc::Sender<Waker>);
        impl Future for Flag {
            type Output = ();
            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                let _ = self.1.send(cx.waker().clone());
                match self.0.load(Relaxed) {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                }
            }
        }
        let rt = runtime(2);
        let (flag, (tell, told)) = (Arc::new(AtomicBool::new(false)), std::sync::mpsc::channel());
        let task = rt.new_color().spawn(Flag(Arc::clone(&flag), tell));
        let waker = told.recv().expect("the first poll");
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let waker = waker.clone();
                thread::spawn(move || (0..200).for_each(|_| waker.wake_by_ref()))
            })
            .collect();
        threads
            .into_iter()
            .for_each(|t| t.join().expect("a waker ends"));
        flag.store(true, Relaxed);
        waker.wake();
        assert_eq!(task.wait(), Ok(()));
        settle(&rt);
    });
}

#[test]
fn waking_a_finished_task_is_harmless() {
    bounded("late", || {
        let rt = runtime(1);
        let (tell, told) = std::sync::mpsc::channel();
        let task = rt.new_color().spawn(std::future::poll_fn(move |cx| {
            let _ = tell.send(cx.waker().clone());
            Poll::Ready(1)
        }));
        assert_eq!(task.wait(), Ok(1));
        let waker = told.recv().expect("it was polled");
        waker.wake_by_ref();
        settle(&rt);
        assert!(rt.shutdown(LIMIT).is_ok());
        waker.wake();
    });
}

/// Fills its bounded color and wakes itself while it is polled.
fn wake_into_a_full_color(color: Color) -> Result<(), CallError> {
    let filler = color.clone();
    let mut first = true;
    let task = color.spawn(std::future::poll_fn(move |cx| {
        if !std::mem::take(&mut first) {
            return Poll::Ready(());
        }
        filler.post_or_shed(|_, _| ());
        cx.waker().wake_by_ref();
        Poll::Pending
    }));
    task.wait()
}

#[test]
fn a_task_that_wakes_itself_when_its_color_is_full_does_not_hang() {
    bounded("full", || {
        let rt = runtime(1);
        let color = rt.color_options().capacity(1).new_color().expect("no home");
        let result = wake_into_a_full_color(color.clone());
        assert!(matches!(
            result,
            Ok(()) | Err(CallError::Full | CallError::Dropped)
        ));
        assert_eq!(color.call(|_, _| 1).wait(), Ok(1));
    });
}

#[test]
fn a_task_that_wakes_itself_after_the_runtime_stopped_does_not_hang() {
    bounded("stopped", || {
        let rt = runtime(1);
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let (begin, wait) = (begun.clone(), release.0.clone());
        let task = rt.new_color().spawn(std::future::poll_fn(move |cx| {
            begin.arrive();
            wait.pass("the runtime has stopped");
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        begun.pass("the task begins");
        let error = rt.shutdown(Duration::ZERO).unwrap_err();
        assert_eq!(error.report.held.len(), 1);
        drop(release);
        assert_eq!(task.wait(), Err(CallError::Dropped));
    });
}

#[test]
fn a_task_that_nobody_will_wake_ends_with_the_runtime() {
    bounded("abandoned", || {
        let token = Arc::new(());
        let rt = runtime(1);
        let held = Arc::clone(&token);
        let task = rt.new_color().spawn(async move {
            std::future::pending::<()>().await;
            drop(held);
        });
        settle(&rt);
        rt.shutdown(LIMIT).expect("no event is pending");
        // Nobody has a waker: the future went when its last reference did.
        assert_eq!(task.wait(), Err(CallError::Dropped));
        assert_eq!(Arc::strong_count(&token), 1);
    });
}
