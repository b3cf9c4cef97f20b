//! `chat`: servers that deliver each client's lines to all others, in turns.
//!
//! Clients are one thread with epoll. Some of them never read, which a server must bear:
//! what it keeps for them is its memory. A line carries the time when it was sent; who
//! reads it knows how long the delivery took.
//!
//! | file | what |
//! |---|---|
//! | `crowd` | the clients, and their timetable |
//! | `lines` | what they send, and how it is read |

mod crowd;
mod lines;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::Args;

use self::crowd::{Crowd, Heard, Plan};
use super::table;
use crate::measure::Error;
use crate::measure::arguments::seconds;
use crate::measure::repetition::Contender;
use crate::measure::report::Row;
use crate::measure::server::{self, Server};
use crate::measure::turns::{self, Turns};

/// What is started when nothing is chosen: ours first.
const SERVERS: [&str; 2] = ["chat", "chat-tokio"];

const WAY_OUT: &str = "cargo build --release -p mely-examples";

/// Chat servers beside each other.
#[derive(Args, Clone, Debug)]
pub struct ChatOptions {
    /// Programs that take an address to listen on; by default `chat` and `chat-tokio`.
    /// Ratios are to the best whose name is not `chat`.
    #[arg(long = "server", value_name = "PROGRAM", value_delimiter = ',',
          default_values = SERVERS)]
    pub servers: Vec<PathBuf>,

    /// Clients of a server.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(2..=20_000))]
    pub clients: u32,

    /// Lines a second that arrive at clients, over all that read.
    #[arg(long, default_value_t = 100_000,
          value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub deliveries: u32,

    /// So many of the clients never read.
    #[arg(long, default_value_t = 3)]
    pub never_read: u32,

    /// Bytes of a line: long ones fill the sockets of those that never read, and then the
    /// memory of a server that waits for them.
    #[arg(long, default_value_t = 64, value_name = "BYTES",
          value_parser = clap::value_parser!(u16).range(lines::LENGTH_MIN as i64..=4096))]
    pub line: u16,

    /// How long each run measures, after a warm-up of a fifth of it.
    #[arg(long, default_value_t = 3.0, value_parser = seconds)]
    pub seconds: f64,

    /// How often, and where to.
    #[command(flatten)]
    pub turns: Turns,
}

/// A program that is compared.
#[derive(Clone)]
struct Program {
    name: String,
    path: PathBuf,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What a run found.
struct Found {
    heard: Heard,
    cpu: Duration,
    peak_mib: f64,
    final_mib: f64,
    end: Duration,
}

type Quantity = (&'static str, fn(&Found) -> f64);

const QUANTITIES: [Quantity; 10] = [
    ("deliveries/s", |f| {
        f.heard.deliveries as f64 / f.heard.time.as_secs_f64()
    }),
    ("us CPU/delivery", |f| {
        f.cpu.as_secs_f64() * 1e6 / f.heard.deliveries.max(1) as f64
    }),
    ("us p50", |f| f.heard.wait_us(0.50)),
    ("us p99", |f| f.heard.wait_us(0.99)),
    ("us p99.9", |f| f.heard.wait_us(0.999)),
    ("never delivered", |f| f.heard.missing as f64),
    ("cut off", |f| f.heard.cut_off as f64),
    ("MiB at most", |f| f.peak_mib),
    ("MiB at last", |f| f.final_mib),
    ("ms to end", |f| f.end.as_secs_f64() * 1e3),
];

/// Runs the comparison and prints it.
pub(crate) fn run(options: &ChatOptions) -> Result<(), Error> {
    let readers = options.clients.saturating_sub(options.never_read);
    let plan = Plan::new(
        readers,
        options.never_read,
        options.deliveries,
        options.line.into(),
    )
    .ok_or_else(|| server::failed("so few clients", io::Error::other("two of them must read")))?;
    let find = |path: &PathBuf| {
        let path = turns::find(path, WAY_OUT)?;
        let name = turns::name(&path);
        Ok(Program { name, path })
    };
    let programs = options.servers.iter().map(find);
    let programs: Vec<Program> = programs.collect::<Result<_, _>>()?;
    let each = format!("{} s: {plan}", options.seconds);
    options.turns.write_header(&each)?;
    let repetition = options.turns.repetition();
    let time = Duration::from_secs_f64(options.seconds);
    let contenders = repetition.interleave(programs, |program| {
        run_once(program, options.turns.command(&program.path), plan, time)
    })?;
    let rows = rows(&contenders, plan);
    let is_peer = |name: &str| name != SERVERS[0];
    table::write_beside(&rows, is_peer, io::stdout()).map_err(Error::Output)?;
    repetition
        .write_disturbed(&contenders)
        .map_err(Error::Output)?;
    repetition.keep(&rows)
}

fn run_once(
    program: &Program,
    mut command: Command,
    plan: Plan,
    time: Duration,
) -> Result<Found, Error> {
    let failed = |source| server::failed(&format!("the clients of {program}"), source);
    let port = server::free_port()?;
    command.arg(format!("127.0.0.1:{port}"));
    let server = Server::start(&program.name, port, &command)?;
    let mut crowd = Crowd::connect(server.address(), plan).map_err(failed)?;
    crowd.warm_up(time).map_err(failed)?;
    let before = server.cpu()?;
    crowd.talk(time).map_err(failed)?;
    let cpu = server.cpu()?.saturating_sub(before);
    let heard = crowd.finish().map_err(failed)?;
    let (peak_mib, final_mib) = (server.peak_mib()?, server.rss_mib()?);
    // Its clients are still there, those that never read among them.
    let end = server.end()?;
    drop(crowd);
    Ok(Found {
        heard,
        cpu,
        peak_mib,
        final_mib,
        end,
    })
}

/// A row for each quantity and server, those of a quantity side by side.
fn rows(contenders: &[Contender<Program, Found>], plan: Plan) -> Vec<Row> {
    let mut rows = Vec::new();
    for (unit, quantity) in QUANTITIES {
        rows.extend(contenders.iter().filter_map(|contender| {
            let figures = contender.figures.iter().map(quantity).collect();
            let name = contender.what.name.clone();
            Row::of("chat", plan.workload(), name, unit, figures)
        }));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_told_with_how_to_build_it() {
        let options = ChatOptions {
            servers: vec![PathBuf::from("/no/such/chat")],
            clients: 3,
            deliveries: 10,
            never_read: 0,
            line: 64,
            seconds: 0.01,
            turns: Turns {
                repeat: 1,
                workers: None,
                keep_disturbed: true,
                json: None,
            },
        };
        let error = run(&options).unwrap_err().to_string();
        assert!(
            error.contains("cargo build --release -p mely-examples"),
            "{error}"
        );
    }
}
