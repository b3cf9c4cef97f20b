//! A text that is made anew for each request, such as metrics, on a listener of its own.
//!
//! Apart from [`Server`](super::Server) on purpose: it answers when that has as many clients as it
//! may have, and its events do not mix with the paper's handlers in the metrics.

use super::ServerError;
use super::address::Address;
use super::clock::now;
use super::listener::Listener;
use super::transfer;
use crate::parser::{Parsed, RequestParser};
use crate::request::Method;
use crate::response::Protocol;
use crate::status::Status;
use mely::net::Watch;
use mely::{Colored, Context, Handle, Handler, Timer};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, SocketFlags};
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

static METRICS: Handler = Handler::new("Metrics");

/// Visitors at once; more are closed without a word.
const VISITORS_MAX: usize = 32;
/// Bytes of a request; a scraper sends some hundred.
const REQUEST_BYTES_MAX: usize = 16 * 1024;
/// From the connection to the last byte of the answer, so that slow visitors make room.
const VISIT_TIME_MAX: Duration = Duration::from_secs(10);
/// How long to wait when descriptors have run out.
const STARVED_RETRY: Duration = Duration::from_millis(50);

type MakeText = dyn Fn() -> String + Send + Sync;

/// Serves one text until it is dropped.
pub struct TextServer {
    desk: Colored<Option<Desk>>,
    url: String,
}

struct Page {
    path: String,
    protocol: Arc<Protocol>,
    make: Box<MakeText>,
}

/// The state of the listener's color.
struct Desk {
    _watch: Watch,
    listener: Listener,
    page: Arc<Page>,
    retry_pending: bool,
}

impl TextServer {
    /// Serves what `make` returns at `path` of `address`, as plain text. `make` runs as an event
    /// and holds its core meanwhile.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn start(
        handle: &Handle,
        address: &Address,
        path: &str,
        protocol: Arc<Protocol>,
        make: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Self, ServerError> {
        let listener = Listener::bind(address)?;
        let base = listener.bound().to_string();
        let url = format!("{}{path}", base.trim_end_matches('/'));
        let desk = handle.colored(None);
        let watch = Watch::new(listener.shared_fd(), &desk, &METRICS, |desk, cx, _| {
            accept(desk, cx);
        });
        let watch = watch.map_err(|source| ServerError::Watch {
            address: listener.bound().clone(),
            source,
        })?;
        let opened = Desk {
            _watch: watch,
            listener,
            page: Arc::new(Page {
                path: path.to_owned(),
                protocol,
                make: Box::new(make),
            }),
            retry_pending: false,
        };
        desk.with_handler(&METRICS).post_or_shed(move |desk, cx| {
            *desk = Some(opened);
            accept(desk, cx);
        });
        Ok(Self { desk, url })
    }

    /// Where the text is.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TextServer {
    fn drop(&mut self) {
        self.desk
            .with_handler(&METRICS)
            .post_or_shed(|desk, _| *desk = None);
    }
}

impl fmt::Debug for TextServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextServer")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

fn accept(slot: &mut Option<Desk>, cx: &mut Context<'_, Option<Desk>>) {
    let Some(desk) = slot else { return };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    for _ in 0..VISITORS_MAX {
        match rustix::net::accept_with(&desk.listener, flags) {
            // The desk itself holds the page too.
            Ok(socket) if Arc::strong_count(&desk.page) <= VISITORS_MAX => {
                Visit::begin(socket, Arc::clone(&desk.page), &cx.handle());
            }
            Ok(_one_too_many) => {}
            Err(Errno::AGAIN) => return,
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(_) => {
                if !std::mem::replace(&mut desk.retry_pending, true) {
                    cx.colored()
                        .with_handler(&METRICS)
                        .post_after(STARVED_RETRY, |slot, cx| {
                            if let Some(desk) = slot {
                                desk.retry_pending = false;
                            }
                            accept(slot, cx);
                        });
                }
                return;
            }
        }
    }
    cx.with_handler(&METRICS).post_or_shed(accept);
}

/// One request and its answer.
struct Visit {
    watch: Option<Watch>,
    socket: Arc<OwnedFd>,
    page: Arc<Page>,
    request: Vec<u8>,
    answer: Vec<u8>,
    sent: usize,
    timer: Option<Timer>,
}

impl Visit {
    fn begin(socket: OwnedFd, page: Arc<Page>, handle: &Handle) {
        let visit = Self {
            watch: None,
            socket: Arc::new(socket),
            page,
            request: Vec::new(),
            answer: Vec::new(),
            sent: 0,
            timer: None,
        };
        handle
            .colored(None::<Self>)
            .with_handler(&METRICS)
            .post_or_shed(|slot, cx| {
                let mut visit = visit;
                let socket = Arc::clone(&visit.socket);
                let watch = Watch::new(socket, &cx.colored(), &METRICS, |slot, cx, _| {
                    go_on(slot, cx)
                });
                // Without a watch the connection is closed here.
                if let Ok(watch) = watch {
                    let color = cx.colored();
                    let end = |slot: &mut Option<Self>, _: &mut Context<'_, _>| *slot = None;
                    visit.timer =
                        Some(color.with_handler(&METRICS).post_after(VISIT_TIME_MAX, end));
                    visit.watch = Some(watch);
                    *slot = Some(visit);
                }
            });
    }

    /// Reads and writes as far as the socket goes. `Err` ends the visit.
    fn go_on(&mut self, cx: &Context<'_, Option<Self>>) -> Result<(), Errno> {
        while self.answer.is_empty() {
            let mut part = [0; 1024];
            let count = transfer::receive(self.socket.as_fd(), &mut part)?;
            if count == 0 || self.request.len() + count > REQUEST_BYTES_MAX {
                return Err(Errno::CONNRESET);
            }
            self.request.extend_from_slice(&part[..count]);
            self.prepare(cx);
        }
        while self.sent < self.answer.len() {
            let rest = &self.answer[self.sent..];
            self.sent += rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL)?;
        }
        rustix::net::shutdown(&self.socket, Shutdown::Write)?;
        Err(Errno::SHUTDOWN)
    }

    fn prepare(&mut self, cx: &Context<'_, Option<Self>>) {
        let (page, now) = (&self.page, now(cx));
        let limits = page.protocol.limits();
        let refused = match RequestParser::new().parse(&self.request, limits) {
            Ok(Parsed::Incomplete) => return,
            Err(error) => Some(error.status),
            Ok(Parsed::Request { head, .. }) => {
                let request = head.view(&self.request);
                match request.method() {
                    Method::Get if request.path() == page.path.as_bytes() => None,
                    Method::Get => Some(Status::NotFound),
                    _ => Some(Status::MethodNotAllowed),
                }
            }
        };
        self.answer = match refused {
            Some(status) => page.protocol.closing_page(status, &now),
            None => {
                let text = (page.make)();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nDate: {}\r\nContent-Type: text/plain; version=0.0.4\r\n\
                     Content-Length: {}\r\nConnection: close\r\n\r\n",
                    now.date.as_str(),
                    text.len()
                );
                (head + &text).into_bytes()
            }
        };
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.cancel();
        }
    }
}

fn go_on(slot: &mut Option<Visit>, cx: &mut Context<'_, Option<Visit>>) {
    if let Some(visit) = slot {
        match visit.go_on(cx) {
            Ok(()) | Err(Errno::AGAIN) => {}
            Err(_) => *slot = None,
        }
    }
}
