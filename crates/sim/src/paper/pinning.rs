//! `pinning`: a server of one byte a connection (seed 002, section 4.2.3, figures 7
//! and 8).
//!
//! | handler | color | does |
//! |---|---|---|
//! | Epoll | 0, never stolen | finds what is ready |
//! | Accept | the gate's, begins on the first core | accepts all that wait |
//! | Read | the connection's | reads one byte |
//! | Write | the connection's | writes one byte |
//! | Close | the gate's | closes the connection |
//!
//! Policies without pinning may steal the gate. Connections begin on all cores in turn.

use std::rc::Rc;
use std::sync::Arc;

use super::assumed::Open;
use super::clients::Clients;
use super::epoll::Ready;
use super::pipeline::CORES;
use super::program::{Begin, Setup, Workload};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Colored, Context, Handler};

/// Connections of a round.
const ROUND: u64 = 200;

/// Mostly system calls, as measured in production.
const ACCEPT_CYCLES: u64 = 20_000;
const READ_CYCLES: u64 = 5_000;
const CLOSE_CYCLES: u64 = 18_000;

static EPOLL: Handler = Handler::new("pinning::Epoll").cost_cycles(5_000);
static ACCEPT: Handler = Handler::new("pinning::Accept").cost_cycles(ACCEPT_CYCLES as u32);
static READ: Handler = Handler::new("pinning::Read").cost_cycles(READ_CYCLES as u32);
static WRITE: Handler = Handler::new("pinning::Write").cost_cycles(19_000);
static CLOSE: Handler = Handler::new("pinning::Close").cost_cycles(CLOSE_CYCLES as u32);

pub(super) static WORKLOAD: Workload = Workload {
    cores: CORES,
    counted: &["pinning::Close"],
    warm: 2,
    rounds: 40,
    build,
};

/// Accepts and closes.
struct Gate {
    next_home: usize,
    write_cycles: u64,
    clients: Arc<Clients>,
}

struct Connection {
    client: u32,
    write_cycles: u64,
    gate: Colored<Gate>,
}

impl Gate {
    fn accept(&mut self, client: u32, cx: &mut Context<'_, Self>) {
        cx.spend(ACCEPT_CYCLES);
        let handle = cx.handle();
        let home = self.next_home % handle.workers();
        self.next_home += 1;
        let connection = handle.color_options().start_on(home).colored(Connection {
            client,
            write_cycles: self.write_cycles,
            gate: cx.colored(),
        });
        // The home is a worker: it was taken modulo their number.
        if let Ok(connection) = connection {
            connection
                .with_handler(&READ)
                .post_or_shed(Connection::read);
        }
    }

    fn close(&mut self, client: u32, cx: &mut Context<'_, Self>) {
        cx.spend(CLOSE_CYCLES);
        self.clients.answer(client);
    }
}

impl Connection {
    fn read(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(READ_CYCLES);
        cx.with_handler(&WRITE).post_or_shed(Self::write);
    }

    fn write(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(self.write_cycles);
        let client = self.client;
        let close = self.gate.with_handler(&CLOSE);
        close.post_or_shed(move |gate, cx| gate.close(client, cx));
    }
}

fn build(simulation: &Simulation, setup: &Setup) -> Result<Begin, Error> {
    let clients = Arc::<Clients>::default();
    let open = setup.assumed.count(Open::PinningClients) as u32;
    let handle = simulation.handle();
    let gate = handle.color_options().pin_by_policy(0).colored(Gate {
        next_home: 0,
        write_cycles: setup.assumed.get(Open::PinningWriteCycles),
        clients: Arc::clone(&clients),
    })?;
    let epoll = handle.color_options().pin_to(0).new_color()?;
    let ready = Arc::new(Ready::new(setup));
    let ask = Rc::new(move |client| {
        if !ready.add(client) {
            return;
        }
        let (ready, gate) = (Arc::clone(&ready), gate.clone());
        epoll.with_handler(&EPOLL).post_or_shed(move |(), cx| {
            let new = ready.take(cx);
            let accept = gate.with_handler(&ACCEPT);
            accept.post_or_shed(move |gate, cx| {
                new.iter().for_each(|&client| gate.accept(client, cx))
            });
        });
    });
    Ok(Box::new(move |simulation, rounds| {
        let connections = u64::from(rounds) * ROUND;
        clients.start(simulation, (open, 1), connections, Rc::clone(&ask) as _);
    }))
}
