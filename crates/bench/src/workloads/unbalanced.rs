//! U: rounds of 50 000 independent events that one worker posts; few are long.
//!
//! The paper's first microbenchmark (seed 000, section V-B): 98 % of the events take
//! 100 cycles, the others 10 000 to 50 000. Everything that is not done by the
//! posting worker has been stolen, and only the long events are worth that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mely::{Context, Handle, Handler};

use crate::contenders::runtimes::{Fresh, Mely, Rayon, Tasks};
use crate::measure::measured::{Measured, Window};
use crate::measure::random::Random;
use crate::measure::rounds::Rounds;
use crate::measure::spin::spin;
use crate::measure::tally;
use crate::measure::{Failure, Outcome, Run};

pub(super) const EVENTS: usize = 50_000;
pub(crate) const SHORT_CYCLES: u32 = 100;

/// Events that each thread of a floor takes at a time.
pub(super) const CHUNK: usize = 64;

pub(super) static ROUND: Handler = Handler::new("bench::round");
pub(super) static SHORT: Handler = Handler::new("bench::short");
pub(super) static LONG: Handler = Handler::new("bench::long");

/// The cycles of each event of a round, in the order in which they are posted.
pub(crate) fn costs() -> Arc<[u32]> {
    let mut random = Random::new(1);
    let mut cost = || match random.below(100) {
        0..98 => SHORT_CYCLES,
        _ => 10_000 + random.below(40_001),
    };
    (0..EVENTS).map(|_| cost()).collect()
}

#[inline]
pub(super) fn event(cycles: u32) {
    spin(cycles);
    tally::count();
}

/// Says between two rounds whether another one shall begin.
trait Another: Send + Sync + 'static {
    fn another(&self, handle: &Handle) -> bool;
}

impl Another for Rounds {
    fn another(&self, _handle: &Handle) -> bool {
        self.another(EVENTS as u64)
    }
}

impl Another for Window {
    fn another(&self, handle: &Handle) -> bool {
        self.another(handle)
    }
}

struct Poster<A> {
    costs: Arc<[u32]>,
    rounds: Arc<A>,
    goal: u64,
}

impl<A: Another> Poster<A> {
    fn begin(&mut self, cx: &mut Context<'_, Self>) {
        self.goal = tally::total() + EVENTS as u64;
        for &cycles in &self.costs[..] {
            // Two handlers, as in the paper; what they cost is not said.
            match cycles {
                SHORT_CYCLES => cx
                    .with_handler(&SHORT)
                    .post_parallel(|_, _| event(SHORT_CYCLES)),
                _ => cx
                    .with_handler(&LONG)
                    .post_parallel(move |_, _| event(cycles)),
            }
        }
        cx.with_handler(&ROUND).post_or_shed(Self::wait);
    }

    fn wait(&mut self, cx: &mut Context<'_, Self>) {
        if tally::total() < self.goal {
            cx.with_handler(&ROUND).post_or_shed(Self::wait);
        } else if self.rounds.another(&cx.handle()) {
            self.begin(cx);
        }
    }

    fn start(runtime: &Mely, rounds: Arc<A>) -> Result<(), Failure> {
        let poster = runtime.0.color_options().pin_to(0).colored(Poster {
            costs: costs(),
            rounds,
            goal: 0,
        })?;
        poster.with_handler(&ROUND).post_or_shed(Poster::begin);
        Ok(())
    }
}

/// Each event has a fresh color.
impl Fresh for Mely {
    fn unbalanced(&self, run: &Run) -> Result<Outcome, Failure> {
        let (rounds, outcome) = Rounds::new(run.time);
        Poster::start(self, rounds)?;
        Ok(outcome.recv()?)
    }
}

/// The same, and what the runtime's own metrics say of it.
pub(crate) fn with_metrics(runtime: &Mely, run: &Run) -> Result<Measured, Failure> {
    static COUNTED: [&str; 2] = [SHORT.name(), LONG.name()];
    let (window, outcome) = Window::new(run.time, &COUNTED);
    Poster::start(runtime, window)?;
    outcome.wait()
}

/// Each event is a task.
impl<R: Tasks> Fresh for R {
    fn unbalanced(&self, run: &Run) -> Result<Outcome, Failure> {
        let (rounds, outcome) = Rounds::new(run.time);
        let costs = costs();
        let runtime = self.clone();
        self.spawn(async move {
            loop {
                let goal = tally::total() + EVENTS as u64;
                for &cycles in &costs[..] {
                    runtime.spawn(async move { event(cycles) });
                }
                while tally::total() < goal {
                    R::yield_now().await;
                }
                if !rounds.another(EVENTS as u64) {
                    break;
                }
            }
        });
        Ok(outcome.recv()?)
    }
}

/// Each event is a job of a scope, which runs others while it waits for them all.
impl Fresh for Rayon {
    fn unbalanced(&self, run: &Run) -> Result<Outcome, Failure> {
        let (rounds, outcome) = Rounds::new(run.time);
        let costs = costs();
        self.pool.install(|| {
            loop {
                rayon::scope(|scope| {
                    for &cycles in &costs[..] {
                        scope.spawn(move |_| event(cycles));
                    }
                });
                if !rounds.another(EVENTS as u64) {
                    break;
                }
            }
        });
        Ok(outcome.recv()?)
    }
}

/// Threads take calls from an array, some at a time: nobody posts, nobody steals.
pub(super) fn floor(run: &Run) -> Result<Outcome, Failure> {
    let costs = costs();
    deal_out(run, |at| event(costs[at]))
}

/// Runs rounds in which threads deal out the numbers of events, some at a time.
pub(super) fn deal_out(run: &Run, event: impl Fn(usize) + Sync) -> Result<Outcome, Failure> {
    let (rounds, outcome) = Rounds::new(run.time);
    let next = AtomicUsize::new(0);
    super::in_step(
        run.workers,
        |_| {
            loop {
                // Relaxed: it only deals out numbers; the barriers between the rounds
                // order everything else.
                let first = next.fetch_add(CHUNK, Ordering::Relaxed);
                if first >= EVENTS {
                    break;
                }
                (first..EVENTS.min(first + CHUNK)).for_each(&event);
            }
        },
        || {
            next.store(0, Ordering::Relaxed);
            rounds.another(EVENTS as u64)
        },
    );
    Ok(outcome.recv()?)
}
