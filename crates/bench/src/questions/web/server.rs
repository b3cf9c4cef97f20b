//! A server as a child process.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::measure::Error;

/// How often a server is asked whether it listens, 50 ms apart.
const LISTEN_TRIES: u32 = 200;

/// A running server; ended when dropped.
pub(super) struct Server {
    name: String,
    port: u16,
    child: Child,
}

impl Server {
    /// Starts a program that will listen on a port, and waits until it does.
    pub(super) fn start(name: &str, port: u16, mut command: Command) -> Result<Self, Error> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().map_err(|source| failed(name, source))?;
        let mut server = Self {
            name: name.to_owned(),
            port,
            child,
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        for _ in 0..LISTEN_TRIES {
            if TcpStream::connect(address).is_ok() {
                return Ok(server);
            }
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(failed(name, io::Error::other(format!("ended: {status}"))));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(failed(name, io::ErrorKind::TimedOut.into()))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The CPU time that all processes of the server have used.
    pub(super) fn cpu(&self) -> Result<Duration, Error> {
        let mut ticks = 0;
        for pid in self.processes() {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .map_err(|source| failed(&self.name, source))?;
            // The name of the program, in parentheses, may hold anything.
            let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
            let times = after.split_whitespace().skip(11).take(2);
            ticks += times.filter_map(|t| t.parse::<u64>().ok()).sum::<u64>();
        }
        let per_second = rustix::param::clock_ticks_per_second();
        Ok(Duration::from_secs_f64(ticks as f64 / per_second as f64))
    }

    /// The resident memory of all processes of the server, shared pages counted in
    /// each.
    pub(super) fn rss_mib(&self) -> Result<f64, Error> {
        let mut pages = 0;
        for pid in self.processes() {
            let statm = std::fs::read_to_string(format!("/proc/{pid}/statm"))
                .map_err(|source| failed(&self.name, source))?;
            let resident = statm.split_whitespace().nth(1);
            pages += resident.and_then(|p| p.parse::<u64>().ok()).unwrap_or(0);
        }
        let bytes = pages as f64 * rustix::param::page_size() as f64;
        Ok(bytes / f64::from(1 << 20))
    }

    /// The process and its children.
    fn processes(&self) -> Vec<u32> {
        let pid = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        let children = children.split_whitespace().filter_map(|c| c.parse().ok());
        [pid].into_iter().chain(children).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // One that has ended already needs no signal.
            let _ = kill_process(pid, Signal::TERM);
        }
        drop(self.child.wait());
    }
}

pub(super) fn failed(what: &str, source: io::Error) -> Error {
    Error::Web {
        what: what.to_owned(),
        source,
    }
}

/// A port that nobody listens on at this moment.
pub(super) fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|source| failed("a free port", source))
}
