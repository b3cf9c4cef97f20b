//! `unbalanced`: rounds of events that are all posted on the first core (seed 000,
//! section V-B, tables III and IV).
//!
//! 98 % of them take 100 cycles, the others 10 000 to 50 000; each has its own color.

use super::measure::{Program, Size};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Context, Handler};

const SHORT_CYCLES: u32 = 100;
/// The mean; a long event takes 20 000 cycles more or less.
const LONG_CYCLES: u32 = 30_000;

static SHORT: Handler = Handler::new("scale::Short").cost_cycles(SHORT_CYCLES);
static LONG: Handler = Handler::new("scale::Long").cost_cycles(LONG_CYCLES);

pub(super) const COUNTED: &[&str] = &["scale::Short", "scale::Long"];

fn events(size: Size) -> u64 {
    match size {
        // A fifth of the paper's: each core of 256 still has one long event.
        Size::Full => 12_800,
        Size::Small => 1_000,
    }
}

fn post_round(events: u64, cx: &mut Context<'_>) {
    let mut chance = fastrand::Rng::with_seed(1);
    for event in 0..events {
        if event % 50 == 49 {
            let cycles = u64::from(LONG_CYCLES) - 20_000 + chance.u64(0..=40_000);
            cx.with_handler(&LONG)
                .post_parallel(move |(), cx| cx.spend(cycles));
        } else {
            cx.with_handler(&SHORT)
                .post_parallel(|(), cx| cx.spend(SHORT_CYCLES.into()));
        }
    }
}

pub(super) fn begin(simulation: &Simulation, size: Size) -> Result<Program, Error> {
    let options = simulation.handle().color_options().pin_to(0);
    let source = options.new_color()?;
    let events = events(size);
    Ok(Program::Rounds(Box::new(move || {
        source.post_or_shed(move |(), cx| post_round(events, cx));
    })))
}
