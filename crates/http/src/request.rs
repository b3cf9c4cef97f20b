//! A parsed request head, kept as places in the read buffer so that it needs no allocation.

use crate::conditional::Preconditions;
use crate::status::Status;

/// Method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Answered with the file.
    Get,
    /// Answered like GET, without the content.
    Head,
    /// Answered with what the server can do.
    Options,
    /// A method of RFC 9110 or 5789 that a static file server refuses: 405.
    Other,
}

/// Version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: closes unless asked to stay.
    Http10,
    /// HTTP/1.1: stays unless asked to close.
    Http11,
}

/// How the end of the request body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    Empty,
    /// This many bytes, never 0.
    Length(u64),
    /// Chunks.
    Chunked,
}

/// A place in the buffer that a request was parsed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    pub(crate) const EMPTY: Span = Span { start: 0, len: 0 };

    /// Place of `part`, a slice of the buffer at address `base`. A head has at most 4 GiB.
    pub(crate) fn of(part: &[u8], base: usize) -> Self {
        Self {
            start: (part.as_ptr() as usize).wrapping_sub(base) as u32,
            len: part.len() as u32,
        }
    }

    fn get(self, buffer: &[u8]) -> &[u8] {
        buffer
            .get(self.start as usize..)
            .and_then(|b| b.get(..self.len as usize))
            .unwrap_or_default()
    }
}

/// A field that may stand once: twice, and it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Single {
    Absent,
    Once(Span),
    Repeated,
}

impl Single {
    pub(crate) fn add(&mut self, span: Span) {
        *self = if *self == Single::Absent {
            Single::Once(span)
        } else {
            Single::Repeated
        };
    }

    fn get(self, buffer: &[u8]) -> Option<&[u8]> {
        match self {
            Single::Once(span) => Some(span.get(buffer)),
            Single::Absent | Single::Repeated => None,
        }
    }
}

/// A parsed request head: what was decided, and where in the buffer the rest stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    pub(crate) method: Method,
    pub(crate) version: Version,
    pub(crate) keep_alive: bool,
    pub(crate) expects_continue: bool,
    pub(crate) asterisk: bool,
    pub(crate) framing: Framing,
    pub(crate) refusal: Option<Status>,
    pub(crate) path: Span,
    pub(crate) query: Option<Span>,
    pub(crate) range: Single,
    pub(crate) if_range: Single,
    pub(crate) if_modified_since: Single,
    pub(crate) if_unmodified_since: Single,
    // Empty vectors, for nearly every request, allocate nothing.
    pub(crate) if_match: Vec<Span>,
    pub(crate) if_none_match: Vec<Span>,
}

impl RequestHead {
    pub(crate) fn new(method: Method, version: Version) -> Self {
        Self {
            method,
            version,
            keep_alive: false,
            expects_continue: false,
            asterisk: false,
            framing: Framing::Empty,
            refusal: None,
            path: Span::EMPTY,
            query: None,
            range: Single::Absent,
            if_range: Single::Absent,
            if_modified_since: Single::Absent,
            if_unmodified_since: Single::Absent,
            if_match: Vec::new(),
            if_none_match: Vec::new(),
        }
    }

    /// Whether the peer waits for `100 Continue` before it sends its body.
    pub fn expects_continue(&self) -> bool {
        self.expects_continue && self.framing != Framing::Empty
    }

    /// How the end of the body is found.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// The request, read out of the buffer that this head was parsed from.
    pub fn view<'a>(&'a self, buffer: &'a [u8]) -> Request<'a> {
        Request { head: self, buffer }
    }

    pub(crate) fn is_conditional(&self) -> bool {
        !self.if_match.is_empty()
            || !self.if_none_match.is_empty()
            || self.if_modified_since != Single::Absent
            || self.if_unmodified_since != Single::Absent
    }
}

/// A request: its head, with the buffer that the head points into.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    head: &'a RequestHead,
    buffer: &'a [u8],
}

impl<'a> Request<'a> {
    /// The method.
    pub fn method(&self) -> Method {
        self.head.method
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.head.version
    }

    /// Whether the peer wants the connection to stay open.
    pub fn keep_alive(&self) -> bool {
        self.head.keep_alive
    }

    /// Whether the target is `*`, the server as a whole (OPTIONS only).
    pub fn is_asterisk(&self) -> bool {
        self.head.asterisk
    }

    /// Why the head alone is enough to refuse the request (405, 417), if it is.
    pub fn refusal(&self) -> Option<Status> {
        self.head.refusal
    }

    /// The path of the target as it was sent, still encoded, without the query string. Begins
    /// with a slash; `/` for the asterisk.
    pub fn path(&self) -> &'a [u8] {
        match self.head.path.get(self.buffer) {
            b"" => b"/",
            path => path,
        }
    }

    /// The query string as it was sent, without its question mark.
    pub fn query(&self) -> Option<&'a [u8]> {
        self.head.query.map(|span| span.get(self.buffer))
    }

    /// The `Range` field, when there is exactly one.
    pub fn range(&self) -> Option<&'a [u8]> {
        self.head.range.get(self.buffer)
    }

    /// The `If-Range` field, when there is exactly one.
    pub fn if_range(&self) -> Option<&'a [u8]> {
        self.head.if_range.get(self.buffer)
    }

    /// Whether a range must be ignored because its `If-Range` cannot be understood.
    pub(crate) fn if_range_repeated(&self) -> bool {
        self.head.if_range == Single::Repeated
    }

    /// The preconditions; `None`, at no cost, for a request without any.
    pub fn preconditions(&self) -> Option<Preconditions<'a>> {
        let head = self.head;
        if !head.is_conditional() {
            return None;
        }
        let lines = |spans: &[Span]| -> Option<Vec<&'a [u8]>> {
            (!spans.is_empty()).then(|| spans.iter().map(|span| span.get(self.buffer)).collect())
        };
        Some(Preconditions {
            if_match: lines(&head.if_match),
            if_unmodified_since: head.if_unmodified_since.get(self.buffer),
            if_none_match: lines(&head.if_none_match),
            if_modified_since: head.if_modified_since.get(self.buffer),
        })
    }
}
