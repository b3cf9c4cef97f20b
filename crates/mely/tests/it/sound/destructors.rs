//! Destructors that post, panic, or end runtimes.

use std::future::poll_fn;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use mely::net::UnixStream;
use mely::{Color, Colored, Handler, OnPanic, Pending, Runtime};

use crate::support::{Gate, OpenOnDrop, Stress, WAIT, bounded, eventually, runtime, silent_panic};

static SHORT: Handler = Handler::new("sound::Short");

/// Posts to each of these when it is dropped.
struct Posts {
    to: Vec<Colored<()>>,
    run: Arc<AtomicU64>,
}

impl Drop for Posts {
    fn drop(&mut self) {
        for to in &self.to {
            let run = Arc::clone(&self.run);
            to.with_handler(&SHORT).post_or_shed(move |(), _| {
                run.fetch_add(1, SeqCst);
            });
        }
    }
}

/// A state that goes while the worker is about to sleep posts to a color of that worker:
/// somebody must look for it.
#[test]
fn what_a_destructor_posts_is_run() {
    let rounds = Stress::get().pick(500, 5_000, 100_000);
    for workers in [1, 2] {
        bounded("destructors post", move || {
            let rt = runtime(workers);
            let at = |worker| {
                rt.color_options()
                    .start_on(worker)
                    .new_color()
                    .expect("a worker")
            };
            let targets: Vec<_> = (0..workers).map(at).collect();
            let sources: Vec<_> = (0..workers).map(at).collect();
            let (sink, run) = (rt.colored(0u64), Arc::new(AtomicU64::new(0)));
            for _ in 0..500 {
                targets
                    .iter()
                    .for_each(|to| to.with_handler(&SHORT).post_or_shed(|(), _| ()));
            }
            rt.wait_idle();
            for round in 1..=rounds {
                let (to, run_there) = (targets.clone(), Arc::clone(&run));
                let dying = rt.colored(Posts { to, run: run_there });
                for source in &sources {
                    let sink = sink.clone();
                    source.with_handler(&SHORT).post_or_shed(move |(), _| {
                        sink.with_handler(&SHORT).post_or_shed(|n, _| *n += 1)
                    });
                }
                (0..round * 7 % 300).for_each(|_| std::hint::spin_loop());
                drop(dying);
                let end = Instant::now() + WAIT;
                while run.load(SeqCst) < round * workers as u64 {
                    assert!(Instant::now() < end, "what a destructor posted is not run");
                    std::hint::spin_loop();
                }
            }
        });
    }
}

/// Posts itself again whenever it is dropped unrun.
struct Again(Colored<()>, Arc<AtomicU64>);

impl Drop for Again {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
        let again = Again(self.0.clone(), Arc::clone(&self.1));
        self.0.post_or_shed(move |(), _| drop(again));
    }
}

#[test]
fn a_destructor_that_posts_to_its_poisoned_color_again_stops_nobody() {
    bounded("posts to a poisoned color", || {
        let builder = Runtime::builder().workers(1);
        let rt = builder
            .on_panic(OnPanic::PoisonColor)
            .build()
            .expect("a runtime");
        let (poisoned, other) = (rt.new_color(), rt.colored(0));
        let dropped = Arc::new(AtomicU64::new(0));
        poisoned.post_or_shed(|(), _| silent_panic());
        let again = Again(poisoned.clone(), Arc::clone(&dropped));
        poisoned.post_or_shed(move |(), _| drop(again));
        eventually("the event is dropped over and over", || {
            dropped.load(SeqCst) > 10
        });
        // The one worker goes on with other colors, and ends.
        assert_eq!(other.blocking_with(|n| *n + 1), 1);
        // At any moment its event may just have been dropped, and not been posted again.
        let report = rt
            .shutdown(Duration::ZERO)
            .unwrap_or_else(|error| error.report);
        assert!(report.held.is_empty(), "{report:?}");
    });
}

#[test]
fn a_destructor_that_posts_to_the_runtime_that_ended_comes_to_an_end() {
    bounded("posts after the end", || {
        let rt = runtime(1);
        let (color, dropped) = (rt.new_color(), Arc::new(AtomicU64::new(0)));
        drop(rt);
        drop(Again(color, Arc::clone(&dropped)));
        assert!(dropped.load(SeqCst) > 1);
    });
}

struct Bad;

impl Drop for Bad {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            silent_panic();
        }
    }
}

/// Comes again when it is dropped: as a task, or by a repeating timer.
#[derive(Clone)]
struct Phoenix(Arc<Nest>);

struct Nest {
    color: Color,
    dropped: AtomicU64,
    as_task: bool,
    /// Who might still wake it: it is not given up before the end.
    wakers: Mutex<Vec<Waker>>,
}

struct OnDrop(Phoenix);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.0.dropped.fetch_add(1, SeqCst);
        self.0.clone().fly();
    }
}

impl Phoenix {
    fn new(rt: &Runtime, as_task: bool) -> Self {
        Self(Arc::new(Nest {
            color: rt.new_color(),
            dropped: AtomicU64::new(0),
            as_task,
            wakers: Mutex::default(),
        }))
    }

    fn fly(self) {
        let nest = Arc::clone(&self.0);
        let (color, held) = (nest.color.clone(), OnDrop(self));
        if nest.as_task {
            drop(color.spawn(poll_fn(move |cx| {
                let _held = &held;
                nest.wakers.lock().expect("wakers").push(cx.waker().clone());
                Poll::<()>::Pending
            })));
        } else {
            let late = Duration::from_secs(3_600);
            drop(color.post_every(late, move |(), _| {
                let _held = &held;
            }));
        }
    }
}

/// What comes again whenever it is dropped: what the end refuses is forgotten at last.
#[test]
fn what_comes_again_when_it_is_dropped_comes_to_an_end() {
    for (as_task, stops) in [(true, false), (false, false), (true, true), (false, true)] {
        bounded("comes again", move || {
            let rt = runtime(1);
            let phoenix = Phoenix::new(&rt, as_task);
            phoenix.clone().fly();
            rt.wait_idle();
            if stops {
                phoenix.0.color.stop(Pending::Drop);
            } else {
                rt.shutdown(WAIT).expect("nothing holds the worker");
            }
            assert!(phoenix.0.dropped.load(SeqCst) > 0);
        });
    }
}

/// A chain of tasks, each of which the one before alone would wake, is as long as it likes.
#[test]
fn a_long_chain_of_tasks_goes_as_a_whole() {
    bounded("chain", || {
        let (rt, token) = (runtime(1), Arc::new(()));
        let chain = if cfg!(miri) { 200 } else { 5_000 };
        let mut last: Option<Waker> = None;
        for _ in 0..chain {
            let wakers = Arc::new(Mutex::new(None));
            let (leave, held) = (Arc::clone(&wakers), (Arc::clone(&token), last.take()));
            drop(rt.new_color().spawn(poll_fn(move |cx| {
                let _held = &held;
                *leave.lock().expect("wakers") = Some(cx.waker().clone());
                Poll::<()>::Pending
            })));
            eventually("it is polled", || {
                last = wakers.lock().expect("wakers").take();
                last.is_some()
            });
        }
        assert_eq!(Arc::strong_count(&token), chain + 1);
        drop(last);
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

/// The worker may be the last who has a watch: its descriptor was found ready just when
/// the watch ended.
#[test]
fn a_destructor_that_panics_in_the_last_of_a_watch_ends_no_worker() {
    static WATCH: Handler = Handler::new("sound::Watch");
    bounded("a watch with a bad end", || {
        let rt = runtime(1);
        let color = rt.colored(0u64);
        for round in 0..Stress::get().pick(300, 3_000, 30_000) {
            let (mut ours, theirs) = UnixStream::pair().expect("a pair of sockets");
            let bad = Bad;
            let watched = ours.watch(&color, &WATCH, move |n, _, _| {
                let _bad = &bad;
                *n += 1;
            });
            watched.expect("a watch");
            theirs.get_ref().write_all(b"x").expect("room for a byte");
            (0..round * 7 % 2_000).for_each(|_| std::hint::spin_loop());
            // Whoever is last: this thread, or the worker.
            let end = move || drop(ours);
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(end)));
        }
        color.blocking_with(|n| *n += 1);
    });
}

#[test]
fn a_worker_whose_last_color_owns_the_runtime_ends_it() {
    bounded("a runtime in a state", || {
        let rt = runtime(2);
        let token = Arc::new(());
        let _small = rt.numbered_color(1).attach(Arc::clone(&token));
        let owner = rt.colored(None);
        // Dropped with the state, after the event and before the next.
        owner.clone().post_or_shed(move |slot, _| *slot = Some(rt));
        drop(owner);
        eventually("the runtime has ended", || Arc::strong_count(&token) == 1);
    });
}

#[test]
fn a_slow_destructor_does_not_hold_up_a_shutdown() {
    struct Slow(Gate, Gate);
    impl Drop for Slow {
        fn drop(&mut self) {
            self.0.arrive();
            assert!(
                self.1.wait_for(1, 2 * WAIT),
                "the shutdown waits for a destructor"
            );
        }
    }
    for attached in [false, true] {
        bounded("a slow destructor", move || {
            let rt = runtime(2);
            let (began, goes_on) = (Gate::default(), Gate::default());
            let _open = OpenOnDrop(goes_on.clone());
            let slow = Slow(began.clone(), goes_on.clone());
            if attached {
                // Dropped at the very end.
                drop(rt.numbered_color(1).attach(slow));
            } else {
                rt.colored(slow).post_or_shed(|_, _| ());
                began.pass("the state is dropped by a worker");
            }
            let error = rt
                .shutdown(Duration::from_millis(1))
                .expect_err("it is not over");
            assert_eq!(error.report.held.len(), 1, "{error}");
        });
    }
}

#[test]
fn a_hundred_thousand_states_of_one_color_end() {
    bounded("many states", || {
        let rt = runtime(1);
        let (color, token) = (rt.new_color(), Arc::new(()));
        (0..100_000).for_each(|_| drop(color.attach(Arc::clone(&token))));
        drop(color);
        eventually("all are dropped", || Arc::strong_count(&token) == 1);
    });
}

#[test]
fn a_hundred_thousand_colors_that_own_each_other_end() {
    struct Next {
        next: Option<Colored<Next>>,
        _token: Arc<()>,
    }
    bounded("a list of colors", || {
        let rt = runtime(1);
        let token = Arc::new(());
        let next = |next| Next {
            next,
            _token: Arc::clone(&token),
        };
        let mut list = rt.colored(next(None));
        for _ in 0..100_000 {
            list = rt.colored(next(Some(list)));
        }
        list.blocking_with(|next| assert!(next.next.is_some()));
        drop(list);
        eventually("all are dropped", || Arc::strong_count(&token) == 1);
    });
}
