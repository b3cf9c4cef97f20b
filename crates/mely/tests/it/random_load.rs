//! Randomised load with all checkers on: every policy, from one worker to more than
//! there are cores.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use mely::{Colored, Context, Handle, Handler, OnPanic, Policy, Runtime, Timer};

use crate::checkers::{
    ExactlyOnce, Faults, Producer, ProducerOrder, Serial, Stamp, Token, conserved,
};
use crate::support::{LIMIT, Stress, bounded, holds, settle, silent_panic};

static NAMED: Handler = Handler::new("random_load::Named");
static HEAVY: Handler = Handler::new("random_load::Heavy")
    .cost_cycles(100_000)
    .penalty(10);

const PRODUCERS: usize = 3;

/// What a color of the load owns.
struct Cell {
    serial: Arc<Serial>,
    order: ProducerOrder,
    /// Not atomic: a race detector sees two events at once.
    events: u64,
    /// Counted when dropped.
    dropped: Arc<AtomicU64>,
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Relaxed);
    }
}

/// A load and all that watches it.
struct Load {
    handle: Handle,
    faults: Arc<Faults>,
    once: Arc<ExactlyOnce>,
    /// One for each thread that posts: the producers, then the workers.
    producers: Vec<Producer>,
    colors: Vec<Mutex<Colored<Cell>>>,
    bounded: Vec<Colored<Cell>>,
    cells_made: AtomicU64,
    cells_dropped: Arc<AtomicU64>,
    cancelled: Mutex<Vec<usize>>,
    panics: AtomicU64,
    timers: Mutex<Vec<(Timer, usize)>>,
}

impl Load {
    fn new(handle: &Handle, events_max: usize, rng: &mut Rng) -> Arc<Self> {
        let workers = handle.workers();
        let mut load = Self {
            handle: handle.clone(),
            faults: Arc::default(),
            once: ExactlyOnce::new(events_max),
            producers: (0..PRODUCERS + workers).map(Producer::new).collect(),
            colors: Vec::new(),
            bounded: Vec::new(),
            cells_made: AtomicU64::new(0),
            cells_dropped: Arc::default(),
            cancelled: Mutex::default(),
            panics: AtomicU64::new(0),
            timers: Mutex::default(),
        };
        for number in 0..24u16 {
            let worker = rng.usize(..workers);
            let (cell, options) = (load.cell(), handle.color_options());
            let color = match number % 4 {
                0 => Ok(handle.numbered_color(number).attach(cell)),
                1 => options.pin_to(worker).colored(cell),
                2 => options.start_on(worker).colored(cell),
                _ => Ok(handle.colored(cell)),
            };
            load.colors.push(Mutex::new(color.expect("such a worker")));
        }
        for capacity in [1, 4, 64] {
            let cell = load.cell();
            let color = handle.color_options().capacity(capacity).colored(cell);
            load.bounded.push(color.expect("no home was asked for"));
        }
        Arc::new(load)
    }

    fn cell(&self) -> Cell {
        self.cells_made.fetch_add(1, Relaxed);
        Cell {
            serial: Arc::new(Serial::new(&self.faults)),
            order: ProducerOrder::new(&self.faults),
            events: 0,
            dropped: Arc::clone(&self.cells_dropped),
        }
    }

    fn some_color(&self, rng: &mut Rng) -> Colored<Cell> {
        let slot = &self.colors[rng.usize(..self.colors.len())];
        let mut color = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if rng.u8(..) < 8 {
            // The last reference but those of its events: the color ends early.
            *color = self.handle.colored(self.cell());
        }
        color.clone()
    }

    /// Does one random thing, on the thread of `producer`.
    fn act(self: &Arc<Self>, producer: usize, depth: u8, rng: &mut Rng) {
        let color = self.some_color(rng);
        let Some(token) = self.once.token() else {
            return;
        };
        let (load, seed) = (Arc::clone(self), rng.u64(..));
        let from = &self.producers[producer];
        match rng.u8(..100) {
            0..50 => {
                let stamp = from.stamp();
                color.post_or_shed(move |cell, cx| {
                    load.run(cell, cx, Some(stamp), token, depth, seed)
                });
            }
            50..60 => {
                let handler = if rng.bool() { &NAMED } else { &HEAVY };
                let stamp = from.stamp();
                let via = color.with_handler(handler);
                via.post_or_shed(move |cell, cx| {
                    load.run(cell, cx, Some(stamp), token, depth, seed)
                });
            }
            60..70 => {
                let color = &self.bounded[rng.usize(..self.bounded.len())];
                let stamp = from.stamp();
                let posted =
                    color.post(move |cell, cx| load.run(cell, cx, Some(stamp), token, depth, seed));
                drop(posted.map_err(mely::PostError::into_event));
            }
            70..82 => self.set_timer(&color, token, depth, rng),
            82..90 => {
                let stamp = from.stamp();
                let reply =
                    color.call(move |cell, cx| load.run(cell, cx, Some(stamp), token, depth, seed));
                // Dropping the reply does not take the event back.
                drop(reply);
            }
            _ => {
                // A task: a call to one color, awaited under another.
                let stamp = from.stamp();
                let inner =
                    color.call(move |cell, cx| load.run(cell, cx, Some(stamp), token, depth, seed));
                drop(
                    self.some_color(rng)
                        .spawn(async move { inner.await.is_ok() }),
                );
            }
        }
    }

    fn set_timer(self: &Arc<Self>, color: &Colored<Cell>, token: Token, depth: u8, rng: &mut Rng) {
        let (load, seed, id) = (Arc::clone(self), rng.u64(..), token.id());
        let delay = Duration::from_micros(rng.u64(..2_000));
        let timer = color.post_after(delay, move |cell, cx| {
            load.run(cell, cx, None, token, depth, seed);
        });
        let mut timers = self.timers.lock().unwrap_or_else(PoisonError::into_inner);
        timers.push((timer, id));
        if rng.bool() {
            let at = rng.usize(..timers.len());
            let (timer, id) = timers.swap_remove(at);
            drop(timers);
            if timer.cancel() {
                let mut all = self
                    .cancelled
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                all.push(id);
            }
        }
    }

    /// The body of every event.
    fn run(
        self: &Arc<Self>,
        cell: &mut Cell,
        cx: &mut Context<'_, Cell>,
        stamp: Option<Stamp>,
        token: Token,
        depth: u8,
        seed: u64,
    ) {
        let serial = Arc::clone(&cell.serial);
        let _inside = serial.enter();
        cell.events += 1;
        if let Some(stamp) = stamp {
            cell.order.ran(stamp);
        }
        token.ran();
        let mut rng = Rng::with_seed(seed);
        let here = PRODUCERS + cx.worker();
        if depth > 0 {
            for _ in 0..rng.usize(..3) {
                self.act(here, depth - 1, &mut rng);
            }
            self.post_to_self(here, depth - 1, cx, &mut rng);
        }
        for _ in 0..rng.u32(..50) {
            std::hint::spin_loop();
        }
        if rng.u8(..) < 8 {
            self.panics.fetch_add(1, Relaxed);
            silent_panic();
        }
    }

    fn post_to_self(
        self: &Arc<Self>,
        here: usize,
        depth: u8,
        cx: &mut Context<'_, Cell>,
        rng: &mut Rng,
    ) {
        if rng.u8(..) < 64
            && let Some(token) = self.once.token()
        {
            let (load, stamp, seed) = (Arc::clone(self), self.producers[here].stamp(), rng.u64(..));
            cx.post_or_shed(move |cell, cx| load.run(cell, cx, Some(stamp), token, depth, seed));
        }
    }

    /// What one producer thread does.
    fn produce(self: &Arc<Self>, producer: usize, actions: usize, rng: &mut Rng) {
        for _ in 0..actions {
            match rng.u8(..100) {
                0..3 => self.section(producer, rng),
                _ => self.act(producer, 3, rng),
            }
        }
    }

    /// A critical section that borrows, or waits for a call.
    fn section(self: &Arc<Self>, producer: usize, rng: &mut Rng) {
        let color = self.some_color(rng);
        let stamp = self.producers[producer].stamp();
        let mut seen = 0;
        let section = |cell: &mut Cell| {
            let _inside = cell.serial.enter();
            cell.order.ran(stamp);
            cell.events += 1;
            seen = cell.events;
        };
        if let Err(error) = color.try_blocking_with(section) {
            self.faults.add(format!("with: {error}"));
        }
        let reply = color.call(|cell, _| cell.events);
        match reply.wait() {
            Ok(events) if events >= seen => {}
            other => self
                .faults
                .add(format!("call after with {seen}: {other:?}")),
        }
    }
}

/// Whether the load ends before the shutdown, or by it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Settled,
    Draining,
}

fn load(workers: usize, policy: Policy, seed: u64) {
    let stress = Stress::get();
    let mut rng = Rng::with_seed(seed);
    let rt = Runtime::builder()
        .on_panic(OnPanic::Continue)
        .workers(workers)
        .policy(policy)
        .batch_threshold(rng.u32(1..12))
        .nodes_max(rng.usize(..64))
        .build()
        .expect("a runtime");
    let actions = stress.pick(60, 250, 5_000);
    let load = Load::new(&rt, actions * 100, &mut rng);
    let start = Arc::new(Barrier::new(PRODUCERS));
    let threads: Vec<_> = (0..PRODUCERS)
        .map(|producer| {
            let (load, start, mut rng) = (Arc::clone(&load), Arc::clone(&start), rng.fork());
            thread::spawn(move || {
                start.wait();
                load.produce(producer, actions, &mut rng);
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("a producer ends");
    }
    let end = if rng.bool() {
        End::Settled
    } else {
        End::Draining
    };
    if end == End::Settled {
        settle(&rt);
        let metrics = rt.metrics();
        holds(conserved(&metrics.events));
        assert_eq!(metrics.events.abandoned, 0);
        let panics = load.panics.load(Relaxed);
        assert_eq!(metrics.total(|w| w.panics), panics);
        assert!(load.once.ran() <= metrics.events.run);
    }
    let handle = rt.clone();
    let report = rt.shutdown(LIMIT).expect("everything has run");
    judge(&load, &handle, report.events_run, end);
    end_of_states(load, handle);
}

fn judge(load: &Load, handle: &Handle, events_run: u64, end: End) {
    let events = handle.metrics().events;
    holds(conserved(&events));
    assert_eq!(events.run, events_run);
    holds(load.once.verdict());
    holds(load.faults.verdict());
    assert!(load.once.ran() <= events.run);
    let refused = events.shed + events.cancelled + events.abandoned;
    assert!(load.once.dropped() <= refused, "{events:?}");
    if end == End::Settled {
        assert_eq!(events.abandoned, 0, "{events:?}");
    }
    let cancelled = load
        .cancelled
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    for &id in &*cancelled {
        assert!(load.once.was_dropped(id), "a cancelled event has run");
    }
}

/// Nothing keeps the states alive once the last reference is gone.
fn end_of_states(load: Arc<Load>, handle: Handle) {
    let (made, dropped) = (load.cells_made.load(Relaxed), load.cells_dropped.clone());
    let load = Arc::into_inner(load).expect("no event is left that refers to the load");
    drop((load, handle));
    assert_eq!(dropped.load(Relaxed), made, "states leak");
}

fn loads(workers: usize) {
    let replay = std::env::var("MELY_SEED").ok().and_then(|s| s.parse().ok());
    for (policy, at) in Policy::ALL.into_iter().zip(0..) {
        for round in 0..Stress::get().pick(1, 2, 20) {
            let seed = replay.unwrap_or(1_000 * round + 10 * at + workers as u64);
            let run = || bounded("a load", move || load(workers, policy, seed));
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                eprintln!("failed: {workers} workers, {policy}, MELY_SEED={seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[test]
fn load_on_one_worker() {
    loads(1);
}

#[test]
fn load_on_two_workers() {
    loads(2);
}

#[test]
fn load_on_eight_workers() {
    loads(8);
}

#[test]
fn load_on_sixty_four_workers() {
    loads(64);
}

/// Nothing but the runtime orders what happens here: a race detector sees every
/// happens-before that the runtime forgets.
fn bare(workers: usize, policy: Policy) {
    let rt = Runtime::builder().workers(workers).policy(policy).build();
    let rt = rt.expect("a runtime");
    let colors: Arc<[Colored<u64>]> = (0..32).map(|_| rt.colored(0)).collect();
    fn hop(left: u32, seed: u64, colors: &Arc<[Colored<u64>]>) {
        let mut rng = Rng::with_seed(seed);
        let next = rng.usize(..colors.len());
        let (seed, others) = (rng.u64(..), Arc::clone(colors));
        colors[next].post_or_shed(move |count, _| {
            *count += 1;
            if left > 0 {
                hop(left - 1, seed, &others);
            }
        });
    }
    let (chains, hops) = (60, Stress::get().pick(20, 60, 2_000));
    thread::scope(|scope| {
        for producer in 0..PRODUCERS as u64 {
            let colors = &colors;
            scope.spawn(move || {
                for chain in 0..chains {
                    hop(hops - 1, producer * chains + chain, colors);
                }
            });
        }
    });
    settle(&rt);
    let counted: u64 = colors
        .iter()
        .map(|color| color.blocking_with(|count| *count))
        .sum();
    assert_eq!(counted, PRODUCERS as u64 * chains * u64::from(hops));
}

#[test]
fn states_need_no_other_order_than_the_runtimes() {
    for policy in Policy::ALL {
        for workers in [1, 2, 8] {
            bounded("a bare load", move || bare(workers, policy));
        }
    }
}
