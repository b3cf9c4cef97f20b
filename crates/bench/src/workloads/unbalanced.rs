//! U: rounds of 50 000 independent events that one worker posts; few are long.
//!
//! The paper's first microbenchmark (seed 000, section V-B): 98 % of the events take
//! 100 cycles, the others 10 000 to 50 000. Everything that is not done by the
//! posting worker has been stolen, and only the long events are worth that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mely::{Context, Handler, Policy};

use super::{Failure, Run, mely_runtime, tokio_runtime};
use crate::random::Random;
use crate::rounds::Rounds;
use crate::spin::spin;
use crate::{Outcome, tally};

const EVENTS: usize = 50_000;
const SHORT_CYCLES: u32 = 100;

static ROUND: Handler = Handler::new("bench::round");
static SHORT: Handler = Handler::new("bench::short");
static LONG: Handler = Handler::new("bench::long");

/// The cycles of each event of a round, in the order in which they are posted.
fn costs() -> Arc<[u32]> {
    let mut random = Random::new(1);
    let mut cost = || match random.below(100) {
        0..98 => SHORT_CYCLES,
        _ => 10_000 + random.below(40_001),
    };
    (0..EVENTS).map(|_| cost()).collect()
}

#[inline]
fn event(cycles: u32) {
    spin(cycles);
    tally::count();
}

struct Poster {
    costs: Arc<[u32]>,
    rounds: Arc<Rounds>,
    goal: u64,
}

impl Poster {
    fn begin(&mut self, cx: &mut Context<'_, Self>) {
        self.goal = tally::total() + EVENTS as u64;
        for &cycles in &self.costs[..] {
            // Two handlers, as in the paper; what they cost is not said.
            match cycles {
                SHORT_CYCLES => cx.post_fresh_via(&SHORT, |_, _| event(SHORT_CYCLES)),
                _ => cx.post_fresh_via(&LONG, move |_, _| event(cycles)),
            }
        }
        cx.post_via(&ROUND, Self::wait);
    }

    fn wait(&mut self, cx: &mut Context<'_, Self>) {
        if tally::total() < self.goal {
            cx.post_via(&ROUND, Self::wait);
        } else if self.rounds.another(EVENTS as u64) {
            self.begin(cx);
        }
    }
}

/// Each event has a fresh color.
pub(super) fn mely(policy: Policy, run: &Run) -> Result<Outcome, Failure> {
    let rt = mely_runtime(policy, run)?;
    let (rounds, outcome) = Rounds::new(run.time);
    let poster = rt.color_options().pinned(0).colored(Poster {
        costs: costs(),
        rounds,
        goal: 0,
    })?;
    poster.via(&ROUND).post(Poster::begin);
    Ok(outcome.recv()?)
}

/// Each event is a task.
pub(super) fn tokio(run: &Run) -> Result<Outcome, Failure> {
    let rt = tokio_runtime(run)?;
    let (rounds, outcome) = Rounds::new(run.time);
    let costs = costs();
    rt.spawn(async move {
        loop {
            let goal = tally::total() + EVENTS as u64;
            for &cycles in &costs[..] {
                tokio::spawn(async move { event(cycles) });
            }
            while tally::total() < goal {
                tokio::task::yield_now().await;
            }
            if !rounds.another(EVENTS as u64) {
                break;
            }
        }
    });
    Ok(outcome.recv()?)
}

/// Threads take calls from an array, 64 at a time: nobody posts, nobody steals.
pub(super) fn floor(run: &Run) -> Result<Outcome, Failure> {
    const CHUNK: usize = 64;
    let (rounds, outcome) = Rounds::new(run.time);
    let costs = costs();
    let chunks: Vec<_> = costs.chunks(CHUNK).collect();
    let next = AtomicUsize::new(0);
    super::in_step(
        run.workers,
        |_| {
            // Relaxed: it only deals out numbers; the barriers between the rounds
            // order everything else.
            while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                chunk.iter().for_each(|&cycles| event(cycles));
            }
        },
        || {
            next.store(0, Ordering::Relaxed);
            rounds.another(EVENTS as u64)
        },
    );
    Ok(outcome.recv()?)
}
