//! A running `mely web`, and what it said.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Longer than anything takes here: a test fails by it, and never waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// After this a server is killed, so that a test that waits for its words ends.
const LIFE_MAX: Duration = Duration::from_secs(600);

pub(crate) fn mely() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mely"));
    command.stdin(Stdio::null());
    command
}

/// A server in a process of its own, ended with the test.
pub(crate) struct Web {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Dropped when the child is waited for: it may be killed until then.
    _alive: Sender<()>,
    /// `HOST:PORT`.
    pub(crate) address: String,
}

impl Web {
    /// Serves `dir` on a free port.
    pub(crate) fn start(dir: &Path, arguments: &[&str]) -> Self {
        let mut command = mely();
        command.arg("web").arg(dir);
        command.args(["--listen", "127.0.0.1:0"]).args(arguments);
        Self::spawn(command)
    }

    /// Waits until the process that `command` starts has printed its address.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().strip_prefix("http://");
        let address = address.and_then(|rest| rest.strip_suffix('/'));
        let mut web = Self {
            address: String::new(),
            _alive: kill_after(LIFE_MAX, id_of(&child)),
            child,
            stderr,
        };
        match address {
            Some(address) => web.address = address.to_owned(),
            None => panic!("no address in {line:?}: {}", web.said()),
        }
        web
    }

    /// The next line on standard error that has `part` in it.
    pub(crate) fn line_with(&mut self, part: &str) -> String {
        loop {
            let mut line = String::new();
            let count = self.stderr.read_line(&mut line).unwrap();
            assert!(count > 0, "it ended without a line with {part:?}");
            if line.contains(part) {
                return line;
            }
        }
    }

    /// All that it says until it ends.
    pub(crate) fn said(&mut self) -> String {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        said
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(id_of(&self.child), signal).unwrap();
    }

    /// Waits for the end of the process.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < give_up, "it does not end");
            std::thread::yield_now();
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        // Fails when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn id_of(child: &Child) -> Pid {
    let id = i32::try_from(child.id()).unwrap();
    Pid::from_raw(id).unwrap()
}

/// Kills a process unless what is returned is dropped before.
fn kill_after(time: Duration, id: Pid) -> Sender<()> {
    let (alive, ended) = mpsc::channel();
    std::thread::spawn(move || {
        if ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process(id, Signal::KILL);
        }
    });
    alive
}
