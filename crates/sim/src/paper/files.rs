//! SFS, the secure file server of the papers (seed 000, sections II-C and V-C; seed 002,
//! section 4.3).
//!
//! Only the handlers that encrypt have colors, a client's each; all others run on the
//! first core. Clients read a large file that the server has in memory, in pieces, with
//! some of them asked for ahead.

use std::rc::Rc;
use std::sync::Arc;

use super::clients::Clients;
use super::pipeline;
use super::program::{Begin, Workload};
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
/// All else: the papers give cryptography 60 % of the time.
const OTHER_CYCLES: u64 = CRYPTO_CYCLES * 40 / 60;
/// Two thirds of it before, for the request and the file, the rest to send.
const REQUEST_CYCLES: u64 = OTHER_CYCLES * 2 / 3;
const SEND_CYCLES: u64 = OTHER_CYCLES - REQUEST_CYCLES;

static REQUEST: Handler = Handler::new("files::Request").cost_cycles(REQUEST_CYCLES as u32);
static ENCRYPT: Handler = Handler::new("files::Encrypt").cost_cycles(CRYPTO_CYCLES as u32);
static SEND: Handler = Handler::new("files::Send").cost_cycles(SEND_CYCLES as u32);

pub(super) static MELY: Workload = Workload {
    cores: &[],
    counted: &["files::Send"],
    warm: 4,
    rounds: 40,
    build: |simulation, _size| build(simulation, 16),
};

pub(super) static CFSE: Workload = Workload {
    cores: pipeline::CORES,
    counted: &["files::Send"],
    warm: 4,
    rounds: 40,
    build: |simulation, _size| build(simulation, 15),
};

/// What all handlers know.
struct Server {
    clients: Arc<Clients>,
    main: Color,
    sessions: Vec<Color>,
}

impl Server {
    fn request(self: &Arc<Self>, client: u32) {
        let server = Arc::clone(self);
        self.main.via(&REQUEST).post(move |(), cx| {
            cx.spend(REQUEST_CYCLES);
            cx.touch(piece(client), Access::Write);
            let session = server.sessions[client as usize].clone();
            session
                .via(&ENCRYPT)
                .post(move |(), cx| encrypt(server, client, cx));
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
    main.via(&SEND).post(move |(), cx| {
        cx.touch(piece(client), Access::Read);
        cx.spend(SEND_CYCLES);
        server.clients.answer(client);
    });
}

fn build(simulation: &Simulation, clients: u32) -> Result<Begin, Error> {
    let handle = simulation.handle();
    let answers = Arc::<Clients>::default();
    let session = |client: u32| {
        let home = client as usize % handle.workers();
        handle.color_options().home(home).fresh()
    };
    let server = Arc::new(Server {
        clients: Arc::clone(&answers),
        main: handle.color_options().pinned(0).fresh()?,
        sessions: (0..clients).map(session).collect::<Result<_, _>>()?,
    });
    let ask = Rc::new(move |client| server.request(client));
    Ok(Box::new(move |simulation, rounds| {
        let requests = u64::from(rounds) * ROUND;
        let ask = Rc::clone(&ask) as _;
        answers.start(simulation, (clients, AHEAD), requests, ask);
    }))
}
