//! Asking a program for its metrics: HTTP/1.1, as much of it as that takes.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// How long a program may take for each step of an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// More than the metrics of any program; a file that somebody serves may be larger.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

const DEFAULT_PATH: &str = "/metrics";

/// Where the metrics are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    peer: Peer,
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Peer {
    /// `HOST:PORT`.
    Tcp(String),
    Unix(PathBuf),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let wrong = || "give HOST:PORT, unix:PATH or http://HOST:PORT/PATH".to_owned();
        if given.starts_with("https://") {
            return Err("https is not spoken here; ask for http://".to_owned());
        }
        if let Some(path) = given.strip_prefix("unix:") {
            return match path.is_empty() {
                true => Err("the path of the socket is empty".to_owned()),
                false => Ok(Self {
                    peer: Peer::Unix(path.into()),
                    path: DEFAULT_PATH.to_owned(),
                }),
            };
        }
        let rest = given.strip_prefix("http://").unwrap_or(given);
        let (host, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let path = if path.len() > 1 { path } else { DEFAULT_PATH };
        let (name, port) = host.rsplit_once(':').ok_or_else(wrong)?;
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if name.is_empty() || port.parse::<u16>().is_err() || !is_plain(given) {
            return Err(wrong());
        }
        Ok(Self {
            peer: Peer::Tcp(host.to_owned()),
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.peer {
            Peer::Tcp(host) if self.path == DEFAULT_PATH => f.write_str(host),
            Peer::Tcp(host) => write!(f, "http://{host}{}", self.path),
            Peer::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum FetchError {
    Connect(io::Error),
    Io(io::Error),
    /// It answers, but not with metrics.
    Status(String),
    NotHttp,
    CutOff,
    TooLong,
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(
                f,
                "cannot connect: {error}; does a program serve metrics there, such as mely web \
                 --metrics ADDR?"
            ),
            Self::Io(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                write!(f, "no answer within {} s", PATIENCE.as_secs())
            }
            Self::Io(error) => write!(f, "{error}"),
            Self::Status(status) => write!(
                f,
                "answers {status:?}; give the address with the path, as http://HOST:PORT/PATH"
            ),
            Self::NotHttp => write!(f, "does not speak HTTP"),
            Self::CutOff => write!(f, "the answer ends too early"),
            Self::TooLong => write!(f, "the answer has more than {ANSWER_BYTES_MAX} bytes"),
        }
    }
}

impl Source {
    /// The text that the program answers with.
    pub(super) fn fetch(&self) -> Result<String, FetchError> {
        let host = match &self.peer {
            Peer::Tcp(host) => host,
            Peer::Unix(_) => "localhost",
        };
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: mely-top\r\nAccept: text/plain\r\n\
             Connection: close\r\n\r\n",
            self.path
        );
        let answer = match &self.peer {
            Peer::Tcp(host) => ask(connect(host), &request)?,
            Peer::Unix(path) => ask(UnixStream::connect(path), &request)?,
        };
        body_of(&answer)
    }
}

/// Tries each address that the name has.
fn connect(host: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Lets no step of an answer take longer than [`PATIENCE`].
fn limit(stream: &impl AsFd) -> io::Result<()> {
    for step in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(stream, step, Some(PATIENCE))?;
    }
    Ok(())
}

fn ask<S>(connected: io::Result<S>, request: &str) -> Result<Vec<u8>, FetchError>
where
    S: Read + Write + AsFd,
{
    let mut stream = connected.map_err(FetchError::Connect)?;
    limit(&stream).map_err(FetchError::Io)?;
    stream
        .write_all(request.as_bytes())
        .map_err(FetchError::Io)?;
    let mut answer = Vec::new();
    let mut chunk = [0; 64 * 1024];
    while !is_whole(&answer) {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(FetchError::Io(error)),
        }
        if answer.len() as u64 > ANSWER_BYTES_MAX {
            return Err(FetchError::TooLong);
        }
    }
    Ok(answer)
}

/// The head of an answer and what follows it, if the head is whole.
fn split(answer: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((&answer[..end], &answer[end + 4..]))
}

/// The value of a field of the head.
fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// Whether nothing more is to come, of an answer that says so before its connection ends.
fn is_whole(answer: &[u8]) -> bool {
    let Some((head, body)) = split(answer) else {
        return false;
    };
    let head = String::from_utf8_lossy(head);
    let length = field(&head, "Content-Length").and_then(|length| length.parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}

fn body_of(answer: &[u8]) -> Result<String, FetchError> {
    if !answer.starts_with(b"HTTP/1.") {
        return Err(match answer.is_empty() {
            true => FetchError::CutOff,
            false => FetchError::NotHttp,
        });
    }
    let (head, body) = split(answer).ok_or(FetchError::CutOff)?;
    let head = String::from_utf8_lossy(head);
    let status = head.lines().next().unwrap_or_default();
    let status = status.split_once(' ').map_or("", |(_, status)| status);
    if status.split(' ').next() != Some("200") {
        return Err(FetchError::Status(status.to_owned()));
    }
    let is_chunked = field(&head, "Transfer-Encoding")
        .is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
    let length = field(&head, "Content-Length").and_then(|length| length.parse().ok());
    let body = match (is_chunked, length) {
        (true, _) => unchunked(body).ok_or(FetchError::CutOff)?,
        (false, Some(length)) => body.get(..length).ok_or(FetchError::CutOff)?.to_vec(),
        (false, None) => body.to_vec(),
    };
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// A body that came in chunks; nothing if its end is missing.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?;
        let size = size.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        rest = rest.get(end + 2..)?;
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size.checked_add(2)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(given: &str) -> Result<String, String> {
        given.parse().map(|source: Source| {
            let shown = source.to_string();
            assert_eq!(shown.parse::<Source>(), Ok(source), "{given}");
            shown
        })
    }

    #[test]
    fn addresses_are_those_that_the_web_server_prints() {
        for (given, shown) in [
            ("127.0.0.1:9090", "127.0.0.1:9090"),
            ("http://127.0.0.1:9090/metrics", "127.0.0.1:9090"),
            ("http://[::1]:80/", "[::1]:80"),
            (
                "localhost:1/deep/metrics?x=1",
                "http://localhost:1/deep/metrics?x=1",
            ),
            ("unix:/run/x", "unix:/run/x"),
        ] {
            assert_eq!(source(given).as_deref(), Ok(shown));
        }
        for wrong in [
            "",
            "host",
            ":80",
            "host:99999",
            "host:80/a b",
            "unix:",
            "https://h:1",
        ] {
            assert!(source(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_step_is_waited_for_for_ever() {
        let (unix, _peer) = UnixStream::pair().expect("a pair");
        limit(&unix).expect("a socket");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        let tcp = connect(&address.to_string()).expect("it listens");
        limit(&tcp).expect("a socket");
        let of_tcp = [tcp.read_timeout(), tcp.write_timeout()];
        let all = [unix.read_timeout(), unix.write_timeout()].into_iter();
        for timeout in all.chain(of_tcp) {
            assert_eq!(timeout.expect("a socket"), Some(PATIENCE));
        }
    }

    #[test]
    fn an_answer_is_taken_as_it_comes() {
        let body = |answer: &str| body_of(answer.as_bytes()).map_err(|error| error.to_string());
        let ok = Ok("text\n".to_owned());
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\ntext\n"), ok);
        assert_eq!(
            body("HTTP/1.0 200\r\ncontent-length: 5\r\n\r\ntext\nmore"),
            ok
        );
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n";
        assert_eq!(
            body(&format!("{chunks}2;x\r\nte\r\n3\r\nxt\n\r\n0\r\n\r\n")),
            ok
        );
        for (answer, word) in [
            (String::new(), "early"),
            ("220 mail\r\n".to_owned(), "HTTP"),
            ("HTTP/1.1 200 OK\r\nContent".to_owned(), "early"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ntext".to_owned(),
                "early",
            ),
            ("HTTP/1.1 404 Not Found\r\n\r\n".to_owned(), "404 Not Found"),
            (format!("{chunks}5\r\ntext"), "early"),
            (format!("{chunks}ffffffffffffffff\r\ntext"), "early"),
            (format!("{chunks}-1\r\ntext"), "early"),
        ] {
            let error = body(&answer).expect_err(&answer);
            assert!(error.contains(word), "{answer}: {error}");
        }
    }

    #[test]
    fn nobody_waits_for_more_than_was_announced() {
        assert!(is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\n\r\nab"));
    }
}
