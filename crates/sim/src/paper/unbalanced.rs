//! `unbalanced`: rounds of 50 000 independent events on the first core, 2 % of which
//! are long (seed 000, section V-B, tables III and IV).
//!
//! 98 % of the events take 100 cycles, the others 10 000 to 50 000; each has a color of
//! its own. Nothing is left open but what the runtime itself takes.

use std::sync::Arc;

use mely_papers::definitions::unbalanced::{EVENTS, LONG_CYCLES, SHORT_CYCLES, SHORT_PERCENT};

use super::program::{Begin, Setup, Size, Workload};
use super::rounds::{self, Round, Rounds, Source};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Context, Handler};

const SMALL_EVENTS: usize = 4_000;

static SHORT: Handler = Handler::new("unbalanced::Short").cost_cycles(SHORT_CYCLES);
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
        0..SHORT_PERCENT => u64::from(SHORT_CYCLES),
        _ => random.u64(u64::from(*LONG_CYCLES.start())..=u64::from(*LONG_CYCLES.end())),
    };
    (0..events).map(|_| cost()).collect()
}

struct Costs(Vec<u64>);

impl Source for Costs {
    const ROUND: &'static Handler = &ROUND;

    fn post(&mut self, round: &Arc<Round<Self>>, cx: &mut Context<'_, Rounds<Self>>) {
        for &cycles in &self.0 {
            let handler = match cycles == u64::from(SHORT_CYCLES) {
                true => &SHORT,
                false => &LONG,
            };
            let round = Arc::clone(round);
            cx.with_handler(handler).post_parallel(move |_, cx| {
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
