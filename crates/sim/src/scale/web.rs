//! The web server's handler graph, with clients that wait for each answer.
//!
//! Handlers, colors and costs are those of `mely web`: a connection has a color of its
//! own, on each core in turn, and its request goes through four events there; one color
//! accepts and counts connections. A client sends its next request when it has the
//! answer and the network has taken its time, and a new client comes for one that has
//! sent all of its own.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::measure::Program;
use crate::Error;
use crate::engine::{Outside, Simulation};
use crate::mely::{Colored, Context, Handler};

/// The means that `mely trace info` shows of a `mely web --trace` on a Xeon at 2.5 GHz,
/// under 64 clients that asked for a file of 1 KB in memory. System calls are most of
/// it. Accept is an estimate: that trace has 29 of them, with a mean of 59 000 that a few
/// slow ones make.
const ACCEPT_CYCLES: u64 = 26_000;
const READ_CYCLES: u64 = 4_900;
const PARSE_CYCLES: u64 = 1_200;
const LOOKUP_CYCLES: u64 = 2_400;
const WRITE_CYCLES: u64 = 19_200;
const CLOSE_CYCLES: u64 = 16_000;
const COUNT_CYCLES: u64 = 1_100;

const fn handler(name: &'static str, cycles: u64) -> Handler {
    Handler::new(name).cost_cycles(cycles as u32)
}

static ACCEPT: Handler = handler("scale::Accept", ACCEPT_CYCLES);
static READ: Handler = handler("scale::ReadRequest", READ_CYCLES);
static PARSE: Handler = handler("scale::ParseRequest", PARSE_CYCLES);
static LOOKUP: Handler = handler("scale::CheckInCache", LOOKUP_CYCLES);
static WRITE: Handler = handler("scale::WriteResponse", WRITE_CYCLES);
static CLOSE: Handler = handler("scale::Close", CLOSE_CYCLES);
static COUNT: Handler = handler("scale::DecClientAccepted", COUNT_CYCLES);

/// A request is answered when this has run.
pub(super) const COUNTED: &[&str] = &["scale::WriteResponse"];

/// Of a connection, as in seed 000 (section V-C).
const REQUESTS: u32 = 150;

/// Connections for each core: with the network's time no core waits for clients.
const CLIENTS: usize = 16;

/// What the network and a client take between an answer and the next request, at most;
/// half of it in the mean.
const NETWORK: Duration = Duration::from_micros(20);

/// What the server says to its clients.
enum Message {
    /// An answer is sent.
    Answer(Colored<Connection>),
    /// A connection is open.
    Open(Colored<Connection>),
    /// A connection is closed.
    Closed,
}

/// The way of messages to the clients. Nothing of the machine is used under its lock,
/// which all cores would wait for at once.
#[derive(Default)]
struct Wire(Mutex<Vec<Message>>);

impl Wire {
    fn send(&self, message: Message) {
        let mut messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        messages.push(message);
    }

    fn take(&self) -> Vec<Message> {
        let mut messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *messages)
    }
}

/// The state of a connection's color.
struct Connection {
    requests_left: u32,
    wire: Arc<Wire>,
    gate: Colored<Gate>,
}

impl Connection {
    fn read(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(READ_CYCLES);
        cx.with_handler(&PARSE).post_or_shed(Self::parse);
    }

    fn parse(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(PARSE_CYCLES);
        cx.with_handler(&LOOKUP).post_or_shed(Self::look_up);
    }

    fn look_up(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(LOOKUP_CYCLES);
        cx.with_handler(&WRITE).post_or_shed(Self::write);
    }

    fn write(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(WRITE_CYCLES);
        self.requests_left = self.requests_left.saturating_sub(1);
        match self.requests_left {
            0 => cx.with_handler(&CLOSE).post_or_shed(Self::close),
            _ => self.wire.send(Message::Answer(cx.colored())),
        }
    }

    fn close(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(CLOSE_CYCLES);
        self.gate.with_handler(&COUNT).post_or_shed(Gate::count);
    }
}

/// The state of the color that accepts.
struct Gate {
    wire: Arc<Wire>,
    next_worker: usize,
}

impl Gate {
    fn accept(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(ACCEPT_CYCLES);
        let options = cx.handle().color_options().start_on(self.next_worker);
        self.next_worker = (self.next_worker + 1) % cx.handle().workers();
        let connection = options.colored(Connection {
            requests_left: REQUESTS,
            wire: Arc::clone(&self.wire),
            gate: cx.colored(),
        });
        // All workers exist.
        if let Ok(connection) = connection {
            self.wire.send(Message::Open(connection));
        }
    }

    fn count(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(COUNT_CYCLES);
        self.wire.send(Message::Closed);
    }
}

/// Everybody outside.
struct Clients {
    wire: Arc<Wire>,
    gate: Colored<Gate>,
    network_cycles: u64,
}

impl Clients {
    fn answer(&self) {
        for message in self.wire.take() {
            match message {
                Message::Answer(connection) | Message::Open(connection) => {
                    connection
                        .with_handler(&READ)
                        .post_or_shed(Connection::read);
                }
                Message::Closed => self.gate.with_handler(&ACCEPT).post_or_shed(Gate::accept),
            }
        }
    }

    /// Answers what came, and looks again after the network's time.
    fn look(clients: Rc<RefCell<Self>>, outside: &Outside<'_>) {
        clients.borrow().answer();
        let next = outside.now() + clients.borrow().network_cycles;
        outside.at(next, move |outside| Self::look(clients, outside));
    }
}

/// A server whose connections are open, in the middle of what they ask for.
pub(super) fn begin(simulation: &Simulation) -> Result<Program, Error> {
    let handle = simulation.handle();
    let wire = Arc::new(Wire::default());
    let gate = handle.numbered_color(1).attach(Gate {
        wire: Arc::clone(&wire),
        next_worker: 0,
    });
    let mut chance = fastrand::Rng::with_seed(1);
    for client in 0..CLIENTS * handle.workers() {
        let options = handle.color_options().start_on(client % handle.workers());
        let connection = options.colored(Connection {
            requests_left: chance.u32(1..=REQUESTS),
            wire: Arc::clone(&wire),
            gate: gate.clone(),
        });
        if let Ok(connection) = connection {
            wire.send(Message::Open(connection));
        }
    }
    let clients = Clients {
        wire,
        gate,
        network_cycles: simulation.cycles(NETWORK),
    };
    let clients = Rc::new(RefCell::new(clients));
    simulation.at(0, move |outside| Clients::look(clients, outside));
    Ok(Program::Endless)
}
