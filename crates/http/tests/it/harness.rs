//! A live server on the loopback, and a client that shows every byte.

use mely::{ReactorKind, Runtime};
use mely_http::server::{Address, Server, ServerOptions, ServerStats};
use mely_http::{DateCache, Limits, Now, Options, Protocol, Site};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Longer than anything takes here: a test fails by it, and never waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn now() -> Now {
    DateCache::new().at(Instant::now(), SystemTime::now())
}

/// Bytes that differ from place to place and from file to file.
pub(crate) fn content(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|n| (n * 31 + n / 251 + seed) as u8)
        .collect()
}

pub(crate) struct Setup {
    pub(crate) workers: usize,
    pub(crate) reactor: ReactorKind,
    pub(crate) limits: Limits,
    pub(crate) options: Options,
    pub(crate) refusing_max: usize,
    pub(crate) unix: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            workers: 2,
            reactor: ReactorKind::PerWorker,
            limits: Limits {
                cache_file_bytes: 100_000,
                ..Limits::default()
            },
            options: Options {
                revalidate_interval: Duration::ZERO,
                ..Options::default()
            },
            refusing_max: 64,
            unix: false,
        }
    }
}

pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) runtime: Runtime,
    pub(crate) root: tempfile::TempDir,
}

impl Setup {
    pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Self {
        let mut setup = Self::default();
        change(&mut setup.limits);
        setup
    }

    pub(crate) fn serve(self, files: &[(&str, &[u8])]) -> Served {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            write(root.path(), name, content);
        }
        let site = Site::open(root.path(), self.options, &self.limits, &now()).unwrap();
        let protocol = Arc::new(Protocol::new(self.limits));
        let runtime = Runtime::builder()
            .workers(self.workers)
            .reactor(self.reactor)
            .build()
            .unwrap();
        let mut listen = vec!["127.0.0.1:0".parse().unwrap()];
        if self.unix {
            listen.push(Address::Unix(root.path().join(".socket")));
        }
        let mut options = ServerOptions::listen(listen);
        options.reactor = self.reactor;
        options.refusing_max = self.refusing_max;
        let server = Server::start(&runtime, Arc::new(site), protocol, options).unwrap();
        Served {
            server,
            runtime,
            root,
        }
    }
}

/// Serves with the defaults.
pub(crate) fn serve(files: &[(&str, &[u8])]) -> Served {
    Setup::default().serve(files)
}

pub(crate) fn write(root: &Path, name: &str, content: &[u8]) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

impl Served {
    pub(crate) fn address(&self) -> SocketAddr {
        match self.server.addresses()[0] {
            Address::Tcp(address) => address,
            ref other => panic!("{other} is not of TCP"),
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address())
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, request: &str) -> Response {
        let mut client = self.client();
        client.send(request.as_bytes());
        client.response()
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"))
    }

    /// Waits until the counts are as they should be.
    pub(crate) fn until(&self, holds: impl Fn(&ServerStats) -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !holds(&self.server.stats()) {
            assert!(Instant::now() < give_up, "still {:?}", self.server.stats());
            std::thread::yield_now();
        }
    }

    /// Ends everything, and checks that nothing is left.
    pub(crate) fn end(self) {
        assert_eq!(self.server.shutdown(PATIENCE).cut, 0);
        let metrics = self.runtime.metrics();
        assert_eq!(metrics.total(|worker| worker.panics), 0);
        self.runtime.shutdown(PATIENCE).unwrap();
    }
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (field, value) = line.split_once(": ")?;
            field.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

pub(crate) struct Client {
    pub(crate) stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        let stream = BufReader::new(stream);
        Self { stream }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        self.response()
    }

    pub(crate) fn end_of_requests(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// The head of the next response, up to its blank line.
    pub(crate) fn head(&mut self) -> Response {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let count = self.stream.read_line(&mut head).unwrap();
            assert!(count > 0, "the connection ended after {head:?}");
        }
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Response {
            status: status.unwrap_or_else(|| panic!("no status in {head:?}")),
            head,
            body: Vec::new(),
        }
    }

    /// The next response, with the content that its head promises.
    pub(crate) fn response(&mut self) -> Response {
        let mut response = self.head();
        let length = response.field("Content-Length").map_or(0, |value| {
            let length: usize = value.parse().unwrap();
            length
        });
        response.body.resize(length, 0);
        self.stream.read_exact(&mut response.body).unwrap();
        response
    }

    /// Whether the server ended the connection in order, with nothing more to read.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => rest.is_empty(),
            Err(error) => panic!("{error} instead of the end of the stream"),
        }
    }

    /// Waits for the end of the connection, however it comes.
    pub(crate) fn wait_for_end(&mut self) -> u64 {
        match io::copy(&mut self.stream, &mut io::sink()) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            Err(error) => panic!("{error}"),
        }
    }
}
