//! Responses: prebuilt at start-up but for the date, or put together for what is rare.

use crate::conditional::{Precondition, if_range_holds};
use crate::date::Now;
use crate::head::{SERVER, begin, write_length};
use crate::limits::Limits;
use crate::output::OutputQueue;
use crate::range::{RangeOutcome, byte_range};
use crate::representation::Representation;
use crate::request::{Method, Request, Version};
use crate::site::{Entry, FileEntry, Lookup};
use crate::status::Status;
use std::ops::Range;
use std::sync::Arc;

const ALLOW: &[u8] = b"Allow: GET, HEAD, OPTIONS\r\n";

/// What all connections share: limits, and error pages built once.
///
/// ```
/// use mely_http::{DateCache, Limits, Protocol, Status};
/// use std::time::{Instant, SystemTime};
/// let protocol = Protocol::new(Limits::default());
/// let now = DateCache::new().at(Instant::now(), SystemTime::now());
/// let busy = protocol.closing_page(Status::ServiceUnavailable, &now);
/// assert!(busy.starts_with(b"HTTP/1.1 503 Service Unavailable\r\nDate: "));
/// ```
#[derive(Debug)]
pub struct Protocol {
    limits: Limits,
    /// In the order of [`Status::ALL`].
    pages: Vec<Page>,
}

#[derive(Debug)]
struct Page {
    fields: Vec<u8>,
    content: Vec<u8>,
}

impl Protocol {
    /// Builds the pages.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            pages: Status::ALL.iter().map(|status| page(*status)).collect(),
        }
    }

    /// The limits given to [`Protocol::new`].
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A whole response with the page of `status`, after which the connection closes; for a client
    /// past [`Limits::max_clients`].
    pub fn closing_page(&self, status: Status, now: &Now) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_page(
            &mut out,
            status,
            Ending {
                omit_body: false,
                persistence: Persistence::Close,
            },
            now,
        );
        out
    }

    pub(crate) fn write_page(&self, out: &mut Vec<u8>, status: Status, ending: Ending, now: &Now) {
        self.write_page_with(out, status, ending, now, |_| {});
    }

    fn write_page_with(
        &self,
        out: &mut Vec<u8>,
        status: Status,
        ending: Ending,
        now: &Now,
        more_fields: impl FnOnce(&mut Vec<u8>),
    ) {
        let page = &self.pages[status as usize];
        begin(out, status, now);
        out.extend_from_slice(&page.fields);
        more_fields(out);
        ending.persistence.finish(out);
        if !ending.omit_body {
            out.extend_from_slice(&page.content);
        }
    }
}

fn page(status: Status) -> Page {
    let (title, sentence) = (status.title(), status.sentence());
    let content = if sentence.is_empty() {
        Vec::new()
    } else {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
             <h1>{title}</h1>\n<p>{sentence}</p>\n</html>\n"
        )
        .into_bytes()
    };
    let mut fields = SERVER.to_vec();
    match status {
        Status::MethodNotAllowed | Status::NoContent => fields.extend_from_slice(ALLOW),
        Status::ServiceUnavailable => fields.extend_from_slice(b"Retry-After: 1\r\n"),
        _ => {}
    }
    if !content.is_empty() {
        fields.extend_from_slice(b"Content-Type: text/html; charset=utf-8\r\n");
        write_length(&mut fields, content.len() as u64);
    }
    Page { fields, content }
}

/// What the connection does after a response, which its head must tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// Stays open, as HTTP/1.1 does unless told otherwise.
    Stay,
    /// Stays open, which an HTTP/1.0 peer must be told.
    StayAsked,
    Close,
}

impl Persistence {
    pub(crate) fn of(version: Version, stays: bool) -> Self {
        match (stays, version) {
            (false, _) => Persistence::Close,
            (true, Version::Http10) => Persistence::StayAsked,
            (true, Version::Http11) => Persistence::Stay,
        }
    }

    fn field(self) -> &'static [u8] {
        match self {
            Persistence::Stay => b"",
            Persistence::StayAsked => b"Connection: keep-alive\r\n",
            Persistence::Close => b"Connection: close\r\n",
        }
    }

    fn finish(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.field());
        out.extend_from_slice(b"\r\n");
    }
}

/// How a response ends: with or without content, and what becomes of the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    pub(crate) omit_body: bool,
    pub(crate) persistence: Persistence,
}

/// A file to answer with, from memory or from disk.
#[derive(Clone, Copy)]
enum Source<'a> {
    Cached(&'a Arc<Entry>),
    File(&'a FileEntry),
}

impl Source<'_> {
    fn representation(&self) -> &Representation {
        match self {
            Source::Cached(entry) => entry.representation(),
            Source::File(file) => &file.representation,
        }
    }
}

/// Answers one request into a queue.
pub(crate) struct Answer<'a> {
    pub(crate) protocol: &'a Protocol,
    pub(crate) request: Request<'a>,
    pub(crate) ending: Ending,
    pub(crate) now: &'a Now,
    pub(crate) output: &'a mut OutputQueue,
}

impl Answer<'_> {
    pub(crate) fn with(mut self, lookup: &Lookup) -> Status {
        if let Lookup::Refused(status) = *lookup {
            return self.page(status);
        }
        if self.request.method() == Method::Options {
            return self.page(Status::NoContent);
        }
        match lookup {
            Lookup::Refused(status) => self.page(*status),
            Lookup::Cached(entry) => {
                if self.request.preconditions().is_none() && self.request.range().is_none() {
                    self.prebuilt(entry)
                } else {
                    self.file(Source::Cached(entry))
                }
            }
            Lookup::File(file) => self.file(Source::File(file)),
            Lookup::Page(html) => self.generated(html),
            Lookup::Redirect(location) => self.redirect(location),
        }
    }

    fn page(&mut self, status: Status) -> Status {
        let (protocol, ending, now) = (self.protocol, self.ending, self.now);
        self.output
            .write(|out| protocol.write_page(out, status, ending, now));
        status
    }

    /// The hot path: status line, date, and one piece of memory built when the file was loaded.
    fn prebuilt(&mut self, entry: &Arc<Entry>) -> Status {
        let (ending, now) = (self.ending, self.now);
        let head = entry.head_range();
        let end = if ending.omit_body {
            head.end
        } else {
            entry.prebuilt().len()
        };
        let field = ending.persistence.field();
        self.output.write(|out| {
            begin(out, Status::Ok, now);
            // The prebuilt part ends its own head, so what varies comes before it.
            out.extend_from_slice(field);
        });
        self.output.push_entry(entry, head.start..end);
        Status::Ok
    }

    fn file(&mut self, source: Source<'_>) -> Status {
        let representation = source.representation();
        let verdict = self
            .request
            .preconditions()
            .map_or(Precondition::Proceed, |p| {
                p.evaluate(representation.tag(), representation.modified())
            });
        match verdict {
            Precondition::NotModified => return self.not_modified(representation),
            Precondition::Failed => return self.page(Status::PreconditionFailed),
            Precondition::Proceed => {}
        }
        let length = representation.length_bytes();
        match self.range(representation) {
            RangeOutcome::Whole => self.content(source, Status::Ok, 0..length),
            RangeOutcome::Part(part) => self.content(source, Status::PartialContent, part),
            RangeOutcome::Unsatisfiable => {
                let (protocol, ending, now) = (self.protocol, self.ending, self.now);
                let status = Status::RangeNotSatisfiable;
                self.output.write(|out| {
                    protocol.write_page_with(out, status, ending, now, |out| {
                        out.extend_from_slice(
                            format!("Content-Range: bytes */{length}\r\n").as_bytes(),
                        );
                    });
                });
                status
            }
        }
    }

    fn range(&self, representation: &Representation) -> RangeOutcome {
        let request = &self.request;
        let Some(range) = request.range().filter(|_| request.method() == Method::Get) else {
            return RangeOutcome::Whole;
        };
        let (tag, modified) = (representation.tag(), representation.modified());
        let holds = request
            .if_range()
            .is_none_or(|value| if_range_holds(value, tag, modified, self.now.wall));
        if !holds || request.if_range_repeated() {
            return RangeOutcome::Whole;
        }
        byte_range(range, representation.length_bytes())
    }

    fn not_modified(&mut self, representation: &Representation) -> Status {
        let (ending, now) = (self.ending, self.now);
        self.output.write(|out| {
            begin(out, Status::NotModified, now);
            out.extend_from_slice(SERVER);
            representation.write_validators(out);
            ending.persistence.finish(out);
        });
        Status::NotModified
    }

    fn content(&mut self, source: Source<'_>, status: Status, part: Range<u64>) -> Status {
        let (ending, now) = (self.ending, self.now);
        let representation = source.representation();
        self.output.write(|out| {
            begin(out, status, now);
            out.extend_from_slice(SERVER);
            representation.write_fields(out);
            write_length(out, part.end - part.start);
            if status == Status::PartialContent {
                let (first, last, length) =
                    (part.start, part.end - 1, representation.length_bytes());
                out.extend_from_slice(
                    format!("Content-Range: bytes {first}-{last}/{length}\r\n").as_bytes(),
                );
            }
            ending.persistence.finish(out);
        });
        if ending.omit_body {
            return status;
        }
        match source {
            Source::File(file) => self.output.push_file(file, part),
            Source::Cached(entry) => {
                let content = entry.head_range().end;
                let range = content + part.start as usize..content + part.end as usize;
                self.output.push_entry(entry, range);
            }
        }
        status
    }

    fn generated(&mut self, html: &[u8]) -> Status {
        let (ending, now) = (self.ending, self.now);
        self.output.write(|out| {
            begin(out, Status::Ok, now);
            out.extend_from_slice(SERVER);
            out.extend_from_slice(b"Content-Type: text/html; charset=utf-8\r\n");
            write_length(out, html.len() as u64);
            ending.persistence.finish(out);
            if !ending.omit_body {
                out.extend_from_slice(html);
            }
        });
        Status::Ok
    }

    fn redirect(&mut self, location: &str) -> Status {
        let (protocol, ending, now) = (self.protocol, self.ending, self.now);
        let query = self.request.query();
        let status = Status::MovedPermanently;
        self.output.write(|out| {
            protocol.write_page_with(out, status, ending, now, |out| {
                out.extend_from_slice(b"Location: ");
                out.extend_from_slice(location.as_bytes());
                if let Some(query) = query {
                    out.push(b'?');
                    out.extend_from_slice(query);
                }
                out.extend_from_slice(b"\r\n");
            });
        });
        status
    }
}
