//! `pinning`: a server of one byte a connection (seed 002, section 4.2.3, figures 7
//! and 8).
//!
//! | handler | color | does |
//! |---|---|---|
//! | Accept | the gate's, on the first core | accepts all that wait, as in the paper |
//! | Read | the connection's | reads one byte |
//! | Write | the connection's | writes one byte |
//! | Close | the gate's | closes the connection |
//!
//! The paper's fifth handler watches the descriptors: a single one on color 0, as in
//! the papers' web server. Connections begin on all cores in turn. Policies without
//! pinning may steal the gate; all others keep it on the first core.
//!
//! The paper's clients are other machines. Here they are one thread of the same
//! process, which keeps a fixed number of connections open: it takes time from the
//! workers, from all policies alike.

mod clients;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mely::net::{TcpListener, TcpStream};
use mely::{Colored, Context, Handler, Policy, ReactorKind, Runtime};

use super::setting::handlers;
use crate::measure::measured::{Measured, Window};
use crate::measure::{Failure, Run};

/// After how many connections the time is looked at.
const ROUND: u32 = 64;

/// What the handlers take, as `adaptive` learns it on a Xeon at 2.5 GHz: Mely's
/// policies get it from profiling. Most of it is system calls.
const ACCEPT_CYCLES: u32 = 20_000;
const READ_CYCLES: u32 = 5_000;
const WRITE_CYCLES: u32 = 19_000;
const CLOSE_CYCLES: u32 = 18_000;

struct Handlers {
    accept: Handler,
    read: Handler,
    write: Handler,
    close: Handler,
}

const ACCEPT: Handler = Handler::new("pinning::Accept");
const READ: Handler = Handler::new("pinning::Read");
const WRITE: Handler = Handler::new("pinning::Write");
const CLOSE: Handler = Handler::new("pinning::Close");

static PLAIN: Handlers = Handlers {
    accept: ACCEPT,
    read: READ,
    write: WRITE,
    close: CLOSE,
};
static ANNOTATED: Handlers = Handlers {
    accept: ACCEPT.cost_cycles(ACCEPT_CYCLES),
    read: READ.cost_cycles(READ_CYCLES),
    write: WRITE.cost_cycles(WRITE_CYCLES),
    close: CLOSE.cost_cycles(CLOSE_CYCLES),
};

/// Accepts and closes.
struct Gate {
    /// `None` before the server is open, and once the run has ended.
    listener: Option<TcpListener>,
    handlers: &'static Handlers,
    /// The core of the next connection.
    next_home: usize,
    closed: u32,
    window: Arc<Window>,
    stop: Arc<AtomicBool>,
}

impl Gate {
    fn accept(&mut self, cx: &mut Context<'_, Self>) {
        let Some(listener) = &self.listener else {
            return;
        };
        let handle = cx.handle();
        while let Ok((stream, _peer)) = listener.accept() {
            let home = self.next_home % handle.workers();
            self.next_home += 1;
            let connection = handle.color_options().start_on(home).colored(Connection {
                stream: Some(stream),
                gate: cx.colored(),
                handlers: self.handlers,
            });
            // The home is a worker: it was taken modulo their number.
            let Ok(connection) = connection else { continue };
            let read = &self.handlers.read;
            connection.with_handler(read).post_or_shed(Connection::open);
        }
    }

    fn close(&mut self, stream: TcpStream, cx: &mut Context<'_, Self>) {
        drop(stream);
        self.closed += 1;
        if self.closed.is_multiple_of(ROUND) && !self.window.another(&cx.handle()) {
            // Release: pairs with nothing but the end of a loop.
            self.stop.store(true, Ordering::Release);
        }
    }
}

struct Connection {
    /// `None` once it is to be closed.
    stream: Option<TcpStream>,
    gate: Colored<Gate>,
    handlers: &'static Handlers,
}

impl Connection {
    fn open(&mut self, cx: &mut Context<'_, Self>) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let read = &self.handlers.read;
        let watched = stream.watch(&cx.colored(), read, |connection, cx, _ready| {
            connection.read(cx);
        });
        if watched.is_err() {
            self.close();
        }
    }

    fn read(&mut self, cx: &mut Context<'_, Self>) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => cx
                .with_handler(&self.handlers.write)
                .post_or_shed(move |connection, _cx| {
                    connection.write(byte);
                }),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // The client is gone; in the measured time that does not happen.
            Ok(_) | Err(_) => self.close(),
        }
    }

    fn write(&mut self, byte: [u8; 1]) {
        if let Some(stream) = &mut self.stream {
            // A byte has room in the buffer; who has gone is closed in any case.
            stream.write_all(&byte).ok();
        }
        self.close();
    }

    fn close(&mut self) {
        // Once: a client that goes early makes both Read and Write come here.
        let Some(stream) = self.stream.take() else {
            return;
        };
        let close = self.gate.with_handler(&self.handlers.close);
        close.post_or_shed(move |gate, cx| gate.close(stream, cx));
    }
}

fn serve(
    rt: &Runtime,
    policy: Policy,
    window: Arc<Window>,
    stop: Arc<AtomicBool>,
) -> Result<(Colored<Gate>, SocketAddr), Failure> {
    // Libasync-smp as it was, and the heuristics of seed 002 on their own that are not
    // this one, may steal the gate.
    let options = rt.color_options().pin_by_policy(0);
    let gate = options.colored(Gate {
        listener: None,
        handlers: handlers(policy, &ANNOTATED, &PLAIN),
        next_home: 0,
        closed: 0,
        window,
        stop,
    })?;
    let mut listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.get_ref().local_addr()?;
    let accept = &handlers(policy, &ANNOTATED, &PLAIN).accept;
    listener.watch(&gate, accept, |gate, cx, _ready| gate.accept(cx))?;
    gate.with_handler(accept).post_or_shed(move |gate, cx| {
        gate.listener = Some(listener);
        gate.accept(cx);
    });
    Ok((gate, address))
}

pub(super) fn run(policy: Policy, run: &Run) -> Result<Measured, Failure> {
    static COUNTED: [&str; 1] = [CLOSE.name()];
    let builder = Runtime::builder()
        .workers(run.workers)
        .affinity(run.affinity)
        .policy(policy);
    let rt = builder.reactor(ReactorKind::Single).build()?;
    let (window, outcome) = Window::new(run.time, &COUNTED);
    let stop = Arc::new(AtomicBool::new(false));
    let (gate, address) = serve(&rt, policy, Arc::clone(&window), Arc::clone(&stop))?;
    let load = std::thread::Builder::new().name("clients".to_owned());
    let load = load.spawn(move || {
        if let Err(error) = clients::run(address, &stop) {
            window.fail(format!("a client of the server: {error}").into());
        }
    })?;
    let measured = outcome.wait();
    // The thread ends by itself: `stop` is set, or it has failed.
    if load.join().is_err() {
        return Err("the thread of the clients panicked".into());
    }
    gate.post_or_shed(|gate, _cx| gate.listener = None);
    rt.wait_idle();
    measured
}
