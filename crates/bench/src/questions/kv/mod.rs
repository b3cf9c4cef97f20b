//! `kv`: a key-value server beside Redis, loaded by Redis's own benchmark, in turns.
//!
//! Each run starts a server anew, so that it is empty; Redis writes nothing to disk.

mod report;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;

use self::report::Report;
use super::table;
use crate::measure::Error;
use crate::measure::repetition::Contender;
use crate::measure::report::Row;
use crate::measure::server::{self, Server};
use crate::measure::turns::{self, Turns};

const BUILD: &str = "cargo build --release -p mely-examples";
const INSTALL_SERVER: &str = "it is of Debian's package redis-server";
const INSTALL_TOOLS: &str = "it is of Debian's package redis-tools";

/// Connections of the load, and requests that each sends before it waits for answers.
const CONNECTIONS: &str = "50";
const PIPELINE: &str = "16";

/// Keys of the load that has more than one.
const KEYS: &str = "100000";

/// A key-value server beside Redis.
#[derive(Args, Clone, Debug)]
pub struct KvOptions {
    /// Our server: a program that takes an address to listen on.
    #[arg(long, value_name = "PROGRAM", default_value = "kv")]
    pub server: PathBuf,

    /// Redis.
    #[arg(long, value_name = "PROGRAM", default_value = "redis-server")]
    pub redis: PathBuf,

    /// The load.
    #[arg(long, value_name = "PROGRAM", default_value = "redis-benchmark")]
    pub benchmark: PathBuf,

    /// Requests of each kind in a run.
    #[arg(long, default_value_t = 300_000, value_parser = clap::value_parser!(u32).range(1000..))]
    pub requests: u32,

    /// How often, and where to.
    #[command(flatten)]
    pub turns: Turns,
}

/// A server that is compared.
#[derive(Clone, Debug)]
enum Program {
    Ours(PathBuf),
    Redis(PathBuf),
}

/// Which keys are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    One,
    Many,
}

/// A server under a load.
#[derive(Clone, Debug)]
struct Pair(Keys, Program);

/// What a run found.
struct Found {
    report: Report,
    cpu: Duration,
    /// Requests of both kinds.
    requests: f64,
    rss_mib: f64,
}

type Quantity = (&'static str, &'static str, fn(&Found) -> f64);

const QUANTITIES: [Quantity; 6] = [
    ("set", "requests/s", |f| f.report.set.per_second),
    ("get", "requests/s", |f| f.report.get.per_second),
    ("set", "us p99", |f| f.report.set.p99_us),
    ("get", "us p99", |f| f.report.get.p99_us),
    ("both", "us CPU/request", |f| {
        f.cpu.as_secs_f64() * 1e6 / f.requests
    }),
    ("both", "MiB resident", |f| f.rss_mib),
];

impl Program {
    /// Starts it on a port of its own.
    fn start(&self, turns: &Turns) -> Result<Server, Error> {
        let port = server::free_port()?;
        let (Self::Ours(path) | Self::Redis(path)) = self;
        let mut command = turns.command(path);
        match self {
            Self::Ours(_) => command.arg(format!("127.0.0.1:{port}")),
            Self::Redis(_) => command
                .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
                .args(["--save", "", "--appendonly", "no"]),
        };
        Server::start(&self.to_string(), port, &command)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Ours(path) | Self::Redis(path)) = self;
        f.write_str(&turns::name(path))
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One => f.write_str("1 key"),
            Self::Many => write!(f, "{KEYS} keys"),
        }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.0, self.1)
    }
}

/// Runs the comparison and prints it.
pub(crate) fn run(options: &KvOptions) -> Result<(), Error> {
    let programs = [
        Program::Ours(turns::find(&options.server, BUILD)?),
        Program::Redis(turns::find(&options.redis, INSTALL_SERVER)?),
    ];
    let benchmark = turns::find(&options.benchmark, INSTALL_TOOLS)?;
    let each = format!(
        "{} requests of each kind, {CONNECTIONS} connections, {PIPELINE} requests at a time",
        options.requests
    );
    options.turns.write_header(&each)?;
    let repetition = options.turns.repetition();
    let mut contenders = Vec::new();
    for keys in [Keys::One, Keys::Many] {
        let pairs = programs.iter().map(|program| Pair(keys, program.clone()));
        let run = |pair: &Pair| run_once(pair, &benchmark, options);
        contenders.extend(repetition.interleave(pairs, run)?);
    }
    let rows = rows(&contenders);
    let redis = programs[1].to_string();
    table::write_beside(&rows, |name| name == redis, io::stdout()).map_err(Error::Output)?;
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    repetition.keep(&rows)
}

fn run_once(
    Pair(keys, program): &Pair,
    benchmark: &Path,
    options: &KvOptions,
) -> Result<Found, Error> {
    let server = program.start(&options.turns)?;
    let before = server.cpu()?;
    let report = load(benchmark, server.port(), *keys, options.requests)?;
    let found = Found {
        report,
        cpu: server.cpu()?.saturating_sub(before),
        requests: 2.0 * f64::from(options.requests),
        rss_mib: server.rss_mib()?,
    };
    server.end()?;
    Ok(found)
}

fn load(benchmark: &Path, port: u16, keys: Keys, requests: u32) -> Result<Report, Error> {
    let failed = |source| server::failed("redis-benchmark", source);
    let mut command = Command::new(benchmark);
    command
        .args(["-h", "127.0.0.1", "-p", &port.to_string(), "--csv"])
        .args(["-t", "set,get", "-c", CONNECTIONS, "-P", PIPELINE])
        .args(["-n", &requests.to_string()])
        .stdin(Stdio::null());
    if keys == Keys::Many {
        command.args(["-r", KEYS]);
    }
    let output = command.output().map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    Report::read(&text).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        failed(io::Error::other(format!(
            "it reported nothing: {said}{text}"
        )))
    })
}

/// A row for each quantity and server under a load, those of a quantity side by side.
fn rows(contenders: &[Contender<Pair, Found>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for of_load in contenders.chunk_by(|a, b| a.what.0 == b.what.0) {
        for (kind, unit, quantity) in QUANTITIES {
            rows.extend(of_load.iter().filter_map(|contender| {
                let Pair(keys, program) = &contender.what;
                let figures = contender.figures.iter().map(quantity).collect();
                Row::of(
                    "kv",
                    format!("{kind}, {keys}"),
                    program.to_string(),
                    unit,
                    figures,
                )
            }));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> KvOptions {
        KvOptions {
            server: PathBuf::from("sh"),
            redis: PathBuf::from("sh"),
            benchmark: PathBuf::from("sh"),
            requests: 1000,
            turns: Turns {
                repeat: 1,
                workers: None,
                keep_disturbed: true,
                json: None,
            },
        }
    }

    #[test]
    fn what_is_missing_is_told_with_its_package() {
        let none = || PathBuf::from("/no/such/program");
        for (options, words) in [
            (
                KvOptions {
                    server: none(),
                    ..options()
                },
                "mely-examples",
            ),
            (
                KvOptions {
                    redis: none(),
                    ..options()
                },
                "redis-server",
            ),
            (
                KvOptions {
                    benchmark: none(),
                    ..options()
                },
                "redis-tools",
            ),
        ] {
            let error = run(&options).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_load_that_reports_nothing_is_an_error() {
        let error = load(Path::new("true"), 1, Keys::One, 1000).err();
        assert!(error.unwrap().to_string().contains("reported nothing"));
    }
}
