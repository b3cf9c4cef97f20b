//! `servers`, `sockets` and `idle`: many connections, beside servers with threads.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::StagesOptions;
use super::setting::{self, beside, in_turns, on_cores, write_header};
use crate::contenders::staged::packets::PACKET_BYTES;
use crate::contenders::staged::{StageServer, StagesServeOptions};
use crate::measure::server::{self, Server};
use crate::measure::staged::StageRow;
use crate::measure::turns;
use crate::measure::{Error, Failure, descriptors};
use crate::workloads::staged::{bursts, pages};

/// The file that the web server serves; servers with threads serve the same for any path.
const FILE: &str = "page.html";

/// Requests on a connection, and the pause between two of a client, as the slides have them.
const REQUESTS_EACH: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

const BUILD: &str = "cargo build --release -p mely-cli";

/// Who serves.
#[derive(Clone, Debug)]
enum Contestant {
    /// The web server of this project.
    Web(PathBuf),
    Own(StageServer),
}

/// A server under so many connections.
struct Pair(Contestant, u32);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} connections", self.0, self.1)
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Web(_) | Self::Own(StageServer::Packets) => "mely",
            Self::Own(StageServer::ThreadPool) => "thread-pool",
            Self::Own(_) => "thread-each",
        })
    }
}

impl Contestant {
    fn start(&self, options: &StagesOptions, folder: &Path) -> Result<Server, Error> {
        let failed = |source| server::failed("a server of connections", source);
        let port = server::free_port()?;
        let cores = setting::workers(options);
        let command = match self {
            Self::Web(program) => {
                let mut command = on_cores(program, cores);
                command
                    .args(["web", "--quiet", "--max-clients=20000"])
                    .arg(folder)
                    .args(["--listen", &format!("127.0.0.1:{port}")])
                    .args(["--workers", &cores.to_string()]);
                command
            }
            Self::Own(what) => {
                let program = std::env::current_exe().map_err(failed)?;
                let mut command = on_cores(&program, cores);
                let mut served = StagesServeOptions::new(*what, port);
                served.workers = u16::try_from(cores).unwrap_or(u16::MAX);
                served.answer_bytes = options.answer;
                served.tell(&mut command);
                command
            }
        };
        Server::start(&self.to_string(), port, &command)
    }
}

/// Each server under each number of connections.
fn pairs(servers: &[Contestant], connections: &[u32]) -> Vec<Pair> {
    let of_servers = |&number: &u32| {
        servers
            .iter()
            .map(move |server| Pair(server.clone(), number))
    };
    connections.iter().flat_map(of_servers).collect()
}

fn row(experiment: &str, Pair(server, connections): &Pair) -> StageRow {
    StageRow::new(experiment, server, format!("{connections} connections"))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Of ordered times the one that so large a share does not exceed, in milliseconds.
fn at(times: &[Duration], share: f64) -> Option<f64> {
    let last = times.len().checked_sub(1)?;
    Some(ms(times[(last as f64 * share).round() as usize]))
}

/// `servers`: pages of 8 KB.
pub(super) fn run_servers(options: &StagesOptions) -> Result<Vec<StageRow>, Error> {
    let failed = |source| server::failed("the directory to serve", source);
    descriptors::raise_limit();
    let folder = tempfile::tempdir().map_err(failed)?;
    std::fs::write(
        folder.path().join(FILE),
        vec![b'x'; options.answer as usize],
    )
    .map_err(failed)?;
    let servers = [
        Contestant::Web(turns::find(Path::new("mely"), BUILD)?),
        Contestant::Own(StageServer::ThreadPool),
        Contestant::Own(StageServer::ThreadEach),
    ];
    let each = format!(
        "{} s: pages of {} bytes, {REQUESTS_EACH} requests a connection, {PAUSE:?} between them",
        options.seconds, options.answer
    );
    write_header(options, &each)?;
    let counts = options.connections_or(&[64, 250, 1000, 4000]);
    in_turns(options, pairs(&servers, &counts), |pair| {
        let run = || -> Result<Vec<StageRow>, Failure> {
            let server = pair.0.start(options, folder.path())?;
            let habit = pages::Habit {
                clients: pair.1 as usize,
                pause: PAUSE,
                requests_each: REQUESTS_EACH,
                time: Duration::from_secs_f64(options.seconds),
            };
            let address = server.address();
            let seen = beside(|| pages::load(address, &format!("/{FILE}"), habit))?;
            let answers: u32 = seen.answers.iter().sum();
            let row = StageRow {
                goodput: Some(f64::from(answers) / options.seconds),
                p50_ms: at(&seen.responses, 0.5),
                p99_ms: at(&seen.responses, 0.99),
                memory_mb: Some(server.peak_mib()?),
                ..row("servers", pair)
            };
            let figure = |times: &[Duration], share| at(times, share).unwrap_or(f64::NAN);
            let row = row
                .with("max_ms", figure(&seen.responses, 1.0))
                .with("connect_p50_ms", figure(&seen.connects, 0.5))
                .with("connect_max_ms", figure(&seen.connects, 1.0))
                .with("fairness", seen.fairness())
                .with("errors", seen.errors as f64);
            Ok(vec![row])
        };
        run().map_err(Error::run("servers", pair))
    })
}

const PACKETS: [Contestant; 2] = [
    Contestant::Own(StageServer::Packets),
    Contestant::Own(StageServer::PacketThreads),
];

/// `sockets`: bursts of packets.
pub(super) fn run_sockets(options: &StagesOptions) -> Result<Vec<StageRow>, Error> {
    descriptors::raise_limit();
    let each = format!(
        "{} packets of 8 KB on each connection, 32 bytes back; the slides have 1000",
        options.packets
    );
    write_header(options, &each)?;
    let counts = options.connections_or(&[1, 10, 100, 1000, 10_000]);
    in_turns(options, pairs(&PACKETS, &counts), |pair| {
        let run = || -> Result<Vec<StageRow>, Failure> {
            let server = pair.0.start(options, Path::new(""))?;
            let address = server.address();
            let time = beside(|| bursts::send(address, pair.1 as usize, options.packets))?;
            let packets = f64::from(pair.1) * f64::from(options.packets);
            let per_second = packets / time.as_secs_f64();
            let row = StageRow {
                goodput: Some(per_second),
                memory_mb: Some(server.peak_mib()?),
                ..row("sockets", pair)
            };
            let megabits = per_second * PACKET_BYTES as f64 * 8.0 / 1e6;
            let row = row.with("packets_each", f64::from(options.packets));
            Ok(vec![row.with("mbit_per_s", megabits)])
        };
        run().map_err(Error::run("sockets", pair))
    })
}

/// `idle`: one active connection among idle ones.
pub(super) fn run_idle(options: &StagesOptions) -> Result<Vec<StageRow>, Error> {
    descriptors::raise_limit();
    let each = format!(
        "{} s: one connection sends 8 KB and gets 32 bytes, again and again; the others are idle",
        options.seconds
    );
    write_header(options, &each)?;
    let counts = options.connections_or(&[1, 100, 1000, 10_000]);
    in_turns(options, pairs(&PACKETS, &counts), |pair| {
        let run = || -> Result<Vec<StageRow>, Failure> {
            let server = pair.0.start(options, Path::new(""))?;
            let (address, idle) = (server.address(), pair.1 as usize);
            let time = Duration::from_secs_f64(options.seconds);
            let waits = beside(|| bursts::among_idle(address, idle, time))?;
            let row = StageRow {
                goodput: Some(waits.len() as f64 / options.seconds),
                p50_ms: at(&waits, 0.5),
                p99_ms: at(&waits, 0.99),
                memory_mb: Some(server.peak_mib()?),
                ..StageRow::new("idle", &pair.0, format!("{idle} idle"))
            };
            Ok(vec![row])
        };
        run().map_err(Error::run("idle", pair))
    })
}
