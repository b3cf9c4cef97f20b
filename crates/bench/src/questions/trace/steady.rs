//! Keys that post to themselves, with events of one length.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mely::{Context, Handler, Runtime};

use crate::measure::Outcome;
use crate::measure::rounds::measure_steady;
use crate::measure::spin::spin;
use crate::measure::tally;
use crate::measure::{Failure, Run};

/// Enough for every worker to have some, whoever steals.
const KEYS: usize = 64;

static STEADY: Handler = Handler::new("bench::steady");

struct Key {
    cycles: u32,
    stop: Arc<AtomicBool>,
}

impl Key {
    fn event(&mut self, cx: &mut Context<'_, Self>) {
        spin(self.cycles);
        tally::count();
        // Relaxed: whoever misses it sees it at the next event.
        if !self.stop.load(Ordering::Relaxed) {
            cx.with_handler(&STEADY).post_or_shed(Self::event);
        }
    }
}

/// Runs it for a while; the keys end with it.
pub(super) fn measure(runtime: &Runtime, cycles: u32, run: &Run) -> Result<Outcome, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for _ in 0..KEYS {
        let stop = Arc::clone(&stop);
        let key = runtime.colored(Key { cycles, stop });
        key.with_handler(&STEADY).post_or_shed(Key::event);
    }
    let outcome = measure_steady(run.time, tally::total);
    stop.store(true, Ordering::Relaxed);
    runtime.wait_idle();
    Ok(outcome)
}
