//! Models of the protocols between threads, checked in every interleaving (up to
//! `LOOM_MAX_PREEMPTIONS` preemptions): `cargo xtask loom`.
//!
//! The models run the real color cells, mailboxes, idle counts and
//! `Worker::step`; only the clock and the place where a worker sleeps are loom's.
//! A lost wake-up shows as a deadlock, two owners of a color as a race on the
//! counter that stands for its state.

mod bits;
mod claimed;
mod colors;
mod endings;
mod fifo;
mod held;
mod lives;
mod replies;
mod sections;
mod slabs;
mod tasks;
mod timers;
mod watched;

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use loom::sync::Condvar;
use loom::thread;
use mely_sched::Policy;

use self::watched::{Counted, Drops, Gate, Watched};
use crate::cell::Traits;
use crate::color::Colored;
use crate::event::NodePool;
use crate::machine::clock::Clock;
use crate::machine::driver::{Driver, ReadyList};
use crate::machine::sync::{Arc, Mutex, lock};
use crate::runtime::Handle;
use crate::runtime::builder::Builder;
use crate::shared::remote::Remote;
use crate::shared::{ColorRef, OwnedColor, Phase, Shared};
use crate::worker::{Frame, Step, Worker, run_worker};

/// A clock that stands still: time is not what is modelled.
struct StillClock(Instant);

impl Clock for StillClock {
    fn now(&self) -> Instant {
        self.0
    }

    fn cycles(&self) -> u64 {
        0
    }
}

/// Sleeps on a condition variable of loom's, which reports a deadlock when nobody
/// will ever wake it.
struct LoomDriver {
    woken: Mutex<bool>,
    wake: Condvar,
}

impl LoomDriver {
    fn new() -> Self {
        Self {
            woken: Mutex::new(false),
            wake: Condvar::new(),
        }
    }
}

impl Driver for LoomDriver {
    fn wait(&self, _ready: &mut ReadyList, timeout: Option<Duration>) {
        let mut woken = lock(&self.woken);
        // The clock stands still: what is not due now never will be.
        while !*woken && timeout != Some(Duration::ZERO) {
            woken = crate::machine::sync::unpoison(self.wake.wait(woken));
        }
        *woken = false;
    }

    fn wake(&self) {
        *lock(&self.woken) = true;
        self.wake.notify_one();
    }

    fn has_sources(&self) -> bool {
        false
    }
}

fn shared(workers: usize) -> Arc<Shared> {
    shared_under(Policy::default(), workers)
}

fn shared_under(policy: Policy, workers: usize) -> Arc<Shared> {
    let config = Builder::default().policy(policy).into_config(workers);
    let remote = |_| Arc::new(Remote::new(Box::new(LoomDriver::new()), None, false));
    let remotes = (0..workers).map(remote).collect();
    Arc::new(Shared::new(
        config,
        Arc::new(StillClock(Instant::now())),
        remotes,
    ))
}

fn colored<T: Send + 'static>(shared: &Arc<Shared>, home: usize, state: T) -> Colored<T> {
    let traits = Traits {
        pinned: false,
        ..shared.default_traits(home)
    };
    Colored::new(ColorRef::new(None, shared, 1, traits), state)
}

/// How long the search of a model with two workers takes at the most.
const SEARCH_MAX: Duration = Duration::from_secs(60);

/// Models with two whole workers have many more steps: one preemption fewer than
/// `LOOM_MAX_PREEMPTIONS` (default 2) keeps them within a minute, and a deeper search
/// ends after [`SEARCH_MAX`].
fn model_of_two(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_duration = Some(SEARCH_MAX);
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(2).saturating_sub(1));
    builder.check(model);
}

fn start(shared: &Arc<Shared>, index: usize) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    let victims = (0..shared.remotes.len()).filter(|&v| v != index).collect();
    thread::spawn(move || run_worker(&Worker::new(shared, index, victims)))
}

fn stop(shared: &Arc<Shared>, workers: Vec<thread::JoinHandle<()>>) {
    shared.enter(Phase::Stopped);
    for worker in workers {
        worker.join().unwrap();
    }
    // What loom finds in a handler ends up as a panic of the program.
    let panics = |remote: &Arc<Remote>| remote.counts.panics.get();
    assert_eq!(shared.remotes.iter().map(panics).sum::<u64>(), 0);
    assert!(
        shared.is_quiescent(),
        "posted = run + shed + cancelled + abandoned"
    );
}

/// Two threads post to one color; whoever opens it runs it. Nobody runs it beside
/// the other, nothing is lost, and each keeps its order.
#[test]
fn loom_color_has_one_owner() {
    loom::model(|| {
        let shared = shared(2);
        let color = colored(&shared, 0, Watched::new());
        let other = color.clone();
        let poster = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let worker = lone_worker(&shared, 1);
                for value in [10, 11] {
                    if let Some(owned) = deliver(&other, value) {
                        run_to_the_end(&worker, owned);
                    }
                }
            })
        };
        let worker = lone_worker(&shared, 0);
        if let Some(owned) = deliver(&color, 20) {
            run_to_the_end(&worker, owned);
        }
        poster.join().unwrap();
        // By now everything has run: post one more that looks.
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let look = Arc::clone(&seen);
        let event = new_event(&color, move |state: &mut Watched| {
            *look.lock().unwrap() = state.values();
        });
        let owned = color.color_ref().deliver(event).ok().flatten();
        run_to_the_end(&worker, owned.expect("the color is idle"));
        let seen = seen.lock().unwrap().clone();
        let of = |from| {
            seen.iter()
                .copied()
                .filter(|v| v / 10 == from)
                .collect::<Vec<_>>()
        };
        assert_eq!((of(1), of(2)), (vec![10, 11], vec![20]));
    });
}

fn new_event(
    color: &Colored<Watched>,
    call: impl FnOnce(&mut Watched) + Send + 'static,
) -> crate::event::Event {
    color.new_event(move |state, _cx| call(state))
}

fn deliver(color: &Colored<Watched>, value: u32) -> Option<OwnedColor> {
    let event = new_event(color, move |state| {
        state.add(value);
    });
    // Half of them by the way that threads outside take.
    let delivered = match value % 2 {
        0 => color.color_ref().deliver(event),
        _ => color.color_ref().deliver_unweighed(event),
    };
    delivered.ok().flatten()
}

/// A worker that no thread runs, and that steals from nobody.
fn lone_worker(shared: &Arc<Shared>, index: usize) -> Worker {
    Worker::new(Arc::clone(shared), index, Box::new([]))
}

/// Runs the events of a color until it can be released.
#[allow(unsafe_code)]
fn run_to_the_end(worker: &Worker, mut owned: OwnedColor) {
    let nodes = NodePool::new(&worker.shared().free_nodes);
    loop {
        while let Some(event) = owned.pop(|_| ()) {
            let color = &owned;
            let frame = Frame { worker, color };
            // SAFETY: the color is owned here.
            unsafe { event.run(&nodes, frame.place()) };
        }
        match owned.release_anywhere() {
            Ok(()) => return,
            // What is pending is not run.
            Err(stopped) if stopped.is_stopped() => return drop(stopped),
            Err(again) => owned = again,
        }
    }
}

/// A worker that goes to sleep and a thread that posts: the worker always wakes.
#[test]
fn loom_post_wakes_a_sleeping_worker() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let gate = Gate::new();
        for value in [1, 2] {
            let gate = Arc::clone(&gate);
            color.post_or_shed(move |state, _cx| {
                state.add(value);
                gate.pass();
            });
        }
        gate.wait_for(2);
        drop(color);
        stop(&shared, vec![worker]);
    });
}

/// Two threads post to one color of a worker.
#[test]
fn loom_two_posters_one_worker() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let gate = Gate::new();
        let post = |color: &Colored<Watched>, gate: &Arc<Gate>, value| {
            let gate = Arc::clone(gate);
            color.post_or_shed(move |state, _cx| {
                state.add(value);
                gate.pass();
            });
        };
        let (color2, gate2) = (color.clone(), Arc::clone(&gate));
        let poster = thread::spawn(move || post(&color2, &gate2, 1));
        post(&color, &gate, 2);
        gate.wait_for(2);
        poster.join().unwrap();
        drop(color);
        stop(&shared, vec![worker]);
    });
}

/// A worker is held by an event that ends only when an event of another color of
/// the same worker has run: somebody else must be awake, or woken, to steal it.
#[test]
fn loom_work_behind_a_long_event_is_stolen() {
    model_of_two(|| work_behind_a_long_event(Policy::Adaptive));
}

fn work_behind_a_long_event(policy: Policy) {
    let shared = shared_under(policy, 2);
    let workers = vec![start(&shared, 0), start(&shared, 1)];
    let (held, waiting) = (colored(&shared, 0, ()), colored(&shared, 0, Watched::new()));
    let (gate, done) = (Gate::new(), Gate::new());
    let (gate_held, done_held) = (Arc::clone(&gate), Arc::clone(&done));
    held.post_or_shed(move |(), _cx| {
        gate_held.wait_for(1);
        done_held.pass();
    });
    let gate_waiting = Arc::clone(&gate);
    waiting.post_or_shed(move |state, _cx| {
        state.add(1);
        gate_waiting.pass();
    });
    done.wait_for(1);
    drop((held, waiting));
    stop(&shared, workers);
}

/// An event posts to a color that lives on another worker, which sleeps or not.
#[test]
fn loom_post_across_workers() {
    model_of_two(|| {
        let shared = shared(2);
        let workers = vec![start(&shared, 0), start(&shared, 1)];
        let (from, to) = (colored(&shared, 0, ()), colored(&shared, 1, Watched::new()));
        let gate = Gate::new();
        let (to_there, gate_there) = (to.clone(), Arc::clone(&gate));
        from.post_or_shed(move |(), _cx| {
            to_there.post_or_shed(move |state, _cx| {
                state.add(1);
                gate_there.pass();
            });
        });
        gate.wait_for(1);
        drop((from, to));
        stop(&shared, workers);
    });
}

/// A shutdown at any moment leaves nothing behind.
#[test]
fn loom_stop_while_posting() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let poster = thread::spawn(move || {
            color.post_or_shed(|state, _cx| {
                state.add(1);
            });
        });
        shared.enter(Phase::Stopped);
        worker.join().unwrap();
        poster.join().unwrap();
        let _ = Handle::new(Arc::clone(&shared));
        assert!(shared.is_quiescent());
    });
}
