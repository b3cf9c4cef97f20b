//! `mely top`: a running program, watched by its metrics.

mod advice;
mod change;
mod fetch;
mod json;
mod look;
mod number;
mod screen;
mod table;
mod text;

use std::io;
use std::time::Duration;

use clap::Args;

use self::change::Change;
use self::fetch::Source;
use self::look::Look;
use self::screen::Screen;
use crate::error::CliError;
use crate::units;

/// Below this the program is busy with answering.
const INTERVAL_MIN: Duration = Duration::from_millis(50);

/// Watch a running program: what its workers and handlers do, what waits, and what to pin.
///
/// Reads the metrics that a program serves in the text format of Prometheus, such as `mely web
/// --metrics ADDR`, or any that answers with `Snapshot::to_prometheus`, and shows what changed
/// in each interval. How long events run and wait is estimated from samples, of which a worker
/// takes some 20 000 a second at the most; quantiles are interpolated between powers of two.
///
/// Advice follows these rules:
///
/// PIN a handler's colors if moving them costs more than it moves. A move costs what the steal
/// took for a color, and what the next event takes longer (the learned penalty less one, times
/// its cost); it moves the events that ran until the next move. Only with a penalty of 2 at the
/// least, after 20 moves, and if the moves cost 1 % of a worker: `ColorOptions::pin_to`, its
/// colors spread over the workers, or `Handler::penalty`, which leaves it to the scheduler.
///
/// UNPIN a color if it is pinned, and one of its events has waited for 100 ms while another
/// worker sleeps, and slept for half of the time: `ColorOptions::start_on`.
///
/// A program that counts cache misses or page faults (`Builder::counted`, `mely web --counted`) is
/// shown with how many an event of each handler takes, in user space, estimated from the same
/// samples: L2 MISS where the processor's misses of level 2 are counted, MISSES where it is what
/// the kernel calls cache misses, FAULTS for page faults. Where it should but cannot count, a line
/// says why: many virtual machines have no hardware counters.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TopArgs {
    /// Where the program serves its metrics: HOST:PORT, unix:PATH, or a URL (http://HOST:PORT/PATH)
    /// if that is not at /metrics.
    #[arg(value_name = "ADDR")]
    source: Source,
    /// Look twice, an interval apart, print what changed, and end.
    #[arg(long)]
    once: bool,
    /// Print JSON, an object a line for each interval.
    #[arg(long)]
    json: bool,
    /// The time between two looks.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// How many handlers and waiting colors to show [default: what the terminal has room for,
    /// else 20].
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
}

fn interval(given: &str) -> Result<Duration, String> {
    match units::duration(given)? {
        short if short < INTERVAL_MIN => Err("give 50ms at the least".to_owned()),
        interval => Ok(interval),
    }
}

impl TopArgs {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let screen = Screen::of(io::stdout(), self.once || self.json, self.rows);
        let mut before = self.look()?;
        if screen.redraws() {
            screen.show(&format!("looking at {} ...\n", self.source))?;
        }
        loop {
            std::thread::sleep(self.interval);
            let now = self.look()?;
            let change = Change::between(&before, &now);
            let text = match self.json {
                true => json::of(&change),
                false => table::of(&change, &self.source.to_string(), &screen.style()),
            };
            if !screen.show(&text)? || self.once {
                return Ok(());
            }
            before = now;
        }
    }

    fn look(&self) -> Result<Look, CliError> {
        let wrong = |what: String| CliError::Top {
            source: self.source.to_string(),
            what,
        };
        let text = self
            .source
            .fetch()
            .map_err(|error| wrong(error.to_string()))?;
        Look::at_text(&text).map_err(wrong)
    }
}
