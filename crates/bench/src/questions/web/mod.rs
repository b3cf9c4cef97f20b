//! `web`: the web server beside others, on one small file.
//!
//! All serve the same file from the same directory, with as many workers, to the same
//! clients, in turns. CPU time is what the kernel counts for the server's processes, so
//! neither the client nor other load enters that figure; requests a second are those of
//! a machine that server and client share.
//!
//! | file | what |
//! |---|---|
//! | `peers` | the servers and their settings |
//! | `load` | what they are loaded with |
//! | `wrk` | connections that stay open |
//! | `clients` | connections that are opened anew |
//! | `answers`, `table` | what came of it |

mod answers;
mod clients;
mod load;
mod peers;
mod table;
mod wrk;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use self::load::Load;
pub use self::load::Requests;
pub use self::peers::Peer;
use self::peers::Site;
use self::table::Runs;
use crate::contenders::choice::chosen;
use crate::measure::Error;
use crate::measure::foreign::Foreign;
use crate::measure::machine::Machine;
use crate::measure::report::{Row, write_json};
use crate::measure::server::{self, Server};

/// The file that is requested.
const FILE: &str = "1k.txt";
const FILE_BYTES: usize = 1024;

/// How long the servers are left alone before their idle CPU time is read.
const IDLE_SECONDS: u64 = 5;

/// The web server beside nginx, lighttpd and h2o, on one file of 1 KB.
#[derive(Args, Clone, Debug)]
pub struct WebOptions {
    /// Connections at a time; each number is a workload.
    #[arg(long, value_delimiter = ',', default_values_t = [200, 1000, 2000],
          value_parser = clap::value_parser!(u32).range(1..=8000))]
    pub connections: Vec<u32>,

    /// Requests on a connection before its client closes it and opens another: a
    /// number, or `all` for connections that stay open; each is a workload.
    #[arg(long, value_name = "REQUESTS", value_delimiter = ',',
          default_values_t = [Requests::All, Requests::Each(150)])]
    pub requests: Vec<Requests>,

    /// Only these other servers; by default all.
    #[arg(long = "peer", value_name = "SERVER", value_delimiter = ',')]
    pub peers: Vec<Peer>,

    /// How long each run is.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,

    /// How many runs of each server and workload.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,

    /// Workers of each server.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: u16,

    /// The `mely` program; by default the running one, or the one beside it.
    #[arg(long, value_name = "PROGRAM")]
    pub mely: Option<PathBuf>,

    /// Options of `mely web`, as "--policy mely": a server of its own in the same run,
    /// beside the one without; repeat for more.
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub mely_args: Vec<String>,

    /// Keeps the first core busy with another process meanwhile.
    #[arg(long)]
    pub foreign: bool,

    /// Writes the figures as a JSON array.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Runs the comparison and prints it.
pub(crate) fn run(options: &WebOptions) -> Result<(), Error> {
    if options.requests.contains(&Requests::All) {
        wrk::check()?;
    }
    let directory = Directory::new()?;
    let servers = start(options, directory.path())?;
    println!("{}", Machine::detect());
    println!(
        "{} workers each, {} runs of {} s each, interleaved; {FILE_BYTES} bytes a file{}",
        options.workers,
        options.repeat,
        options.seconds,
        if options.foreign {
            "; another process keeps the first core busy"
        } else {
            ""
        }
    );
    let foreign = options.foreign.then(Foreign::start).transpose();
    let foreign = foreign.map_err(|source| server::failed("another process", source))?;
    let mut rows = Vec::new();
    for &requests in &options.requests {
        for &connections in &options.connections {
            let load = Load {
                connections,
                requests,
            };
            let of_load = interleave(&servers, load, options)?;
            table::write(load, &of_load, io::stdout()).map_err(Error::Output)?;
            rows.extend(of_load);
        }
    }
    drop(foreign);
    print_idle(&servers)?;
    match &options.json {
        Some(path) => write_json(&rows, path),
        None => Ok(()),
    }
}

/// Starts ours, as often as there are options for it, and the others; names those that
/// cannot be started.
fn start(options: &WebOptions, root: &Path) -> Result<Vec<Server>, Error> {
    let site = Site {
        root,
        workers: options.workers,
    };
    let program = program(options)?;
    let mut servers = vec![peers::mely(&program, site, "")?];
    for flags in &options.mely_args {
        servers.push(peers::mely(&program, site, flags)?);
    }
    for peer in chosen(&options.peers, &Peer::ALL) {
        match peer.start(site) {
            Ok(server) => servers.push(server),
            Err(error) => println!("{}", peer.skipped(&error)),
        }
    }
    Ok(servers)
}

fn interleave(servers: &[Server], load: Load, options: &WebOptions) -> Result<Vec<Row>, Error> {
    let mut runs: Vec<Runs> = servers.iter().map(|_| Runs::default()).collect();
    for _ in 0..options.repeat {
        for (server, runs) in servers.iter().zip(&mut runs) {
            let before = server.cpu()?;
            let answers = load.run(server.port(), FILE, options.seconds)?;
            let cpu = server.cpu()?.saturating_sub(before);
            runs.add(answers, cpu.as_secs_f64(), server.rss_mib()?);
        }
    }
    let runs = servers.iter().zip(runs);
    Ok(runs
        .flat_map(|(server, runs)| runs.rows(load, server.name()))
        .collect())
}

/// Says what the servers use while nobody asks them anything.
fn print_idle(servers: &[Server]) -> Result<(), Error> {
    let used = || servers.iter().map(Server::cpu);
    let before: Vec<Duration> = used().collect::<Result<_, _>>()?;
    std::thread::sleep(Duration::from_secs(IDLE_SECONDS));
    for ((server, before), after) in servers.iter().zip(before).zip(used()) {
        let idle = after?.saturating_sub(before);
        let share = 100.0 * idle.as_secs_f64() / IDLE_SECONDS as f64;
        println!("{} idle afterwards: {share:.1} % of a core", server.name());
    }
    Ok(())
}

/// The `mely` program to start.
fn program(options: &WebOptions) -> Result<PathBuf, Error> {
    if let Some(program) = &options.mely {
        return Ok(program.clone());
    }
    let own = std::env::current_exe().map_err(|source| Error::Server {
        what: "the running program".to_owned(),
        source,
    })?;
    Ok(own.with_file_name("mely"))
}

/// A directory with the file, removed at the end.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Result<Self, Error> {
        let failed = |source| Error::Server {
            what: "the directory to serve".to_owned(),
            source,
        };
        let directory = tempfile::tempdir().map_err(failed)?;
        let line = b"A line of text that a web server serves again and again, unchanged.\n";
        let text: Vec<u8> = line.iter().copied().cycle().take(FILE_BYTES).collect();
        std::fs::write(directory.path().join(FILE), text).map_err(failed)?;
        Ok(Self(directory))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}
