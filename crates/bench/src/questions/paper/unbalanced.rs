//! `unbalanced`: rounds of 50 000 independent events on the first core, 2 % of which
//! are long (seed 000, section V-B, tables III and IV).
//!
//! 98 % of the events take 100 cycles, the others 10 000 to 50 000, and each has a
//! color of its own. A new round begins when all events have been run. Only the long
//! ones are worth a steal; the annotations say which those are.
//!
//! The workload `U` of `mely bench peers` is the same load, joined in a way that
//! other runtimes can do too.

use std::sync::Arc;

use mely::{Context, Handler, Policy};
use mely_papers::definitions::unbalanced::{EVENTS, LONG_CYCLES, SHORT_CYCLES, SHORT_PERCENT};

use super::join::Round;
use super::setting::{handlers, runtime};
use crate::measure::measured::{Measured, Window};
use crate::measure::random::Random;
use crate::measure::spin::spin;
use crate::measure::{Failure, Run};

/// How many events hold a part of the round together.
const PART_EVENTS: usize = 100;

struct Handlers {
    short: Handler,
    long: Handler,
}

const SHORT: Handler = Handler::new("unbalanced::Short");
const LONG: Handler = Handler::new("unbalanced::Long");

static PLAIN: Handlers = Handlers {
    short: SHORT,
    long: LONG,
};
static ANNOTATED: Handlers = Handlers {
    short: SHORT.cost_cycles(SHORT_CYCLES),
    long: LONG.cost_cycles(u32::midpoint(*LONG_CYCLES.start(), *LONG_CYCLES.end())),
};
static ROUND: Handler = Handler::new("unbalanced::Round");

/// The cycles of each event of a round, in the order in which they are posted.
fn costs() -> Vec<u32> {
    let mut random = Random::new(1);
    let mut cost = || match random.below(100) {
        0..SHORT_PERCENT => SHORT_CYCLES,
        _ => LONG_CYCLES.start() + random.below(LONG_CYCLES.end() - LONG_CYCLES.start() + 1),
    };
    (0..EVENTS).map(|_| cost()).collect()
}

struct Source {
    costs: Vec<u32>,
    handlers: &'static Handlers,
    window: Arc<Window>,
}

impl Source {
    fn begin(&mut self, cx: &mut Context<'_, Self>) {
        let round = Round::begin(cx.colored(), &ROUND, Self::end);
        for costs in self.costs.chunks(PART_EVENTS) {
            let part = round.part();
            for &cycles in costs {
                let part = Arc::clone(&part);
                let handler = match cycles {
                    SHORT_CYCLES => &self.handlers.short,
                    _ => &self.handlers.long,
                };
                cx.with_handler(handler).post_parallel(move |_, _| {
                    spin(cycles);
                    drop(part);
                });
            }
        }
    }

    fn end(&mut self, cx: &mut Context<'_, Self>) {
        if self.window.another(&cx.handle()) {
            self.begin(cx);
        }
    }
}

pub(super) fn run(policy: Policy, run: &Run) -> Result<Measured, Failure> {
    static COUNTED: [&str; 2] = [SHORT.name(), LONG.name()];
    let rt = runtime(policy, run)?;
    let (window, outcome) = Window::new(run.time, &COUNTED);
    let source = rt.color_options().pin_to(0).colored(Source {
        costs: costs(),
        handlers: handlers(policy, &ANNOTATED, &PLAIN),
        window,
    })?;
    source.with_handler(&ROUND).post_or_shed(Source::begin);
    outcome.wait()
}
