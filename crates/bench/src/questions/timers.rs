//! `timers`: what sessions with a timeout take that begins anew with each request.
//!
//! Each session has a timeout of ten minutes, of which none comes. For some seconds sessions,
//! one after the other, begin theirs anew so many times a second: by `Timer::reset_after`; or
//! by cancelling the timer and setting another one. Each way has a process of its own, whose
//! peak of memory is read at its end.

use std::fs;
use std::io::{self, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::contenders::elsewhere;
use crate::measure::machine::Machine;
use crate::measure::{Error, Failure};

/// How long a session may be silent.
const TIMEOUT: Duration = Duration::from_secs(600);

/// So often resets are caught up with.
const TICK: Duration = Duration::from_millis(1);

/// Beyond what the resets themselves take.
const SPARE: Duration = Duration::from_secs(60);

/// Options of the benchmark of timers.
#[derive(Clone, Debug, Args)]
pub struct TimersOptions {
    /// How many sessions.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub sessions: u32,
    /// How many of them begin their timeout anew each second.
    #[arg(long, default_value_t = 300_000)]
    pub resets: u32,
    /// For so many seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub seconds: u32,
    /// One way only, in this process.
    #[arg(long)]
    pub way: Option<Way>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// How a timeout begins anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// The timer is reset.
    Reset,
    /// It is cancelled, and another one set.
    CancelAndSet,
}

#[derive(Debug, Serialize, Deserialize)]
struct Used {
    way: Way,
    /// The growth of the resident set up to its peak, in bytes.
    peak_bytes: u64,
    /// What a reset took of a core, in nanoseconds.
    nanos_each: f64,
    resets: u64,
}

pub(crate) fn run(options: &TimersOptions) -> Result<(), Error> {
    let failed = Error::run("timers", "mely");
    let all = match options.way {
        Some(way) => vec![measure(way, options).map_err(&failed)?],
        None => {
            let ways = [Way::Reset, Way::CancelAndSet];
            let each = ways.map(|way| measure_elsewhere(way, options));
            each.into_iter()
                .collect::<Result<_, _>>()
                .map_err(&failed)?
        }
    };
    print(&all, options).map_err(Error::Output)
}

fn print(all: &[Used], options: &TimersOptions) -> io::Result<()> {
    let mut out = io::stdout();
    if options.json {
        return writeln!(out, "{}", serde_json::json!(all));
    }
    writeln!(
        out,
        "{}\n{} sessions, {} resets a second for {} s",
        Machine::detect(),
        options.sessions,
        options.resets,
        options.seconds
    )?;
    for used in all {
        let way = match used.way {
            Way::Reset => "reset",
            Way::CancelAndSet => "cancel and set",
        };
        let peak = used.peak_bytes as f64 / 1e6;
        writeln!(
            out,
            "{way:<15} {peak:8.1} MB at the peak {:8.1} ns a reset",
            used.nanos_each
        )?;
    }
    Ok(())
}

/// Measures in a process of its own.
fn measure_elsewhere(way: Way, options: &TimersOptions) -> Result<Used, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    let before = std::env::args_os().skip(1);
    let name = match way {
        Way::Reset => "reset",
        Way::CancelAndSet => "cancel-and-set",
    };
    command
        .args(before.take_while(|word| word != "timers"))
        .args(["timers", "--json", "--way", name])
        .args(["--sessions", &options.sessions.to_string()])
        .args(["--resets", &options.resets.to_string()])
        .args(["--seconds", &options.seconds.to_string()]);
    let limit = Duration::from_secs(options.seconds.into()) + SPARE;
    let mut used: Vec<Used> = elsewhere::answer(&mut command, Some(limit))?;
    used.pop().ok_or_else(|| "it measured nothing".into())
}

struct Session {
    timeouts: u32,
}

fn measure(way: Way, options: &TimersOptions) -> Result<Used, Failure> {
    let rt = mely::Runtime::builder().timers_max(usize::MAX).build()?;
    let before = peak_resident_bytes()?;
    let sessions: Vec<_> = (0..options.sessions)
        .map(|_| rt.colored(Session { timeouts: 0 }))
        .collect();
    let begin = |session: &mely::Colored<Session>| {
        session.post_after(TIMEOUT, |session, _| session.timeouts += 1)
    };
    let mut timers: Vec<_> = sessions.iter().map(begin).collect();
    let (mut resets, mut busy) = (0_u64, Duration::ZERO);
    let (start, all) = (Instant::now(), Duration::from_secs(options.seconds.into()));
    while start.elapsed() < all {
        let due = (start.elapsed().as_secs_f64() * f64::from(options.resets)) as u64;
        let from = Instant::now();
        for reset in resets..due {
            let at = (reset % u64::from(options.sessions)) as usize;
            match way {
                Way::Reset => _ = timers[at].reset_after(TIMEOUT),
                Way::CancelAndSet => {
                    timers[at].cancel();
                    timers[at] = begin(&sessions[at]);
                }
            }
        }
        resets = due.max(resets);
        busy += from.elapsed();
        std::thread::sleep(TICK);
    }
    let peak_bytes = peak_resident_bytes()?.saturating_sub(before);
    timers.iter().for_each(|timer| _ = timer.cancel());
    Ok(Used {
        way,
        peak_bytes,
        nanos_each: busy.as_nanos() as f64 / resets.max(1) as f64,
        resets,
    })
}

/// The largest that the resident set of this process has been.
fn peak_resident_bytes() -> Result<u64, Failure> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    let kibibytes: u64 = kibibytes
        .ok_or("the system does not tell the peak of memory")?
        .parse()?;
    Ok(kibibytes * 1024)
}
