//! Incremental parsing of request heads (RFC 9112).

use crate::headers::{gather, is_host};
use crate::limits::Limits;
use crate::lines::HeadSearch;
use crate::request::{Method, RequestHead, Span, Version};
use crate::status::Status;
use httparse::{Error, Header};
use std::mem::MaybeUninit;

/// Header fields there is room for; [`Limits::max_headers`] cannot pass it.
const HEADER_SLOTS: usize = 256;

/// What stands at the beginning of the read buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// Not yet a whole head. Call again, with more bytes after the same ones.
    Incomplete,
    /// A whole head.
    Request {
        /// Bytes of the head, and of blank lines forgiven before it. The body comes next.
        consumed: usize,
        /// The head, to be read together with the same buffer.
        head: RequestHead,
    },
}

/// A request that cannot be answered, and after which nothing can be read: the connection closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpError {
    /// What to answer.
    pub status: Status,
    /// Whether the answer has no content, because the method is HEAD.
    pub omit_body: bool,
}

impl std::fmt::Display for HttpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.status.title(), self.status.sentence())
    }
}

impl std::error::Error for HttpError {}

/// Parses one request head out of a growing buffer.
///
/// It remembers how far it searched, so a head that arrives byte by byte costs no more than one
/// that arrives whole, and meets the same verdict. Use a new parser for each request.
///
/// ```
/// use mely_http::{Limits, Parsed, RequestParser};
/// let (mut parser, limits) = (RequestParser::new(), Limits::default());
/// let bytes = b"GET /a?b HTTP/1.1\r\nHost: h\r\n\r\nGET ";
/// assert_eq!(parser.parse(&bytes[..20], &limits)?, Parsed::Incomplete);
/// let Parsed::Request { consumed, head } = parser.parse(bytes, &limits)? else { panic!() };
/// assert_eq!(consumed, 30);
/// assert_eq!(head.view(bytes).path(), b"/a");
/// # Ok::<(), mely_http::HttpError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RequestParser {
    search: HeadSearch,
}

impl RequestParser {
    /// A parser at the beginning of a request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the head at the beginning of `buffer`.
    ///
    /// # Errors
    /// The status to answer with: 400, 414, 431, 501 or 505. The connection cannot go on.
    pub fn parse(&mut self, buffer: &[u8], limits: &Limits) -> Result<Parsed, HttpError> {
        let end = match self.search.find_end(buffer, limits) {
            Ok(Some(end)) => end,
            Ok(None) => return Ok(Parsed::Incomplete),
            Err(status) => return Err(self.error(buffer, status)),
        };
        let line = &buffer[self.search.start()..end];
        match parse_head(line, buffer.as_ptr() as usize, limits) {
            Ok(head) => Ok(Parsed::Request {
                consumed: end,
                head,
            }),
            Err(status) => Err(self.error(buffer, status)),
        }
    }

    fn error(&self, buffer: &[u8], status: Status) -> HttpError {
        HttpError {
            status,
            omit_body: buffer[self.search.start()..].starts_with(b"HEAD "),
        }
    }
}

fn parse_head(bytes: &[u8], base: usize, limits: &Limits) -> Result<RequestHead, Status> {
    let mut slots = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADER_SLOTS];
    let mut parsed = httparse::Request::new(&mut []);
    let slots = &mut slots[..limits.max_headers.min(HEADER_SLOTS)];
    match parsed.parse_with_uninit_headers(bytes, slots) {
        Ok(httparse::Status::Complete(end)) if end == bytes.len() => {}
        Ok(_) => return Err(Status::BadRequest),
        Err(Error::TooManyHeaders) => return Err(Status::HeaderFieldsTooLarge),
        Err(Error::Version) => return Err(version_error(bytes)),
        Err(_) => return Err(Status::BadRequest),
    }
    let target = parsed.path.unwrap_or_default();
    if target.len() > limits.max_target_bytes {
        return Err(Status::UriTooLong);
    }
    let version = if parsed.version == Some(1) {
        Version::Http11
    } else {
        Version::Http10
    };
    let method = parsed.method.unwrap_or_default();
    let mut head = RequestHead::new(known_method(method)?, version);
    if head.method == Method::Other {
        head.refusal = Some(Status::MethodNotAllowed);
    }
    gather(&mut head, parsed.headers, base)?;
    if method == "CONNECT" {
        // Its target is a host, and what follows its head is not a request.
        head.keep_alive = false;
    } else {
        read_target(&mut head, target.as_bytes(), base)?;
    }
    Ok(head)
}

/// 505 for a version that is well formed and not ours, 400 for anything else in its place.
fn version_error(bytes: &[u8]) -> Status {
    let line = bytes.split(|&b| b == b'\r').next().unwrap_or_default();
    match line.splitn(3, |&b| b == b' ').nth(2).unwrap_or_default() {
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Status::VersionNotSupported
        }
        _ => Status::BadRequest,
    }
}

fn known_method(method: &str) -> Result<Method, Status> {
    match method {
        "GET" => Ok(Method::Get),
        "HEAD" => Ok(Method::Head),
        "OPTIONS" => Ok(Method::Options),
        "POST" | "PUT" | "DELETE" | "PATCH" | "TRACE" | "CONNECT" => Ok(Method::Other),
        _ => Err(Status::NotImplemented),
    }
}

/// Origin-form, absolute-form, or the asterisk (RFC 9112 section 3.2).
fn read_target(head: &mut RequestHead, target: &[u8], base: usize) -> Result<(), Status> {
    if target == b"*" {
        head.asterisk = true;
        // A refused method is answered as such, whatever its target.
        let fits = matches!(head.method, Method::Options | Method::Other);
        return if fits {
            Ok(())
        } else {
            Err(Status::BadRequest)
        };
    }
    let rest = if target.starts_with(b"/") {
        target
    } else {
        after_authority(target)?
    };
    if rest.contains(&b'#') {
        return Err(Status::BadRequest);
    }
    let (path, query) = match memchr::memchr(b'?', rest) {
        Some(mark) => (&rest[..mark], Some(&rest[mark + 1..])),
        None => (rest, None),
    };
    head.path = Span::of(path, base);
    head.query = query.map(|query| Span::of(query, base));
    Ok(())
}

/// What follows `http://host:port`, empty or beginning with a slash or a question mark.
fn after_authority(target: &[u8]) -> Result<&[u8], Status> {
    let scheme = |name: &[u8]| {
        target
            .get(..name.len())
            .is_some_and(|s| s.eq_ignore_ascii_case(name))
    };
    let rest = match target {
        _ if scheme(b"http://") => &target[7..],
        _ if scheme(b"https://") => &target[8..],
        _ => return Err(Status::BadRequest),
    };
    let end = rest
        .iter()
        .position(|b| b"/?#".contains(b))
        .unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    if authority.is_empty() || !is_host(authority) {
        return Err(Status::BadRequest);
    }
    Ok(rest)
}

#[cfg(test)]
pub(crate) mod tests;
