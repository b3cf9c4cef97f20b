//! Servers of the experiments on stages, each in a process of its own.
//!
//! | file | what |
//! |---|---|
//! | `policy` | what a stage refuses, by name |
//! | `answer` | what clients and servers say to each other |
//! | `blocking` | servers with threads that block: a pool, and a thread for each connection |
//! | `packets` | packets on many connections |
//! | `work` | a stage behind sockets, whose requests cost a fixed time |

pub(crate) mod answer;
mod blocking;
pub(crate) mod packets;
mod policy;
mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use mely_sched::Nanos;
use mely_stage::{Control, Ending};
use serde::{Deserialize, Serialize};

pub use self::policy::Conditioning;
use crate::measure::{Error, Failure};

/// How the command line calls it.
pub(crate) const NAME: &str = "stages-serve";

/// How long a stage may take to end.
const END_MAX: Duration = Duration::from_secs(5);

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StageServer {
    /// Requests that cost a fixed time, by a stage.
    Work,
    /// Pages over HTTP, by a pool of threads.
    ThreadPool,
    /// Pages over HTTP, by a thread for each connection.
    ThreadEach,
    /// Packets, by the runtime.
    Packets,
    /// Packets, by a thread for each connection.
    PacketThreads,
}

/// Options of a server of `stages`, which that starts.
#[derive(Clone, Debug, Args)]
pub struct StagesServeOptions {
    /// What is served.
    #[arg(long)]
    pub what: StageServer,
    /// Where it listens.
    #[arg(long)]
    pub port: u16,
    /// Worker threads.
    #[arg(long, default_value_t = 1)]
    pub workers: u16,
    /// What its stage refuses.
    #[arg(long, default_value = "none")]
    pub policy: Conditioning,
    /// What responses are to be within, in milliseconds.
    #[arg(long, default_value_t = 20)]
    pub target_ms: u32,
    /// What the stage answers at most in a second, for policies that must be told.
    #[arg(long, default_value_t = 5_000.0)]
    pub peak: f64,
    /// What a request costs, in microseconds.
    #[arg(long, default_value_t = 100)]
    pub cost_us: u32,
    /// Bytes of an answer.
    #[arg(long, default_value_t = 8192)]
    pub answer_bytes: u32,
    /// Where it writes in the end what became of requests.
    #[arg(long)]
    pub counts: Option<PathBuf>,
}

impl StagesServeOptions {
    /// A server on a port, as all are that nothing else is said of.
    pub(crate) fn new(what: StageServer, port: u16) -> Self {
        Self {
            what,
            port,
            workers: 1,
            policy: Conditioning::None,
            target_ms: 20,
            peak: 5_000.0,
            cost_us: 100,
            answer_bytes: 8192,
            counts: None,
        }
    }

    /// Adds what starts such a server to a command that runs this program.
    pub(crate) fn tell(&self, command: &mut Command) {
        let what = clap::ValueEnum::to_possible_value(&self.what);
        let before = std::env::args_os().skip(1);
        command
            .args(before.take_while(|word| word != "stages"))
            .arg(NAME)
            .args(what.map(|what| format!("--what={}", what.get_name())))
            .arg(format!("--port={}", self.port))
            .arg(format!("--workers={}", self.workers))
            .arg(format!("--policy={}", self.policy))
            .arg(format!("--target-ms={}", self.target_ms))
            .arg(format!("--peak={}", self.peak))
            .arg(format!("--cost-us={}", self.cost_us))
            .arg(format!("--answer-bytes={}", self.answer_bytes));
        if let Some(counts) = &self.counts {
            command.arg("--counts").arg(counts);
        }
    }

    fn target(&self) -> Nanos {
        Nanos::from_millis(self.target_ms.into())
    }
}

/// What became of the requests that a stage was offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fates {
    pub(crate) offered: u64,
    pub(crate) refused: u64,
    pub(crate) accepted: u64,
    pub(crate) answered: u64,
    pub(crate) expired: u64,
    pub(crate) reported: u64,
}

impl Fates {
    /// Ends a stage, and counts.
    fn of<E: Send + 'static>(stage: &Control<E>) -> Result<Self, Failure> {
        // What waits is handed back, and counts as reported.
        let destroyed = stage.destroy(Ending::HandBack, END_MAX);
        destroyed.map_err(|unfinished| unfinished.why)?;
        let counts = stage.snapshot().counts;
        Ok(Self {
            offered: counts.offered,
            refused: counts.refused(),
            accepted: counts.accepted,
            answered: counts.handled,
            expired: counts.expired(),
            reported: counts.reported(),
        })
    }

    fn write(&self, path: &Path) -> Result<(), Failure> {
        Ok(fs::write(path, serde_json::to_string(self)?)?)
    }

    /// What a server has left.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
    }

    /// How many requests are neither answered nor told about.
    pub(crate) fn lost(&self) -> i64 {
        let known = self.answered + self.expired + self.reported;
        self.accepted.wrapping_sub(known).cast_signed()
    }
}

/// Serves until the process is told to end.
pub(crate) fn serve(options: &StagesServeOptions) -> Result<(), Error> {
    let served = match options.what {
        StageServer::Work => work::serve(options),
        StageServer::Packets => packets::serve(options),
        StageServer::ThreadPool | StageServer::ThreadEach | StageServer::PacketThreads => {
            blocking::serve(options)
        }
    };
    served.map_err(Error::run("stages", format!("{:?}", options.what)))
}
