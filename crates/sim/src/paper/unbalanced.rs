//! `unbalanced`: rounds of 50 000 independent events on the first core, 2 % of which
//! are long (seed 000, section V-B, tables III and IV).
//!
//! 98 % of the events take 100 cycles, the others 10 000 to 50 000; each has a color of
//! its own. Nothing is left open but what the runtime itself takes.

use std::sync::Arc;

use super::program::{Begin, Setup, Size, Workload};
use super::rounds::{self, Round, Rounds, Source};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Context, Handler};

const EVENTS: usize = 50_000;
const SMALL_EVENTS: usize = 4_000;
const SHORT_CYCLES: u64 = 100;
const LONG_CYCLES: std::ops::RangeInclusive<u64> = 10_000..=50_000;

static SHORT: Handler = Handler::new("unbalanced::Short").cost_cycles(100);
static LONG: Handler = Handler::new("unbalanced::Long").cost_cycles(30_000);
static ROUND: Handler = Handler::new("unbalanced::Round");

pub(super) static WORKLOAD: Workload = Workload {
    cores: &[],
    counted: &["unbalanced::Short", "unbalanced::Long"],
    warm: 1,
    rounds: 4,
    build,
};

/// The cycles of each event of a round, in the order in which they are posted.
fn costs(events: usize) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut cost = || match random.u32(..100) {
        0..98 => SHORT_CYCLES,
        _ => random.u64(LONG_CYCLES),
    };
    (0..events).map(|_| cost()).collect()
}

struct Costs(Vec<u64>);

impl Source for Costs {
    const ROUND: &'static Handler = &ROUND;

    fn post(&mut self, round: &Arc<Round<Self>>, cx: &mut Context<'_, Rounds<Self>>) {
        for &cycles in &self.0 {
            let handler = match cycles {
                SHORT_CYCLES => &SHORT,
                _ => &LONG,
            };
            let round = Arc::clone(round);
            cx.post_fresh_via(handler, move |_, cx| {
                cx.spend(cycles);
                drop(round);
            });
        }
    }
}

fn build(simulation: &Simulation, setup: &Setup) -> Result<Begin, Error> {
    let events = match setup.size {
        Size::Full => EVENTS,
        Size::Small => SMALL_EVENTS,
    };
    rounds::build(simulation, Costs(costs(events)))
}
