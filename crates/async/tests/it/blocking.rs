//! Closures that block, beside the workers.

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use futures::executor::block_on;
use futures::{FutureExt as _, future::join_all};
use mely::{Affinity, CallError, Color, Runtime, TaskState};
use mely_async::{
    Blocking, BlockingError, BlockingOptions, BlockingPool, BlockingRefused, lookup_host, sleep,
    spawn_blocking, try_spawn_blocking,
};

use crate::support::{WAIT, alone, bounded, colored, dropped, eventually, runtime, silent_panic};

fn pool(threads: usize, queue: usize) -> BlockingPool {
    let options = BlockingOptions::new().threads_max(threads).queue_max(queue);
    BlockingPool::new(options)
}

/// A thread of a pool that is held until this is dropped.
struct Held {
    _end: Sender<()>,
    result: Blocking<()>,
}

fn hold(pool: &BlockingPool) -> Held {
    let ((begin, begun), (end, ended)) = (channel(), channel::<()>());
    let result = pool.spawn(move || {
        let _ = begin.send(());
        let _ = ended.recv();
    });
    begun.recv_timeout(WAIT).expect("it begins");
    Held { _end: end, result }
}

impl Held {
    fn end(self) {
        drop(self._end);
        block_on(self.result).expect("it ends");
    }
}

#[test]
fn a_closure_runs_beside_the_color_that_awaits_it() {
    bounded(|| {
        let rt = runtime(1);
        let log = rt.colored(Vec::new());
        let (end, ended) = channel::<()>();
        let there = log.clone();
        let task = log.spawn_with(async move |mut own: TaskState<Vec<&str>>| {
            let here = thread::current().id();
            let elsewhere = spawn_blocking(move || {
                // It ends after an event of the very color that waits for it.
                ended.recv().expect("the event ends it");
                (thread::current().id(), Color::current())
            });
            let posted = there.post(move |log, _| {
                log.push("event");
                let _ = end.send(());
            });
            posted.expect("it takes events");
            let (id, color) = elsewhere.await.expect("it runs");
            assert!(id != here && color.is_none());
            assert!(own.colored().is_current() && thread::current().id() == here);
            own.with(|log| log.push("result"));
        });
        task.wait().expect("it ends");
        assert_eq!(log.blocking_with(std::mem::take), ["event", "result"]);
    });
}

#[test]
fn there_are_no_more_threads_than_may_be() {
    bounded(|| {
        let pool = pool(3, 1000);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let runs: Vec<_> = (0..200)
            .map(|number| {
                let (now, most) = (Arc::clone(&now), Arc::clone(&most));
                pool.spawn(move || {
                    most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
                    thread::yield_now();
                    now.fetch_sub(1, Relaxed);
                    number
                })
            })
            .collect();
        assert!(pool.threads() <= 3);
        let results = block_on(join_all(runs));
        assert!(results.into_iter().eq((0..200).map(Ok)));
        assert!((1..=3).contains(&most.load(Relaxed)));
    });
}

#[test]
fn each_closure_has_a_thread_while_there_are_fewer_than_may_be() {
    bounded(|| {
        let pool = pool(4, 4);
        // They wait for each other.
        let barrier = Arc::new(std::sync::Barrier::new(4));
        let runs = (0..4).map(|_| {
            let barrier = Arc::clone(&barrier);
            pool.spawn(move || barrier.wait().is_leader())
        });
        for result in block_on(join_all(runs)) {
            result.expect("it runs");
        }
        assert_eq!(pool.threads(), 4);
    });
}

#[test]
fn who_comes_to_a_full_queue_waits_in_turn_or_is_refused() {
    bounded(|| {
        let (rt, pool) = (runtime(1), pool(1, 2));
        let held = hold(&pool);
        let order = Arc::new(Mutex::new(Vec::new()));
        let push = |number| {
            let order = Arc::clone(&order);
            move || order.lock().expect("no panic").push(number)
        };
        let queued = [pool.spawn(push(0)), pool.spawn(push(1))];
        let there = pool.clone();
        let late = [2, 3].map(push);
        let waits = rt.new_color().spawn(async move {
            let late = late.map(|push| there.spawn(push));
            let mut both = join_all(late);
            // They stand in line from now on.
            assert!(futures::poll!(&mut both).is_pending());
            let refused = there.try_spawn(|| 7).expect_err("it is full");
            assert!(matches!(&refused, BlockingRefused::Full(_)), "{refused:?}");
            assert_eq!((there.queued(), refused.into_closure()()), (2, 7));
            (both, there)
        });
        let (both, there) = waits.wait().expect("it ends");
        let polled = rt.new_color().spawn(both);
        held.end();
        for result in polled.wait().expect("it ends") {
            result.expect("it runs");
        }
        for result in queued {
            block_on(result).expect("it runs");
        }
        assert_eq!(*order.lock().expect("no panic"), [0, 1, 2, 3]);
        assert_eq!((there.queued(), there.threads()), (0, 1));
        let after = there.try_spawn(|| 7).expect("there is room");
        assert_eq!(block_on(after), Ok(7));
    });
}

#[test]
fn a_panic_is_told_and_ends_no_thread() {
    bounded(|| {
        let pool = pool(1, 10);
        let failed: Blocking<()> = pool.spawn(|| silent_panic());
        let told = BlockingError::Panicked("planted by a test".into());
        assert!(told.to_string().contains("planted by a test"));
        assert_eq!(block_on(failed), Err(told));
        struct Worse;
        impl Drop for Worse {
            fn drop(&mut self) {
                silent_panic();
            }
        }
        // A payload, a result and a closure that panic when they are dropped.
        let failed: Blocking<()> = pool.spawn(|| std::panic::resume_unwind(Box::new(Worse)));
        assert!(matches!(block_on(failed), Err(BlockingError::Panicked(_))));
        let held = hold(&pool);
        let worse = Worse;
        drop(pool.spawn(move || drop(worse)));
        let (tell, told) = channel::<()>();
        pool.try_spawn(move || {
            drop(tell);
            Worse
        })
        .expect("there is room")
        .detach()
        .expect("it is queued");
        held.end();
        assert_eq!(told.recv_timeout(WAIT), Err(RecvTimeoutError::Disconnected));
        assert_eq!(block_on(pool.spawn(|| 1)), Ok(1));
        assert_eq!(pool.threads(), 1);
    });
}

#[test]
fn a_future_that_is_dropped_takes_its_closure_back() {
    bounded(|| {
        let pool = pool(1, 2);
        let held = hold(&pool);
        for _ in 0..1000 {
            let (alive, is_dropped) = dropped();
            let queued = pool.try_spawn(move || drop(alive)).expect("there is room");
            assert!(pool.queued() == 1 && !is_dropped());
            drop(queued);
            assert!(pool.queued() == 0 && is_dropped());
        }
        // So does one that waits for room.
        let queued = [(); 2].map(|()| pool.try_spawn(|| ()).expect("there is room"));
        let (alive, is_dropped) = dropped();
        let mut waits = pool.spawn(move || drop(alive));
        assert!((&mut waits).now_or_never().is_none() && !is_dropped());
        let still = waits.detach();
        drop(still.expect_err("it waits for room"));
        assert!(is_dropped());
        held.end();
        for result in queued {
            block_on(result).expect("it runs");
        }
        assert_eq!(block_on(pool.spawn(|| 1)), Ok(1));
    });
}

#[test]
fn what_a_runtime_has_queued_ends_with_it() {
    bounded(|| {
        let (rt, pool) = (runtime(2), pool(1, 2));
        let held = hold(&pool);
        let ran = Arc::new(AtomicUsize::new(0));
        let mut all_dropped = Vec::new();
        for _ in 0..10 {
            let (alive, is_dropped) = dropped();
            all_dropped.push(is_dropped);
            let (there, ran) = (pool.clone(), Arc::clone(&ran));
            // Two are queued, the others wait for room.
            let task = rt.new_color().spawn(async move {
                let runs = there.spawn(move || {
                    ran.fetch_add(1, Relaxed);
                    drop(alive);
                });
                drop(there);
                runs.await
            });
            drop(task);
        }
        eventually("two are queued", || pool.queued() == 2);
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        assert!(all_dropped.iter().all(|is_dropped| is_dropped()));
        assert_eq!(pool.queued(), 0);
        held.end();
        assert_eq!(block_on(pool.spawn(|| 1)), Ok(1));
        assert_eq!(ran.load(Relaxed), 0, "dropped unrun");
    });
}

#[test]
fn a_runtime_does_not_wait_for_a_closure_that_runs() {
    bounded(|| {
        let (rt, pool) = (runtime(1), pool(1, 1));
        let ((begin, begun), (end, ended)) = (channel(), channel::<()>());
        let (alive, is_dropped) = dropped();
        let there = pool.clone();
        let task = rt.new_color().spawn(async move {
            let runs = there.spawn(move || {
                let _ = begin.send(());
                let _ = ended.recv();
                alive
            });
            drop(there);
            runs.await.map(drop)
        });
        begun.recv_timeout(WAIT).expect("it begins");
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        assert_eq!(task.wait(), Err(CallError::Dropped));
        assert!(!is_dropped(), "it runs");
        drop(end);
        eventually("its result is dropped", is_dropped);
    });
}

#[test]
fn a_pool_in_a_state_ends_with_the_runtime() {
    bounded(|| {
        let rt = runtime(1);
        let owner = rt.colored(pool(1, 10));
        let (tell, told) = channel();
        let (held, detached) = owner.blocking_with(|pool| {
            let held = hold(pool);
            let ran = tell.clone();
            let detached = pool.try_spawn(move || ran.send("ran"));
            (held, detached.expect("there is room").detach())
        });
        detached.expect("it is queued");
        let threads = owner.blocking_with(|pool| pool.threads());
        assert_eq!(threads, 1);
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        held.end();
        drop(tell);
        let unrun = Err(RecvTimeoutError::Disconnected);
        assert_eq!(told.recv_timeout(WAIT), unrun);
    });
}

#[test]
fn what_waits_for_a_pool_that_ends_is_told() {
    bounded(|| {
        let pool = pool(1, 1);
        let held = hold(&pool);
        let queued = pool.spawn(|| ());
        let mut waits = pool.spawn(|| ());
        assert!((&mut waits).now_or_never().is_none());
        drop(pool);
        assert_eq!(block_on(queued), Err(BlockingError::Ended));
        assert_eq!(block_on(waits), Err(BlockingError::Ended));
        held.end();
    });
}

#[test]
fn idle_threads_end() {
    bounded(|| {
        let options = BlockingOptions::new().keep_alive(Duration::from_millis(1));
        let pool = BlockingPool::new(options.clone());
        let runs = (0..20).map(|_| pool.spawn(|| ()));
        block_on(join_all(runs));
        eventually("all have ended", || pool.threads() == 0);
        assert_eq!(block_on(pool.spawn(|| 1)), Ok(1));
        // Fewer may be, from now on: those that wait for long as well.
        pool.set_options(options.clone().keep_alive(Duration::from_secs(3600)));
        let barrier = Arc::new(std::sync::Barrier::new(4));
        let waits = || {
            let barrier = Arc::clone(&barrier);
            pool.spawn(move || barrier.wait().is_leader())
        };
        block_on(join_all([(); 4].map(|()| waits())));
        assert!(pool.threads() >= 4);
        pool.set_options(options.threads_max(1).keep_alive(Duration::MAX));
        eventually("one is left", || pool.threads() == 1);
        assert_eq!(block_on(pool.spawn(|| 1)), Ok(1));
    });
}

#[test]
fn a_pool_that_has_less_to_do_has_fewer_threads() {
    bounded(|| {
        let pool = BlockingPool::new(BlockingOptions::new().keep_alive(Duration::from_millis(50)));
        let barrier = Arc::new(std::sync::Barrier::new(8));
        let runs = (0..8).map(|_| {
            let barrier = Arc::clone(&barrier);
            pool.spawn(move || barrier.wait().is_leader())
        });
        block_on(join_all(runs));
        assert_eq!(pool.threads(), 8);
        // One after the other: one thread is enough for them, and always the same.
        eventually("one is left", || {
            block_on(pool.spawn(|| ())).expect("it runs");
            pool.threads() == 1
        });
    });
}

#[test]
fn more_threads_come_when_more_may() {
    bounded(|| {
        let pool = pool(1, 10);
        let held = hold(&pool);
        let queued = pool.spawn(|| 7);
        pool.set_options(BlockingOptions::new().threads_max(2));
        assert_eq!(block_on(queued), Ok(7));
        held.end();
    });
}

#[test]
fn a_thread_runs_where_the_process_may() {
    alone("blocking::a_thread_runs_where_the_process_may", || {
        let before = mely::topology::allowed_cpus();
        let builder = Runtime::builder().workers(1).affinity(Affinity::Pinned);
        let rt = builder.build().expect("a runtime");
        let (worker, thread) = rt
            .new_color()
            .spawn(async {
                let there = spawn_blocking(mely::topology::allowed_cpus).await;
                (mely::topology::allowed_cpus(), there)
            })
            .wait()
            .expect("it ends");
        // The test itself runs on another thread than the first.
        assert_eq!((worker.len(), thread), (1, Ok(before)));
    });
}

#[test]
fn the_process_ends_while_closures_run() {
    alone("blocking::the_process_ends_while_closures_run", || {
        let rt = runtime(1);
        let (begin, begun) = channel();
        let task = rt.new_color().spawn(spawn_blocking(move || {
            let _ = begin.send(());
            loop {
                thread::park();
            }
        }));
        begun.recv_timeout(WAIT).expect("it begins");
        drop::<mely::Reply<Result<(), BlockingError>>>(task);
        drop(rt);
    });
}

/// Many threads come and go, queue, wait and leave: each closure that is awaited runs once,
/// and each that is not at most once.
#[test]
fn nothing_is_lost_in_a_crowd() {
    bounded(|| {
        let options = BlockingOptions::new().threads_max(2).queue_max(3);
        let pool = BlockingPool::new(options.keep_alive(Duration::from_micros(50)));
        let rt = runtime(2);
        let tasks: Vec<_> = (0..64_u64)
            .map(|task| {
                let pool = pool.clone();
                rt.new_color().spawn(async move {
                    let mut sum = 0;
                    for step in 0..50 {
                        let awaited = pool.spawn(move || step);
                        let mut left = pool.spawn(|| ());
                        if (task + step) % 3 == 0 {
                            let _ = futures::poll!(&mut left);
                        }
                        drop(left);
                        if step % 16 == 0 {
                            let nap = Duration::from_micros(100 * (task % 3));
                            sleep(nap).await.expect("a timer");
                        }
                        sum += awaited.await.expect("it runs");
                    }
                    sum
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.wait(), Ok(49 * 50 / 2));
        }
        assert_eq!(pool.queued(), 0);
        eventually("the threads end", || pool.threads() == 0);
    });
}

#[test]
fn a_waker_that_panics_ends_no_thread() {
    bounded(|| {
        struct Bomb;
        impl std::task::Wake for Bomb {
            fn wake(self: Arc<Self>) {
                silent_panic();
            }
        }
        let pool = pool(1, 10);
        let held = hold(&pool);
        let mut queued = pool.spawn(|| 7);
        let waker = Waker::from(Arc::new(Bomb));
        assert!(
            queued
                .poll_unpin(&mut Context::from_waker(&waker))
                .is_pending()
        );
        held.end();
        assert_eq!(block_on(pool.spawn(|| 1)), Ok(1));
        assert_eq!(block_on(&mut queued), Ok(7));
        assert_eq!(block_on(queued), Err(BlockingError::Ended), "it was taken");
    });
}

#[test]
fn a_lookup_that_panics_is_an_error() {
    struct Panics;
    impl std::net::ToSocketAddrs for Panics {
        type Iter = std::vec::IntoIter<std::net::SocketAddr>;
        fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
            silent_panic()
        }
    }
    let error = colored(|_| lookup_host(Panics)).expect_err("it panics");
    assert!(error.to_string().contains("planted by a test"), "{error}");
}

#[test]
fn the_shared_pool_takes_what_it_has_room_for() {
    let (tell, told): (_, Receiver<u32>) = channel();
    let sent = try_spawn_blocking(move || tell.send(7).is_ok());
    let sent = sent
        .map_err(|refused| refused.to_string())
        .expect("there is room");
    assert_eq!((block_on(sent), told.recv()), (Ok(true), Ok(7)));
}
