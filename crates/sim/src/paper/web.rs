//! SWS, the web server of the papers, as its graph of nine handlers (seed 000, section
//! V-C and figure 6; seed 002, section 4.3).
//!
//! | handler | color |
//! |---|---|
//! | Epoll, RegisterFdInEpoll | 0: on the first core, never stolen |
//! | Accept, DecClientAccepted | 1: begin on the second core |
//! | ReadRequest, ParseRequest, CheckInCache, WriteResponse, Close | the connection's |
//!
//! In seed 002 Accept and Close have one color, which begins on the first core.
//!
//! Clients in a closed loop ask for files of 1 KB: in seed 000 with 150 requests a
//! connection, in seed 002 with one.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::assumed::Open;
use super::clients::Clients;
use super::epoll::Ready;
use super::pipeline;
use super::program::{Begin, Setup, Workload};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Access, Color, Colored, Context, Handler, Region};

/// Requests of a round.
const ROUND: u64 = 1_000;

/// What handlers take; the papers have none of it. System calls are those that
/// production measures on the server of one byte; without one they are short.
const ACCEPT_CYCLES: u64 = 20_000;
const REGISTER_CYCLES: u64 = 2_000;
const READ_CYCLES: u64 = 5_000;
const PARSE_CYCLES: u64 = 2_500;
const LOOK_UP_CYCLES: u64 = 1_000;
const WRITE_CYCLES: u64 = 15_000;
const CLOSE_CYCLES: u64 = 18_000;
const COUNT_CYCLES: u64 = 200;

/// Of a connection: what it has read.
const BUFFER_BYTES: usize = 2_048;
/// A response: 1 KB and its header.
const RESPONSE_BYTES: usize = 1_280;
/// Files that are asked for, as many as a connection has requests.
const FILES: u32 = 150;

const fn handler(name: &'static str, cycles: u64) -> Handler {
    Handler::new(name).cost_cycles(cycles as u32)
}

static EPOLL: Handler = handler("web::Epoll", 10_000);
static ACCEPT: Handler = handler("web::Accept", ACCEPT_CYCLES);
static REGISTER: Handler = handler("web::RegisterFdInEpoll", REGISTER_CYCLES);
static READ: Handler = handler("web::ReadRequest", READ_CYCLES);
static PARSE: Handler = handler("web::ParseRequest", PARSE_CYCLES);
static LOOK_UP: Handler = handler("web::CheckInCache", LOOK_UP_CYCLES);
static WRITE: Handler = handler("web::WriteResponse", WRITE_CYCLES);
static CLOSE: Handler = handler("web::Close", CLOSE_CYCLES);
static COUNT: Handler = handler("web::DecClientAccepted", COUNT_CYCLES);

const ANSWERS: &[&str] = &["web::WriteResponse"];

pub(super) static MELY: Workload = Workload {
    cores: &[],
    counted: ANSWERS,
    warm: 5,
    rounds: 120,
    build: |simulation, setup| build(simulation, setup, 150, Kind::Second),
};

pub(super) static MELY_COPIES: Workload = Workload {
    build: |simulation, setup| build(simulation, setup, 150, Kind::Copies),
    ..MELY
};

pub(super) static CFSE: Workload = Workload {
    cores: pipeline::CORES,
    counted: ANSWERS,
    warm: 3,
    rounds: 20,
    build: |simulation, setup| build(simulation, setup, 1, Kind::First),
};

pub(super) static CFSE_COPIES: Workload = Workload {
    build: |simulation, setup| build(simulation, setup, 1, Kind::Copies),
    ..CFSE
};

/// Where a server accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One server, which accepts on the second core.
    Second,
    /// One server, which accepts and closes on the first, and can be pinned there.
    First,
    /// A server on each core, with its share of the clients: N-copy, of the same
    /// handlers.
    Copies,
}

/// The connections that Epoll watches, by client.
type Watched = Vec<Option<Colored<Connection>>>;

/// What all handlers know.
struct Server {
    clients: Arc<Clients>,
    ready: Ready,
    /// Of each client, whether it has a connection: the kernel's knowledge, which takes
    /// no time of the program's.
    open: Vec<AtomicBool>,
    requests: u32,
    in_step: bool,
    /// Whether Close has the color of Accept.
    gate_closes: bool,
    /// Where all connections are; else they are on all cores in turn.
    only_home: Option<usize>,
    epoll: Colored<Watched>,
    gate: Color,
}

struct Connection {
    client: u32,
    left: u32,
    server: Arc<Server>,
}

impl Server {
    /// Relaxed: a simulation is one thread.
    fn is_open(&self, client: u32) -> bool {
        self.open[client as usize].load(Ordering::Relaxed)
    }

    fn set_open(&self, client: u32, open: bool) {
        self.open[client as usize].store(open, Ordering::Relaxed);
    }

    /// A request comes, or a connection and its first request.
    fn arrive(self: &Arc<Self>, client: u32) {
        if self.ready.add(client) {
            let server = Arc::clone(self);
            let epoll = self.epoll.with_handler(&EPOLL);
            epoll.post_or_shed(move |watched, cx| server.look(watched, cx));
        }
    }

    /// Epoll.
    fn look(self: Arc<Self>, watched: &mut Watched, cx: &mut Context<'_, Watched>) {
        let mut new = Vec::new();
        for client in self.ready.take(cx) {
            match &watched[client as usize] {
                Some(connection) if self.is_open(client) => {
                    connection
                        .with_handler(&READ)
                        .post_or_shed(Connection::read);
                }
                _ => new.push(client),
            }
        }
        if !new.is_empty() {
            let server = Arc::clone(&self);
            let accept = self.gate.with_handler(&ACCEPT);
            // All that wait, in one event.
            accept.post_or_shed(move |(), cx| {
                new.iter().for_each(|&client| server.accept(client, cx))
            });
        }
    }

    fn close<T: Send + 'static>(&self, client: u32, cx: &mut Context<'_, T>) {
        cx.spend(CLOSE_CYCLES);
        self.set_open(client, false);
    }

    /// DecClientAccepted.
    fn count(&self, client: u32, cx: &mut Context<'_>) {
        cx.spend(COUNT_CYCLES);
        self.clients.answer(client);
    }

    fn accept(self: &Arc<Self>, client: u32, cx: &mut Context<'_>) {
        cx.spend(ACCEPT_CYCLES);
        let handle = cx.handle();
        let home = self.only_home.unwrap_or(client as usize % handle.workers());
        let connection = handle.color_options().start_on(home).colored(Connection {
            client,
            left: match self.in_step {
                true => self.requests,
                // Not all connections end at the same time.
                false => 1 + client.wrapping_mul(7) % self.requests,
            },
            server: Arc::clone(self),
        });
        // The home is a worker: it was taken modulo their number.
        let Ok(connection) = connection else { return };
        self.set_open(client, true);
        self.epoll
            .with_handler(&REGISTER)
            .post_or_shed(move |watched, cx| {
                cx.spend(REGISTER_CYCLES);
                connection
                    .with_handler(&READ)
                    .post_or_shed(Connection::read);
                watched[client as usize] = Some(connection);
            });
    }
}

impl Connection {
    fn buffer(&self) -> Region {
        Region::logical(1 + FILES + self.client, BUFFER_BYTES)
    }

    fn read(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(READ_CYCLES);
        cx.touch(self.buffer().part(0..256), Access::Write);
        cx.with_handler(&PARSE).post_or_shed(Self::parse);
    }

    fn parse(&mut self, cx: &mut Context<'_, Self>) {
        cx.touch(self.buffer().part(0..256), Access::Read);
        cx.spend(PARSE_CYCLES);
        cx.with_handler(&LOOK_UP).post_or_shed(Self::look_up);
    }

    fn look_up(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(LOOK_UP_CYCLES);
        cx.touch(
            Region::logical(0, 64 << 10).part(0..64 * FILES as usize),
            Access::Read,
        );
        cx.with_handler(&WRITE).post_or_shed(Self::write);
    }

    fn write(&mut self, cx: &mut Context<'_, Self>) {
        let file = 1 + (self.client + self.left) % FILES;
        cx.touch(Region::logical(file, RESPONSE_BYTES), Access::Read);
        cx.spend(WRITE_CYCLES);
        self.left -= 1;
        if self.left > 0 {
            self.server.clients.answer(self.client);
        } else if self.server.gate_closes {
            let (server, client) = (Arc::clone(&self.server), self.client);
            let gate = self.server.gate.with_handler(&CLOSE);
            gate.post_or_shed(move |(), cx| {
                server.close(client, cx);
                server.count(client, cx);
            });
        } else {
            cx.with_handler(&CLOSE).post_or_shed(Self::close);
        }
    }

    fn close(&mut self, cx: &mut Context<'_, Self>) {
        self.server.close(self.client, cx);
        let (server, client) = (Arc::clone(&self.server), self.client);
        let gate = self.server.gate.with_handler(&COUNT);
        gate.post_or_shed(move |(), cx| server.count(client, cx));
    }
}

impl Server {
    /// The server of which `core` is the first, or the only one.
    fn new(
        simulation: &Simulation,
        setup: &Setup,
        clients: &Arc<Clients>,
        (kind, core, requests): (Kind, usize, u32),
    ) -> Result<Arc<Self>, Error> {
        let number = setup.assumed.count(Open::WebClients);
        let handle = simulation.handle();
        let (gate, only_home) = match kind {
            Kind::Second => (handle.color_options().start_on(1), None),
            Kind::First => (handle.color_options().pin_by_policy(0), None),
            Kind::Copies => (handle.color_options().pin_to(core), Some(core)),
        };
        Ok(Arc::new(Server {
            clients: Arc::clone(clients),
            ready: Ready::new(setup),
            open: (0..number).map(|_| AtomicBool::new(false)).collect(),
            requests,
            in_step: setup.assumed.get(Open::WebInStep) == 1,
            only_home,
            gate_closes: kind == Kind::First,
            epoll: handle
                .color_options()
                .pin_to(core)
                .colored(vec![None; number])?,
            gate: gate.new_color()?,
        }))
    }
}

fn build(
    simulation: &Simulation,
    setup: &Setup,
    requests: u32,
    kind: Kind,
) -> Result<Begin, Error> {
    let clients = Arc::<Clients>::default();
    let cores = match kind {
        Kind::Second | Kind::First => 1,
        Kind::Copies => simulation.handle().workers(),
    };
    let server = |core| Server::new(simulation, setup, &clients, (kind, core, requests));
    let servers = (0..cores).map(server).collect::<Result<Vec<_>, _>>()?;
    let number = setup.assumed.get(Open::WebClients) as u32;
    let ask = Rc::new(move |client: u32| servers[client as usize % servers.len()].arrive(client));
    Ok(Box::new(move |simulation, rounds| {
        let requests = u64::from(rounds) * ROUND;
        clients.start(simulation, (number, 1), requests, Rc::clone(&ask) as _);
    }))
}
