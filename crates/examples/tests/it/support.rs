//! Programs that run for a test, and connections to them that cannot hang.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, Signal, kill_process};

/// After how long a wait has failed: a bound, never a measure.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// The examples, by name.
pub(crate) const ALL: &[(&str, &str)] = &[
    ("axum", env!("CARGO_BIN_EXE_axum")),
    ("chat", env!("CARGO_BIN_EXE_chat")),
    ("chat-tokio", env!("CARGO_BIN_EXE_chat-tokio")),
    ("echo", env!("CARGO_BIN_EXE_echo")),
    ("kv", env!("CARGO_BIN_EXE_kv")),
    ("limiter", env!("CARGO_BIN_EXE_limiter")),
    ("timers", env!("CARGO_BIN_EXE_timers")),
];

/// An example that runs until this is dropped.
pub(crate) struct Program {
    child: Child,
    pub(crate) stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
}

pub(crate) fn command(name: &str) -> Command {
    let known = ALL.iter().find(|(known, _)| *known == name);
    Command::new(known.expect("an example").1)
}

impl Program {
    pub(crate) fn start(name: &str) -> Self {
        let mut command = command(name);
        let command = command.arg("127.0.0.1:0").stdout(Stdio::piped());
        let mut child = command.spawn().expect("it is built");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("it says where");
        let address = line.strip_prefix("listening on ").expect("an address");
        let address = address.trim().to_owned();
        Self {
            child,
            stdout,
            address,
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(WAIT)).expect("a limit");
        stream.set_write_timeout(Some(WAIT)).expect("a limit");
        stream.set_nodelay(true).expect("a TCP socket");
        stream
    }

    /// Connects, and has the system keep as little as it may of what is not read.
    pub(crate) fn connect_small(&self) -> TcpStream {
        let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
        let socket = rustix::net::socket(family, kind, None).expect("a socket");
        set_socket_recv_buffer_size(&socket, 1).expect("an option");
        let address: SocketAddr = self.address.parse().expect("an address");
        rustix::net::connect(&socket, &address).expect("it listens");
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(WAIT)).expect("a limit");
        stream
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit(':').next().expect("a port")
    }

    /// How many bytes of memory it has.
    pub(crate) fn resident_bytes(&self) -> usize {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kilobytes
            .expect("a size")
            .parse::<usize>()
            .expect("a number")
            * 1024
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn end(&mut self, signal: Signal) -> ExitStatus {
        let id = i32::try_from(self.child.id()).expect("an id of Linux");
        let id = Pid::from_raw(id).expect("not 0");
        kill_process(id, signal).expect("it runs");
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return status;
            }
            assert!(began.elapsed() < WAIT, "it does not end");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads exactly what is expected.
#[track_caller]
pub(crate) fn expect(stream: &mut impl Read, expected: &[u8]) {
    let mut bytes = vec![0; expected.len()];
    stream.read_exact(&mut bytes).expect("all of it");
    let (bytes, expected) = (bytes.escape_ascii(), expected.escape_ascii());
    assert_eq!(bytes.to_string(), expected.to_string());
}

/// Sends that, and reads exactly what is expected.
#[track_caller]
pub(crate) fn ask(stream: &mut TcpStream, question: &[u8], expected: &[u8]) {
    stream.write_all(question).expect("it reads");
    expect(stream, expected);
}

/// What a program of the system prints; `None` where it is not installed, which is told.
pub(crate) fn output_of(program: &str, args: &[&str]) -> Option<String> {
    output_with(program, args, Stdio::null())
}

/// The same, of one that reads from `stdin`.
pub(crate) fn output_with(program: &str, args: &[&str], stdin: impl Into<Stdio>) -> Option<String> {
    let output = Command::new(program).args(args).stdin(stdin).output();
    let Ok(output) = output else {
        eprintln!("not tested: {program} is not installed (`cargo xtask packages` installs it)");
        return None;
    };
    let (out, error) = (&output.stdout, &output.stderr);
    let error = String::from_utf8_lossy(error);
    assert!(output.status.success(), "{program}: {error}");
    Some(String::from_utf8_lossy(out).into_owned())
}
