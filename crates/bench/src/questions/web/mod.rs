//! `web`: CPU time per request of the web server beside nginx's, on one small file.
//!
//! Both serve the same file from the same directory, with as many workers, to the
//! same `wrk`, in turns. CPU time is what the kernel counts for the server's
//! processes, so neither the client nor other load enters the figure.

mod server;
mod wrk;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use self::server::Server;
use crate::measure::Error;
use crate::measure::machine::Machine;
use crate::measure::report::{Row, write_json};

/// The file that is requested.
const FILE: &str = "1k.txt";
const FILE_BYTES: usize = 1024;

/// How long the server is left alone before its idle CPU time is read, and over
/// how long it is read.
const IDLE_SECONDS: u64 = 5;

/// CPU time per request beside nginx's, on one file of 1 KB.
#[derive(Args, Clone, Debug)]
pub struct WebOptions {
    /// Connections that are kept open; each number is a workload.
    #[arg(long, value_delimiter = ',', default_values_t = [200, 1000, 2000])]
    pub connections: Vec<u32>,

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

    /// Writes the figures as a JSON array.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// What the runs of a server on a workload measured.
#[derive(Default)]
struct Runs {
    cpu_us_per_request: Vec<f64>,
    requests_per_second: Vec<f64>,
    errors: u64,
    rss_mib: f64,
}

/// Runs the comparison and prints it.
pub(crate) fn run(options: &WebOptions) -> Result<(), Error> {
    wrk::check()?;
    let directory = Directory::new()?;
    let mut servers = vec![Server::mely(&program(options)?, directory.path(), options)?];
    match Server::nginx(directory.path(), options) {
        Ok(nginx) => servers.push(nginx),
        Err(error) => eprintln!("skipped nginx: {error}"),
    }
    println!("{}", Machine::detect());
    println!(
        "{} workers each, {} runs of {} s each, interleaved; {FILE_BYTES} bytes a file",
        options.workers, options.repeat, options.seconds
    );
    let mut out = std::io::stdout();
    let header =
        "connections server  CPU us/request  min    max   requests/s  errors  RSS MiB  /nginx";
    writeln!(out, "{header}").map_err(Error::Output)?;
    let mut rows = Vec::new();
    for &connections in &options.connections {
        let runs = interleave(&servers, connections, options)?;
        rows.extend(print(&servers, &runs, connections)?);
    }
    for server in &servers {
        let before = server.cpu()?;
        std::thread::sleep(Duration::from_secs(IDLE_SECONDS));
        let idle = server.cpu()?.saturating_sub(before);
        let share = 100.0 * idle.as_secs_f64() / IDLE_SECONDS as f64;
        println!("{} idle afterwards: {share:.1} % of a core", server.name());
    }
    match &options.json {
        Some(path) => write_json(&rows, path),
        None => Ok(()),
    }
}

fn interleave(
    servers: &[Server],
    connections: u32,
    options: &WebOptions,
) -> Result<Vec<Runs>, Error> {
    let mut runs: Vec<Runs> = servers.iter().map(|_| Runs::default()).collect();
    for _ in 0..options.repeat {
        for (server, runs) in servers.iter().zip(&mut runs) {
            let before = server.cpu()?;
            let load = wrk::run(server.port(), FILE, connections, options.seconds)?;
            let cpu = server.cpu()?.saturating_sub(before);
            let requests = load.requests.max(1) as f64;
            runs.cpu_us_per_request
                .push(cpu.as_secs_f64() * 1e6 / requests);
            runs.requests_per_second.push(requests / load.seconds);
            runs.errors += load.errors;
            runs.rss_mib = server.rss_mib()?;
        }
    }
    Ok(runs)
}

fn print(servers: &[Server], runs: &[Runs], connections: u32) -> Result<Vec<Row>, Error> {
    let mut rows: Vec<Row> = Vec::new();
    for (server, runs) in servers.iter().zip(runs) {
        let figures = [
            ("us CPU/request", &runs.cpu_us_per_request),
            ("requests/s", &runs.requests_per_second),
        ];
        for (unit, figures) in figures {
            let workload = format!("1 KB, {connections} connections");
            let name = server.name().to_owned();
            rows.extend(Row::of("web", workload, name, unit, figures.clone()));
        }
    }
    let of = |name: &str| {
        let cpu = |row: &&Row| row.implementation == name && row.unit == "us CPU/request";
        rows.iter().find(cpu)
    };
    let nginx = of("nginx").map(|row| row.median);
    for (server, runs) in servers.iter().zip(runs) {
        let Some(cpu) = of(server.name()) else {
            continue;
        };
        let rate = rows
            .iter()
            .find(|row| row.implementation == server.name() && row.unit == "requests/s");
        let ratio = nginx.map_or_else(|| "-".to_owned(), |n| format!("{:.2}", cpu.median / n));
        writeln!(
            std::io::stdout(),
            "{connections:>11} {:<7} {:>14.2} {:>5.2} {:>6.2} {:>12.0} {:>7} {:>8.1} {ratio:>7}",
            server.name(),
            cpu.median,
            cpu.min,
            cpu.max,
            rate.map_or(0.0, |row| row.median),
            runs.errors,
            runs.rss_mib,
        )
        .map_err(Error::Output)?;
    }
    Ok(rows)
}

/// The `mely` program to start.
fn program(options: &WebOptions) -> Result<PathBuf, Error> {
    if let Some(program) = &options.mely {
        return Ok(program.clone());
    }
    let own = std::env::current_exe().map_err(|source| Error::Web {
        what: "the running program".to_owned(),
        source,
    })?;
    Ok(own.with_file_name("mely"))
}

/// A directory with the file, removed at the end.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Result<Self, Error> {
        let failed = |source| Error::Web {
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
