//! Benchmarks of Mely beside its peers.
//!
//! One run interleaves all implementations round-robin, repeats, drops what other
//! load has disturbed (and says so), and gives medians with their extremes:
//!
//! ```text
//! mely-bench peers --workload P --repeat 9 --json results.json
//! ```
//!
//! Four floors; what is on one uses only what is below it:
//!
//! | folder | what |
//! |---|---|
//! | `questions/` | what is asked, and how it is answered: a subcommand each |
//! | `workloads/` | what is run: a file for each |
//! | `contenders/` | who runs it |
//! | `measure/` | how it is measured, judged and written down |

mod contenders;
mod measure;
mod questions;
mod workloads;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use contenders::implementation::{Allocator, Implementation, UnknownImplementation};
pub use contenders::staged::{Conditioning, StageServer, StagesServeOptions};
pub use measure::repetition::Repetition;
pub use measure::report::Row;
pub use measure::turns::Turns;
pub use measure::{Error, Failure, Outcome, Run, Served};
pub use questions::chat::ChatOptions;
pub use questions::kv::KvOptions;
pub use questions::latency::{LatencyOptions, Load};
pub use questions::memory::{Holding, MemoryOnceOptions, MemoryOptions};
pub use questions::paper::{PaperOptions, PaperWorkload, paper_rate};
pub use questions::peers::PeersOptions;
pub use questions::plot::PlotOptions;
pub use questions::single::SingleOptions;
pub use questions::stages::{Experiment, StagesOptions};
pub use questions::steal::StealOptions;
pub use questions::timers::{TimersOptions, Way};
pub use questions::trace::{TraceOptions, Traced};
pub use questions::web::{Peer, Requests, WebOptions};
pub use workloads::Workload;

use contenders::staged;
use questions::{
    chat, kv, latency, memory, paper, peers, plot, single, stages, steal, timers, trace, web,
};

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
    /// What timeouts take that begin anew with each request, by reset or by a new timer.
    Timers(TimersOptions),
    /// What a steal costs and brings, and the share of locking, on workload U.
    Steal(StealOptions),
    /// Events per second with and without a trace, and what of it is lost.
    Trace(TraceOptions),
    /// One run of one workload in this process, for `peers` and for profilers.
    Single(SingleOptions),
    /// The web server beside nginx, lighttpd and h2o, on a file of 1 KB.
    Web(WebOptions),
    /// Chat servers of the examples beside each other: delivery times, CPU time, memory.
    Chat(ChatOptions),
    /// The key-value server of the examples beside Redis.
    Kv(KvOptions),
    /// Staged servers under more than they can serve, and beside servers with threads.
    Stages(StagesOptions),
    /// A server of `stages` in this process.
    #[command(hide = true)]
    StagesServe(StagesServeOptions),
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
        Bench::Timers(options) => timers::run(options),
        Bench::Steal(options) => steal::run(options),
        Bench::Trace(options) => trace::run(options),
        Bench::Single(options) => single::run(options),
        Bench::Web(options) => web::run(options),
        Bench::Chat(options) => chat::run(options),
        Bench::Kv(options) => kv::run(options),
        Bench::Stages(options) => stages::run(options),
        Bench::StagesServe(options) => staged::serve(options),
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
