//! A server as a child process.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::error::Error;

/// How often a server is asked whether it listens, 50 ms apart.
const LISTEN_TRIES: u32 = 200;

/// A server that was asked to end may take so long.
const END_MAX: Duration = Duration::from_secs(10);

/// How exactly that is seen.
const END_POLL: Duration = Duration::from_micros(200);

/// How `setpriv` ends if there is no such program.
const NOT_FOUND: i32 = 127;

/// A running server; ended when dropped.
pub(crate) struct Server {
    name: String,
    port: u16,
    child: Child,
}

impl Server {
    /// Starts a program that will listen on a port, and waits until it does.
    pub(crate) fn start(name: &str, port: u16, command: &Command) -> Result<Self, Error> {
        let child = by_itself(command)
            .spawn()
            .map_err(|source| failed(name, source))?;
        let mut server = Self {
            name: name.to_owned(),
            port,
            child,
        };
        let address = server.address();
        for _ in 0..LISTEN_TRIES {
            if TcpStream::connect(address).is_ok() {
                return Ok(server);
            }
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(failed(name, ended(status)));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(failed(name, io::ErrorKind::TimedOut.into()))
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The CPU time that all processes of the server have used.
    pub(crate) fn cpu(&self) -> Result<Duration, Error> {
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
    pub(crate) fn rss_mib(&self) -> Result<f64, Error> {
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

    /// The most resident memory that the process has had.
    pub(crate) fn peak_mib(&self) -> Result<f64, Error> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).map_err(|source| failed(&self.name, source))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
        let missing = || failed(&self.name, io::ErrorKind::InvalidData.into());
        kib.map(|kib| kib / 1024.0).ok_or_else(missing)
    }

    /// Asks it to end by SIGTERM: how long it takes.
    pub(crate) fn end(mut self) -> Result<Duration, Error> {
        let asked = Instant::now();
        self.terminate();
        while asked.elapsed() < END_MAX {
            match self.child.try_wait() {
                Ok(Some(_)) => return Ok(asked.elapsed()),
                Ok(None) => std::thread::sleep(END_POLL),
                Err(source) => return Err(failed(&self.name, source)),
            }
        }
        // A process that does not hear the signal would be waited for without an end.
        drop(self.child.kill());
        let message = format!("it has not ended {} s after SIGTERM", END_MAX.as_secs());
        Err(failed(&self.name, io::Error::other(message)))
    }

    fn terminate(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // One that has ended already needs no signal.
            let _ = kill_process(pid, Signal::TERM);
        }
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
        self.terminate();
        drop(self.child.wait());
    }
}

/// The command in a process group of its own, since there are servers that end their whole
/// group with themselves (lighttpd); so it is ended when this process goes, as a signal from
/// the terminal no longer reaches it.
fn by_itself(command: &Command) -> Command {
    let mut alone = Command::new("setpriv");
    alone.args(["--pdeathsig", "TERM", "--"]);
    alone.arg(command.get_program()).args(command.get_args());
    alone.process_group(0);
    alone.stdin(Stdio::null()).stdout(Stdio::null());
    alone
}

/// Why a server that has ended at once has done so.
fn ended(status: ExitStatus) -> io::Error {
    match status.code() {
        Some(NOT_FOUND) => io::ErrorKind::NotFound.into(),
        _ => io::Error::other(format!("ended: {status}")),
    }
}

pub(crate) fn failed(what: &str, source: io::Error) -> Error {
    Error::Server {
        what: what.to_owned(),
        source,
    }
}

/// A port that nobody listens on at this moment.
pub(crate) fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|source| failed("a free port", source))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that listens to nothing, and a port where somebody else does.
    fn started(script: &str) -> (Server, TcpListener) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let server = Server::start("a shell", port, &command).unwrap();
        (server, listener)
    }

    #[test]
    fn what_a_server_uses_is_read_and_it_ends_when_asked() {
        let (server, _listener) = started("exec tail -f /dev/null");
        let (peak, now) = (server.peak_mib().unwrap(), server.rss_mib().unwrap());
        assert!(peak > 0.0 && now > 0.0, "{peak} {now}");
        server.cpu().unwrap();
        let folder = format!("/proc/{}", server.child.id());
        assert!(server.end().unwrap() < END_MAX);
        assert!(!std::fs::exists(folder).unwrap());
    }

    #[test]
    fn a_program_that_is_not_there_is_told_as_such() {
        let started = Server::start("none", 9, &Command::new("no-such-program"));
        let Err(Error::Server { source, .. }) = started else {
            panic!("a server that is not there has started");
        };
        assert_eq!(source.kind(), io::ErrorKind::NotFound);
    }
}
