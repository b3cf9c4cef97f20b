//! `steal`: what a steal costs and brings, and the share of locking in the time, from
//! the runtime's own metrics on workload U.

use std::fmt;
use std::io::{self, Write};

use clap::Args;
use mely::Policy;

use crate::contenders::choice::chosen;
use crate::contenders::implementation::Implementation;
use crate::contenders::runtimes::{Conditions, Mely};
use crate::measure::arguments::seconds;
use crate::measure::machine::Machine;
use crate::measure::measured::{Measured, unit};
use crate::measure::repetition::Repetition;
use crate::measure::report::Row;
use crate::measure::spin;
use crate::measure::{Error, Failure, Run};
use crate::workloads::{Workload, alone, with_metrics};

const RATE: &str = "events/s";

/// What the table shows: a unit, what it is divided by, its heading and decimals.
const COLUMNS: [(&str, f64, &str, usize); 5] = [
    (RATE, 1e6, "M events/s", 3),
    (unit::STEALS, 1.0, "steals/s", 0),
    (unit::CYCLES_PER_STEAL, 1.0, "cycles/steal", 0),
    (unit::STOLEN_PER_STEAL, 1.0, "stolen/steal", 0),
    (unit::LOCKING, 1.0, "locking %", 3),
];

/// Options of the stealing benchmark.
#[derive(Clone, Debug, Args)]
pub struct StealOptions {
    /// Only these policies, as mely-base or adaptive; by default all that steal.
    #[arg(long, value_name = "POLICY", value_delimiter = ',')]
    pub policy: Vec<Policy>,
    /// How long each run measures, after a warm-up of a fifth of it.
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
    /// How often, and where to.
    #[command(flatten)]
    pub repetition: Repetition,
}

/// A policy, as the implementation that it makes of Mely.
#[derive(Clone, Copy)]
struct Under(Policy);

impl fmt::Display for Under {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Implementation::Mely(self.0).fmt(f)
    }
}

pub(crate) fn run(options: &StealOptions) -> Result<(), Error> {
    let repetition = &options.repetition;
    let run = repetition.run(options.seconds);
    spin::checked()?;
    let mut out = io::stdout();
    writeln!(
        out,
        "{}\n{} workers, {} runs of {} s each, interleaved; workload {}, cycles of the \
         processor's counter",
        Machine::detect(),
        run.workers,
        repetition.repeat,
        options.seconds,
        Workload::U,
    )
    .map_err(Error::Output)?;
    let stealing: Vec<_> = Policy::ALL
        .into_iter()
        .filter(|policy| policy.heuristics().steal)
        .collect();
    let policies = chosen(&options.policy, &stealing).into_iter().map(Under);
    let contenders = repetition.interleave(policies, |&under| {
        measure(under.0, &run).map_err(Error::run(Workload::U, under))
    })?;
    let mut rows = Vec::new();
    for contender in &contenders {
        let (workload, who) = (Workload::U.to_string(), contender.what.to_string());
        let figures = &contender.figures;
        rows.extend(Measured::rows("steal", &workload, &who, RATE, figures));
    }
    write_table(&rows, &mut out).map_err(Error::Output)?;
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    repetition.keep(&rows)
}

fn measure(policy: Policy, run: &Run) -> Result<Measured, Failure> {
    let _alone = alone();
    let conditions = Conditions {
        workers: run.workers,
        affinity: run.affinity,
        yields: false,
    };
    with_metrics(&Mely::start(policy, conditions)?, run)
}

/// Writes a line of medians for each policy, with the extremes of the cost of a steal.
fn write_table(rows: &[Row], mut out: impl Write) -> io::Result<()> {
    write!(out, "{:<20}{:>5}", "implementation", "runs")?;
    for (_, _, heading, _) in COLUMNS {
        write!(out, "{heading:>13}")?;
    }
    writeln!(out, "  cycles/steal from to")?;
    for rate in rows.iter().filter(|row| row.unit == RATE) {
        let figure = |unit| {
            let same = |row: &&Row| row.implementation == rate.implementation;
            rows.iter().filter(same).find(|row| row.unit == unit)
        };
        write!(out, "{:<20}{:>5}", rate.implementation, rate.runs)?;
        for (unit, divisor, _, decimals) in COLUMNS {
            match figure(unit) {
                Some(row) => write!(out, "{:>13.decimals$}", row.median / divisor)?,
                None => write!(out, "{:>13}", "-")?,
            }
        }
        match figure(unit::CYCLES_PER_STEAL) {
            Some(row) => writeln!(out, "  {:.0} {:.0}", row.min, row.max)?,
            None => writeln!(out, "  -")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_run_gives_a_line() {
        let run = Run {
            workers: 2,
            affinity: mely::Affinity::default(),
            time: Duration::from_millis(1),
        };
        let measured = measure(Policy::Adaptive, &run).unwrap();
        assert!(measured.rate > 0.0, "{measured:?}");
        let rows = Measured::rows("steal", "U", "mely/adaptive", RATE, &[measured]);
        let mut table = Vec::new();
        write_table(&rows, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        assert_eq!(table.lines().count(), 2, "{table}");
    }

    #[test]
    fn without_a_steal_there_is_no_cost() {
        let measured = Measured {
            rate: 3e6,
            locking_percent: 0.5,
            steals_per_second: 0.0,
            cycles_per_steal: None,
            stolen_cycles_per_steal: None,
        };
        let rows = Measured::rows("steal", "U", "mely/mely-base", RATE, &[measured]);
        let mut table = Vec::new();
        write_table(&rows, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        let line = table.lines().nth(1).unwrap();
        assert!(line.contains("3.000            0            -"), "{table}");
    }
}
