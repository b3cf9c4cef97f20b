//! Channels, locks and `select!` of others, under colors: what is woken by other code needs
//! no runtime of its own.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use futures::{FutureExt as _, SinkExt as _, StreamExt as _, pin_mut};
use mely::{CallError, Colored, Handle, Reply, TaskState};
use mely_async::sleep;

use crate::support::{bounded, runtime};

/// More than what any of them lets pass before it makes a task wait.
const MANY: u64 = 1000;

const SUM: u64 = MANY * (MANY - 1) / 2;

/// Runs `sends` under a color and `receives` under another, which adds up what comes in the
/// state that its color owns; the sum.
fn sum_of<S, R, F>(sends: S, receives: R)
where
    S: Future + Send + 'static,
    S::Output: Send + 'static,
    R: FnOnce(TaskState<Vec<u64>>) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    bounded(|| {
        let rt = runtime(2);
        let got: Colored<Vec<u64>> = rt.colored(Vec::new());
        let receiver = got.spawn_with(receives);
        let sender = rt.new_color().spawn(sends);
        receiver.wait().expect("it ends");
        drop(sender.wait().expect("it ends"));
        let got = got.blocking_with(std::mem::take);
        assert!(got.is_sorted() && got.len() == MANY as usize, "in order");
        assert_eq!(got.iter().sum::<u64>(), SUM);
    });
}

#[test]
fn futures_mpsc() {
    let (mut sender, mut receiver) = futures::channel::mpsc::channel(4);
    let sends = async move {
        for number in 0..MANY {
            sender.send(number).await.expect("it is received");
        }
    };
    sum_of(sends, async move |mut own: TaskState<Vec<u64>>| {
        while let Some(number) = receiver.next().await {
            own.with(|got| got.push(number));
        }
    });
}

#[test]
fn tokio_mpsc() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
    let sends = async move {
        for number in 0..MANY {
            sender.send(number).await.expect("it is received");
        }
    };
    sum_of(sends, async move |mut own: TaskState<Vec<u64>>| {
        while let Some(number) = receiver.recv().await {
            own.with(|got| got.push(number));
        }
    });
}

#[test]
fn flume_channels() {
    let (sender, receiver) = flume::bounded(4);
    let sends = async move {
        for number in 0..MANY {
            sender.send_async(number).await.expect("it is received");
        }
    };
    sum_of(sends, async move |mut own: TaskState<Vec<u64>>| {
        while let Ok(number) = receiver.recv_async().await {
            own.with(|got| got.push(number));
        }
    });
}

#[test]
fn async_channels() {
    let (sender, receiver) = async_channel::bounded(4);
    let sends = async move {
        for number in 0..MANY {
            sender.send(number).await.expect("it is received");
        }
    };
    sum_of(sends, async move |mut own: TaskState<Vec<u64>>| {
        while let Ok(number) = receiver.recv().await {
            own.with(|got| got.push(number));
        }
    });
}

#[test]
fn tokio_broadcast() {
    let (sender, mut receiver) = tokio::sync::broadcast::channel(MANY as usize);
    let sends = async move {
        for number in 0..MANY {
            sender.send(number).expect("it is received");
        }
    };
    sum_of(sends, async move |mut own: TaskState<Vec<u64>>| {
        while let Ok(number) = receiver.recv().await {
            own.with(|got| got.push(number));
        }
    });
}

#[test]
fn oneshots_go_there_and_back() {
    bounded(|| {
        let rt = runtime(2);
        let (ask, asked) = futures::channel::oneshot::channel();
        let (answer, answered) = tokio::sync::oneshot::channel();
        let state = rt.colored(5);
        let answers = state.spawn_with(async move |mut own: TaskState<i32>| {
            let more: i32 = asked.await.expect("it asks");
            own.with(|own| *own += more);
            answer.send(own.with(|own| *own))
        });
        let asks = rt.new_color().spawn(async move {
            ask.send(2).expect("it is there");
            answered.await
        });
        assert_eq!(asks.wait().expect("it ends"), Ok(7));
        assert_eq!(answers.wait().expect("it ends"), Ok(()));
        // One whose sender is dropped with its task.
        let (never, told) = tokio::sync::oneshot::channel::<()>();
        let waits = rt.new_color().spawn(told);
        let holds = rt.new_color().spawn(async move {
            // Nobody will wake it, so it is given up with all that it has.
            std::future::pending::<()>().await;
            drop(never);
        });
        assert_eq!(holds.wait(), Err(CallError::Dropped));
        assert!(waits.wait().expect("it ends").is_err());
    });
}

#[test]
fn a_watch_tells_the_last_value() {
    bounded(|| {
        let rt = runtime(2);
        let (sender, mut receiver) = tokio::sync::watch::channel(0);
        let seen = rt.colored(Vec::new());
        let watches = seen.spawn_with(async move |mut own: TaskState<Vec<u64>>| {
            while receiver.changed().await.is_ok() {
                let value = *receiver.borrow_and_update();
                own.with(|seen| seen.push(value));
            }
        });
        let sends = rt.new_color().spawn(async move {
            for number in 1..=MANY {
                sender.send(number).expect("it is watched");
            }
        });
        sends.wait().expect("it ends");
        watches.wait().expect("it ends");
        let seen = seen.blocking_with(std::mem::take);
        assert!(seen.is_sorted() && seen.last() == Some(&MANY), "{seen:?}");
    });
}

/// A number of tasks, each under a color of its own.
fn each<F>(rt: &Handle, tasks: usize, task: impl Fn(usize) -> F) -> Vec<Reply<F::Output>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let spawn = |number| rt.new_color().spawn(task(number));
    (0..tasks).map(spawn).collect()
}

fn all_end<R>(tasks: Vec<Reply<R>>) {
    for task in tasks {
        task.wait().expect("it ends");
    }
}

#[test]
fn a_notify_wakes_one_or_all() {
    bounded(|| {
        let rt = runtime(2);
        let notify = Arc::new(tokio::sync::Notify::new());
        let (began, mut begins) = futures::channel::mpsc::unbounded();
        let waits = each(&rt, 10, |_| {
            let (notify, began) = (Arc::clone(&notify), began.clone());
            async move {
                let notified = notify.notified();
                pin_mut!(notified);
                // It waits from here on.
                notified.as_mut().enable();
                began.unbounded_send(()).expect("it is counted");
                notified.await;
            }
        });
        let wakes = rt.new_color().spawn(async move {
            for _ in 0..10 {
                begins.next().await.expect("they begin");
            }
            notify.notify_one();
            notify.notify_waiters();
        });
        wakes.wait().expect("it ends");
        all_end(waits);
    });
}

#[test]
fn semaphores_and_locks_hold_across_awaits() {
    bounded(|| {
        let rt = runtime(2);
        let inside = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let ours = Arc::new(tokio::sync::Semaphore::new(1));
        let theirs = Arc::new(async_lock::Semaphore::new(1));
        let (mutex, other) = (
            Arc::new(async_lock::Mutex::new(0)),
            Arc::new(tokio::sync::Mutex::new(0)),
        );
        let table = Arc::new(async_lock::RwLock::new(0));
        let tasks = each(&rt, 8, |number| {
            let (ours, theirs) = (Arc::clone(&ours), Arc::clone(&theirs));
            let (mutex, other) = (Arc::clone(&mutex), Arc::clone(&other));
            let (table, inside) = (Arc::clone(&table), Arc::clone(&inside));
            async move {
                for step in 0..20 {
                    let permits = (ours.acquire().await, theirs.acquire().await);
                    // Nobody else is in here, whatever he awaits.
                    assert_eq!(inside.fetch_add(1, SeqCst), 0);
                    let (mut first, mut second) = (mutex.lock().await, other.lock().await);
                    let before = (*first, *second, *table.read().await);
                    if (number + step) % 8 == 0 {
                        let nap = std::time::Duration::from_micros(50);
                        sleep(nap).await.expect("a timer");
                    }
                    (*first, *second) = (before.0 + 1, before.1 + 1);
                    *table.write().await = before.2 + 1;
                    inside.fetch_sub(1, SeqCst);
                    drop((first, second));
                    drop(permits);
                }
            }
        });
        all_end(tasks);
        let sums = async {
            (
                *mutex.lock().await,
                *other.lock().await,
                *table.read().await,
            )
        };
        let sums = futures::executor::block_on(sums);
        assert_eq!(sums, (160, 160, 160));
    });
}

#[test]
fn a_barrier_lets_all_go_on_together() {
    bounded(|| {
        let rt = runtime(2);
        let barrier = Arc::new(async_lock::Barrier::new(5));
        let tasks = each(&rt, 5, |_| {
            let barrier = Arc::clone(&barrier);
            async move { barrier.wait().await.is_leader() }
        });
        let leaders = tasks.into_iter().filter_map(|task| task.wait().ok());
        assert_eq!(leaders.filter(|is_leader| *is_leader).count(), 1);
    });
}

/// Both kinds of `select!`, in a task that reaches its color's state between the awaits.
#[test]
fn select_takes_what_comes_first_and_loses_nothing() {
    bounded(|| {
        let rt = runtime(2);
        let (left, mut lefts) = tokio::sync::mpsc::channel(2);
        let (right, rights) = flume::bounded(2);
        let counts = rt.colored([0_u64; 2]);
        let selects = counts.spawn_with(async move |mut own: TaskState<[u64; 2]>| {
            let mut is_open = true;
            while is_open {
                tokio::select! {
                    got = lefts.recv() => match got {
                        Some(()) => own.with(|counts| counts[0] += 1),
                        None => is_open = false,
                    },
                    Ok(()) = rights.recv_async() => own.with(|counts| counts[1] += 1),
                }
            }
            let mut rest = rights.into_stream().fuse();
            let mut never = futures::future::pending::<()>().fuse();
            loop {
                futures::select! {
                    got = rest.next() => match got {
                        Some(()) => own.with(|counts| counts[1] += 1),
                        None => return,
                    },
                    () = never => unreachable!("it is never ready"),
                }
            }
        });
        let sends = [
            rt.new_color().spawn(async move {
                for _ in 0..MANY {
                    left.send(()).await.expect("it is received");
                }
            }),
            rt.new_color().spawn(async move {
                for _ in 0..MANY {
                    right.send_async(()).await.expect("it is received");
                }
            }),
        ];
        all_end(sends.into());
        selects.wait().expect("it ends");
        assert_eq!(counts.blocking_with(|counts| *counts), [MANY; 2]);
    });
}

/// What a plain thread or event sends, a task receives.
#[test]
fn threads_and_events_send_to_tasks() {
    bounded(|| {
        let rt = runtime(2);
        let (sender, receiver) = async_channel::unbounded();
        let sum = rt.new_color().spawn(async move {
            let mut sum = 0;
            while let Ok(number) = receiver.recv().await {
                sum += number;
            }
            sum
        });
        let from_thread = sender.clone();
        let thread = std::thread::spawn(move || {
            for number in 0..MANY / 2 {
                from_thread.send_blocking(number).expect("it is received");
            }
        });
        let color = rt.new_color();
        for number in MANY / 2..MANY {
            let sender = sender.clone();
            let posted = color.post(move |(), _| {
                sender.try_send(number).expect("it is received");
            });
            posted.expect("it takes events");
        }
        drop(sender);
        thread.join().expect("no panic");
        assert_eq!(sum.wait(), Ok(SUM));
    });
}
