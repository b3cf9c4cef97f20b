//! Benchmarks of Mely beside its peers.
//!
//! One run interleaves all implementations round-robin, repeats, drops what other
//! load has disturbed (and says so), and gives medians with their extremes:
//!
//! ```text
//! mely-bench peers --workload P --repeat 9 --json results.json
//! ```
//!
//! | file | what |
//! |---|---|
//! | `workloads/` | what is run: a file for each |
//! | `implementation` | who runs it |
//! | `runtimes/` | how a runtime of this process is used: a file for each |
//! | `programs`, `../peers/` | runtimes in other languages, compiled when needed |
//! | `elsewhere` | runs in other processes |
//! | `rounds`, `tally`, `spin`, `random` | what the workloads have in common |
//! | `repetition` | interleaved runs |
//! | `peers` | events per second beside the peers |
//! | `latency/` | from post to run |
//! | `steal` | what a steal costs |
//! | `trace/` | what recording a trace costs |
//! | `memory/` | what keys and pending events take |
//! | `paper/` | the microbenchmarks of the papers, under every policy |
//! | `plot/` | pictures of what was measured |
//! | `single` | one run |
//! | `web` | the web server beside nginx |
//! | `disturbance` | whether something else used the machine meanwhile |
//! | `gauge` | whether all cores are as fast as they can be |
//! | `machine` | what the machine is |
//! | `provenance` | the machine and the command, beside a file of figures |
//! | `table`, `report` | the table and the JSON file |

mod disturbance;
mod elsewhere;
mod gauge;
mod implementation;
mod latency;
mod machine;
mod memory;
mod paper;
mod peers;
mod plot;
mod programs;
mod provenance;
mod random;
mod repetition;
mod report;
mod rounds;
mod runtimes;
mod single;
mod spin;
mod steal;
mod table;
mod tally;
mod trace;
mod web;
mod workloads;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use std::{fmt, io};

use clap::{Parser, Subcommand};

pub use implementation::{Allocator, Implementation, UnknownImplementation};
pub use latency::{LatencyOptions, Load};
pub use memory::{Holding, MemoryOnceOptions, MemoryOptions};
pub use paper::{PaperOptions, PaperWorkload};
pub use peers::PeersOptions;
pub use plot::PlotOptions;
pub use repetition::Repetition;
pub use report::Row;
pub use single::SingleOptions;
pub use steal::StealOptions;
pub use trace::{TraceOptions, Traced};
pub use web::WebOptions;
pub use workloads::{Failure, Run, Workload};

/// The benchmarks: a subcommand for each.
#[derive(Clone, Debug, Subcommand)]
pub enum Bench {
    /// Events per second of each workload, beside the peers and the floor.
    Peers(PeersOptions),
    /// Nanoseconds from the post of an event to its run, idle and loaded.
    Latency(LatencyOptions),
    /// Bytes of a key and of a pending event.
    Memory(MemoryOptions),
    /// One measurement of `memory` in this process.
    #[command(hide = true)]
    MemoryOnce(MemoryOnceOptions),
    /// What a steal costs and brings, and the share of locking, on workload U.
    Steal(StealOptions),
    /// Events per second with and without a trace, and what of it is lost.
    Trace(TraceOptions),
    /// One run of one workload in this process, for `peers` and for profilers.
    Single(SingleOptions),
    /// CPU time per request of the web server beside nginx's, on a file of 1 KB.
    Web(WebOptions),
    /// The microbenchmarks of the papers under every policy, beside the papers' figures.
    Paper(PaperOptions),
    /// Pictures (SVG) of files that the other benchmarks wrote with --json.
    Plot(PlotOptions),
}

/// Runs a benchmark and prints what it found.
///
/// # Errors
///
/// An [`Error`] that names what could not be run or written.
///
/// ```no_run
/// use clap::Parser;
/// #[derive(Parser)]
/// struct Command {
///     #[command(subcommand)]
///     bench: mely_bench::Bench,
/// }
/// let command = Command::parse_from(["bench", "peers", "--workload", "P"]);
/// mely_bench::run(&command.bench)?;
/// # Ok::<(), mely_bench::Error>(())
/// ```
pub fn run(bench: &Bench) -> Result<(), Error> {
    match bench {
        Bench::Peers(options) => peers::run(options),
        Bench::Latency(options) => latency::run(options),
        Bench::Memory(options) => memory::run(options),
        Bench::MemoryOnce(options) => memory::run_once(options),
        Bench::Steal(options) => steal::run(options),
        Bench::Trace(options) => trace::run(options),
        Bench::Single(options) => single::run(options),
        Bench::Web(options) => web::run(options),
        Bench::Paper(options) => paper::run(options),
        Bench::Plot(options) => plot::run(options),
    }
}

/// The program `mely-bench`: reads the command line, and says on standard error
/// what went wrong.
pub fn main() -> ExitCode {
    /// Benchmarks of Mely beside its peers, interleaved in one run.
    #[derive(Parser)]
    #[command(version)]
    struct Command {
        #[command(subcommand)]
        bench: Bench,
    }
    match run(&Command::parse().bench) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mely-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a run measured.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// Events that were run.
    pub events: u64,
    /// In this time.
    pub time: Duration,
}

impl Outcome {
    /// Events per second.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let outcome = mely_bench::Outcome { events: 500, time: Duration::from_millis(250) };
    /// assert_eq!(outcome.events_per_second(), 2000.0);
    /// ```
    pub fn events_per_second(&self) -> f64 {
        self.events as f64 / self.time.as_secs_f64()
    }
}

/// Why a benchmark could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The run of an implementation failed.
    Run {
        /// What was run.
        workload: String,
        /// By whom.
        implementation: String,
        /// Why it failed.
        source: Failure,
    },
    /// The run of a paper's microbenchmark failed.
    Paper {
        /// What was run.
        workload: PaperWorkload,
        /// Under which policy.
        policy: mely::Policy,
        /// Why it failed.
        source: Failure,
    },
    /// A file of figures is none that a benchmark wrote, or is cut off.
    Figures {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A picture could not be drawn.
    Picture {
        /// The file that it is for.
        path: PathBuf,
        /// What the plotting library says.
        what: String,
    },
    /// A file could not be read or written.
    File {
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A server, or the load for it, could not be started or read.
    Web {
        /// Which.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Standard output is closed or full.
    Output(io::Error),
    /// Work of a known length takes less time than any processor needs for it.
    ShortenedWork {
        /// Its cycles in a second.
        spin_rate: f64,
    },
    /// Other processes disturbed every run.
    AlwaysDisturbed,
    /// The chosen implementations are none that can be run here.
    NothingToRun,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Run {
                workload,
                implementation,
                source,
            } => write!(f, "{workload} by {implementation} failed: {source}"),
            Error::Paper {
                workload,
                policy,
                source,
            } => write!(f, "{workload} under {policy} failed: {source}"),
            Error::Figures { path, what } => write!(
                f,
                "{}: {what}; give files that `mely bench ... --json FILE` wrote",
                path.display()
            ),
            Error::Picture { path, what } => {
                write!(f, "{} cannot be drawn: {what}", path.display())
            }
            Error::File { path, source } => write!(f, "{}: {source}", path.display()),
            Error::Web { what, source } => write!(f, "cannot use {what}: {source}"),
            Error::Output(source) => write!(f, "standard output: {source}"),
            Error::ShortenedWork { spin_rate } => write!(
                f,
                "the compiler has shortened the measured work: {:.1} G cycles/s are none \
                 of a processor; build with another compiler or report it",
                spin_rate / 1e9
            ),
            Error::AlwaysDisturbed => f.write_str(
                "no figures: others disturbed every run; end other processes, or take a \
                 first look with --keep-disturbed",
            ),
            Error::NothingToRun => {
                f.write_str("nothing to run: all chosen implementations are missing here")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Run { source, .. } | Error::Paper { source, .. } => Some(&**source),
            Error::File { source, .. } | Error::Web { source, .. } | Error::Output(source) => {
                Some(source)
            }
            Error::Figures { .. }
            | Error::Picture { .. }
            | Error::ShortenedWork { .. }
            | Error::AlwaysDisturbed
            | Error::NothingToRun => None,
        }
    }
}
