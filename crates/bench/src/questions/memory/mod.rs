//! `memory`: what a key and a pending event take of memory, as the process grows.
//!
//! A key is a color, a task with a channel, a goroutine with a channel, a queue with a
//! lock: what has a state of eight bytes and can be posted to, with the handle to post
//! with. A pending event carries eight bytes. Each measurement has a process of its
//! own: what an allocator keeps from before would hide what is asked for.

mod once;

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::process::Command;
use std::time::Duration;

use clap::Args;

pub use self::once::MemoryOnceOptions;
use self::once::Used;
pub(crate) use self::once::run as run_once;
use super::table;
use crate::contenders::choice::{chosen, runnable, skip};
use crate::contenders::elsewhere;
use crate::contenders::implementation::{Allocator, Implementation};
use crate::measure::Error;
use crate::measure::Failure;
use crate::measure::arguments::{self, seconds};
use crate::measure::machine::Machine;
use crate::measure::repetition::{Contender, Repetition};
use crate::measure::report::Row;

/// What is run when nothing is chosen.
const DEFAULT: [Implementation; 6] = [
    Implementation::Mely(mely::Policy::Adaptive),
    Implementation::Tokio(Allocator::System),
    Implementation::Tokio(Allocator::Mimalloc),
    Implementation::AsyncExecutor,
    Implementation::Rayon,
    Implementation::Go,
];

/// Before a measurement, this part of it tells whether the memory is there.
const PROBE_PART: usize = 100;

/// This part of the available memory may be used.
const SHARE_OF_AVAILABLE: f64 = 0.85;

/// Options of the memory benchmark.
#[derive(Clone, Debug, Args)]
pub struct MemoryOptions {
    /// Only these measurements; by default all.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub workload: Vec<Holding>,
    /// Only these implementations; by default Mely's default policy and all peers
    /// that can.
    #[arg(long = "impl", value_name = "NAME", value_delimiter = ',')]
    pub implementation: Vec<Implementation>,
    /// How many idle keys.
    #[arg(long, default_value_t = 1_000_000, value_parser = amount)]
    pub idle_keys: u32,
    /// How many keys that have each handled an event.
    #[arg(long, default_value_t = 10_000_000, value_parser = amount)]
    pub used_keys: u32,
    /// How many pending events, on 1000 keys.
    #[arg(long, default_value_t = 1_000_000, value_parser = amount)]
    pub pending_events: u32,
    /// How long a measurement may take; one that takes longer is an error.
    #[arg(long, default_value_t = 300.0, value_parser = seconds)]
    pub seconds: f64,
    /// How often, and where to.
    #[command(flatten)]
    pub repetition: Repetition,
}

/// What is held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Holding {
    /// Keys that nothing was posted to.
    IdleKeys,
    /// Keys that have each handled an event.
    UsedKeys,
    /// Events that wait.
    PendingEvents,
}

impl Holding {
    const ALL: [Holding; 3] = [Self::IdleKeys, Self::UsedKeys, Self::PendingEvents];

    fn amount(self, options: &MemoryOptions) -> usize {
        let amount = match self {
            Self::IdleKeys => options.idle_keys,
            Self::UsedKeys => options.used_keys,
            Self::PendingEvents => options.pending_events,
        };
        amount as usize
    }

    /// Of memory and of time.
    fn units(self) -> (&'static str, &'static str) {
        match self {
            Self::IdleKeys | Self::UsedKeys => ("bytes/key", "ns/key"),
            Self::PendingEvents => ("bytes/event", "ns/event"),
        }
    }
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IdleKeys => "idle-keys",
            Self::UsedKeys => "used-keys",
            Self::PendingEvents => "pending-events",
        })
    }
}

/// Reads an amount that can be told from the noise of a page.
fn amount(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(amount) if (1000..=1_000_000_000).contains(&amount) => Ok(amount),
        _ => Err("give an amount from 1000 to 1000000000".to_owned()),
    }
}

/// An implementation that holds something.
#[derive(Clone, Copy)]
struct Pair(Holding, Implementation);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.0, self.1)
    }
}

pub(crate) fn run(options: &MemoryOptions) -> Result<(), Error> {
    let repetition = &options.repetition;
    let implementations = measurable(options)?;
    writeln!(
        io::stdout(),
        "{}\n{} workers, {} runs, interleaved, each in a process of its own",
        Machine::detect(),
        arguments::workers(repetition.workers),
        repetition.repeat
    )
    .map_err(Error::Output)?;
    let mut contenders = Vec::new();
    for holding in chosen(&options.workload, &Holding::ALL) {
        let amount = holding.amount(options);
        let mut pairs = Vec::new();
        let mut probes = Vec::new();
        for &who in &implementations {
            let probe = measure(Pair(holding, who), amount / PROBE_PART + 1, options)?;
            match too_large(probe, amount, available_bytes()) {
                Some(reason) => skip(who, &format!("{amount} {holding}: {reason}"))?,
                None => {
                    pairs.push(Pair(holding, who));
                    probes.push(probe);
                }
            }
        }
        let seconds = least_seconds(&probes, amount, repetition.repeat);
        writeln!(
            io::stdout(),
            "{amount} {holding}: {seconds:.0} s or more; fewer of them, --impl and --repeat \
             take less"
        )
        .map_err(Error::Output)?;
        contenders.extend(repetition.interleave(pairs, |&pair| measure(pair, amount, options))?);
    }
    let rows = rows(&contenders, options);
    table::write(&rows, io::stdout()).map_err(Error::Output)?;
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    repetition.keep(&rows)
}

/// What was chosen and has keys to hold; names what has none.
fn measurable(options: &MemoryOptions) -> Result<Vec<Implementation>, Error> {
    let mut asked = chosen(&options.implementation, &DEFAULT);
    for without in [Implementation::Asio, Implementation::Floor] {
        if asked.contains(&without) {
            skip(without, "it holds nothing that compares: choose another")?;
        }
    }
    asked.retain(|who| !matches!(who, Implementation::Asio | Implementation::Floor));
    match asked.is_empty() {
        true => Err(Error::NothingToRun),
        false => runnable(&asked, &[]),
    }
}

/// Why there is too little memory, by what a part of it takes.
fn too_large(probe: Used, amount: usize, available: Option<f64>) -> Option<String> {
    let needed = probe.bytes_each() * amount as f64;
    let available = available? * SHARE_OF_AVAILABLE;
    (needed > available).then(|| {
        format!(
            "they need about {:.1} GB and {:.1} GB may be used: ask for fewer",
            needed / 1e9,
            available / 1e9
        )
    })
}

/// What all runs take together, by what parts of them took: or more, as processes start
/// and give back what they hold too.
fn least_seconds(probes: &[Used], amount: usize, repeat: u16) -> f64 {
    let nanos_each: f64 = probes.iter().map(Used::nanos_each).sum();
    nanos_each * amount as f64 * f64::from(repeat) / 1e9
}

/// What the system could still give, in bytes; `None` where it does not say.
fn available_bytes() -> Option<f64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

/// Measures once, in another process.
fn measure(
    Pair(holding, implementation): Pair,
    amount: usize,
    options: &MemoryOptions,
) -> Result<Used, Error> {
    let failed = Error::run(holding, implementation);
    let mut command = match elsewhere::command(implementation, once::NAME).map_err(&failed)? {
        Some(command) => command,
        None => this_program(implementation, options).map_err(&failed)?,
    };
    command
        .arg("--json")
        .args(["--workload", &holding.to_string()])
        .args(["--amount", &amount.to_string()]);
    let workers = arguments::workers(options.repetition.workers);
    command.args(["--workers", &workers.to_string()]);
    let limit = Duration::from_secs_f64(options.seconds);
    elsewhere::answer(&mut command, Some(limit)).map_err(&failed)
}

/// This program again, called as it was up to the name of the subcommand.
fn this_program(
    implementation: Implementation,
    options: &MemoryOptions,
) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    let before = std::env::args_os().skip(1);
    command
        .args(before.take_while(|word| word != "memory"))
        .args([once::NAME, "--impl", &implementation.to_string()])
        .args(["--affinity", &options.repetition.affinity.to_string()]);
    Ok(command)
}

/// What is read off a measurement, for each of the held.
#[derive(Clone, Copy)]
enum Figure {
    Bytes,
    Nanos,
}

impl Figure {
    fn of(self, used: &Used) -> f64 {
        match self {
            Self::Bytes => used.bytes_each(),
            Self::Nanos => used.nanos_each(),
        }
    }
}

/// Rows of memory and of time, those of one kind side by side.
fn rows(contenders: &[Contender<Pair, Used>], options: &MemoryOptions) -> Vec<Row> {
    let mut rows = Vec::new();
    for holding in Holding::ALL {
        let workload = format!("{} {holding}", holding.amount(options));
        let (memory, time) = holding.units();
        for (unit, figure) in [(memory, Figure::Bytes), (time, Figure::Nanos)] {
            let holders = contenders.iter().filter(|c| c.what.0 == holding);
            rows.extend(holders.filter_map(|contender| {
                let figures = contender
                    .figures
                    .iter()
                    .map(|used| figure.of(used))
                    .collect();
                let who = contender.what.1.to_string();
                Row::of("memory", workload.clone(), who, unit, figures)
            }));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told_with_its_size() {
        let probe = Used {
            bytes: 300_000,
            nanos: 0,
            amount: 100,
        };
        assert_eq!(too_large(probe, 1000, Some(1e9)), None);
        assert_eq!(too_large(probe, 10_000_000, None), None);
        let reason = too_large(probe, 10_000_000, Some(1e9)).unwrap();
        assert!(reason.contains("30.0 GB and 0.8 GB"), "{reason}");
    }

    #[test]
    fn the_time_of_all_runs_is_told_from_parts() {
        let probe = |nanos| Used {
            bytes: 0,
            nanos,
            amount: 100,
        };
        let seconds = least_seconds(&[probe(100), probe(300)], 1_000_000_000, 7);
        assert!((seconds - 28.0).abs() < 1e-9, "{seconds}");
    }

    #[test]
    fn the_program_in_go_holds_everything() {
        if let Some(reason) = elsewhere::missing(Implementation::Go) {
            println!("skipped go: {reason}");
            return;
        }
        let repetition = Repetition {
            repeat: 1,
            workers: Some(2),
            affinity: mely::Affinity::default(),
            keep_disturbed: true,
            json: None,
        };
        let options = MemoryOptions {
            workload: Vec::new(),
            implementation: Vec::new(),
            idle_keys: 1000,
            used_keys: 1000,
            pending_events: 1000,
            seconds: 300.0,
            repetition,
        };
        for holding in Holding::ALL {
            let used = measure(Pair(holding, Implementation::Go), 1000, &options).unwrap();
            assert_eq!(used.amount, 1000, "{holding}");
        }
    }

    #[test]
    fn the_system_says_what_is_available() {
        let available = available_bytes();
        assert!(available.is_none_or(|bytes| bytes > 1e6), "{available:?}");
    }

    #[test]
    fn amounts_have_a_least() {
        assert_eq!(amount("1000"), Ok(1000));
        assert!(amount("999").is_err() && amount("many").is_err());
    }
}
