//! SFS, the secure file server of the papers (seed 000, sections II-C and V-C; seed 002,
//! section 4.3).
//!
//! Only the handlers that encrypt have colors, a client's each; all others run on the
//! first core. Clients read a large file that the server has in memory, in pieces, with
//! some of them asked for ahead.

use std::rc::Rc;
use std::sync::Arc;

use super::assumed::Open;
use super::clients::Clients;
use super::program::{Begin, Setup, Workload};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Access, Color, Context, Handler, Region};

/// A piece of a file, as NFS version 3 of those years reads it.
const PIECE_BYTES: usize = 8_192;
/// Pieces that a client asks for ahead, as the Linux of those years did: 64 KB.
const AHEAD: u32 = 8;
/// Pieces of a round.
const ROUND: u64 = 256;

/// Encryption and a hash: some 8 and 12 cycles a byte (ARC4, SHA-1).
const CRYPTO_CYCLES: u64 = 20 * PIECE_BYTES as u64;
/// About what all else takes, for policies that know it.
const OTHER_CYCLES: u32 = 50_000;

static REQUEST: Handler = Handler::new("files::Request").cost_cycles(OTHER_CYCLES);
static ENCRYPT: Handler = Handler::new("files::Encrypt").cost_cycles(CRYPTO_CYCLES as u32);
static SEND: Handler = Handler::new("files::Send").cost_cycles(OTHER_CYCLES);

pub(super) static MELY: Workload = Workload {
    cores: &[],
    counted: &["files::Send"],
    // What is stolen at the beginning stays with its thief: without it, there were no
    // steals to measure.
    warm: 0,
    rounds: 44,
    build: |simulation, setup| build(simulation, setup, 16),
};

pub(super) static CFSE: Workload = Workload {
    cores: &[],
    counted: &["files::Send"],
    // What is stolen at the beginning stays with its thief: without it, there were no
    // steals to measure.
    warm: 0,
    rounds: 44,
    build: |simulation, setup| build(simulation, setup, 15),
};

/// What all handlers know.
struct Server {
    clients: Arc<Clients>,
    main: Color,
    sessions: Vec<Color>,
    /// What the request and the file take, and what sending takes.
    request_cycles: u64,
    send_cycles: u64,
}

impl Server {
    fn request(self: &Arc<Self>, client: u32) {
        let server = Arc::clone(self);
        self.main
            .with_handler(&REQUEST)
            .post_or_shed(move |(), cx| {
                cx.spend(server.request_cycles);
                cx.touch(piece(client), Access::Write);
                let session = server.sessions[client as usize].clone();
                session
                    .with_handler(&ENCRYPT)
                    .post_or_shed(move |(), cx| encrypt(server, client, cx));
            });
    }
}

/// The memory of what a client reads next.
fn piece(client: u32) -> Region {
    Region::logical(1 + client, PIECE_BYTES)
}

fn encrypt(server: Arc<Server>, client: u32, cx: &mut Context<'_>) {
    cx.touch(piece(client), Access::Write);
    cx.spend(CRYPTO_CYCLES);
    let main = server.main.clone();
    main.with_handler(&SEND).post_or_shed(move |(), cx| {
        cx.touch(piece(client), Access::Read);
        cx.spend(server.send_cycles);
        server.clients.answer(client);
    });
}

fn build(simulation: &Simulation, setup: &Setup, clients: u32) -> Result<Begin, Error> {
    let crypto = setup.assumed.get(Open::FilesCryptoPercent);
    let other_cycles = CRYPTO_CYCLES * (100 - crypto) / crypto;
    // Two thirds of all else come before, one after.
    let request_cycles = other_cycles * 2 / 3;
    let handle = simulation.handle();
    let answers = Arc::<Clients>::default();
    let session = |client: u32| {
        let home = client as usize % handle.workers();
        handle.color_options().start_on(home).new_color()
    };
    let server = Arc::new(Server {
        clients: Arc::clone(&answers),
        main: handle.color_options().pin_to(0).new_color()?,
        sessions: (0..clients).map(session).collect::<Result<_, _>>()?,
        request_cycles,
        send_cycles: other_cycles - request_cycles,
    });
    let ask = Rc::new(move |client| server.request(client));
    Ok(Box::new(move |simulation, rounds| {
        let requests = u64::from(rounds) * ROUND;
        let ask = Rc::clone(&ask) as _;
        answers.start(simulation, (clients, AHEAD), requests, ask);
    }))
}
