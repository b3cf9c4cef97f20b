//! Clients in a closed loop: each asks, waits for the answer, and asks again.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::{Outside, Simulation};

/// From an answer to the client's next request, on a gigabit switch: 100 µs at 2.33 GHz.
/// Few enough that clients wait for the server, and not the server for them.
const ROUND_TRIP_CYCLES: u64 = 233_000;

/// How often the network looks for answers: 2 µs.
const LOOK_CYCLES: u64 = 4_660;

/// Between the first requests of two clients.
const APART_CYCLES: u64 = 2_000;

/// The clients of a server.
#[derive(Default)]
pub(super) struct Clients(Mutex<State>);

#[derive(Default)]
struct State {
    answered: Vec<u32>,
    /// Requests that nobody has sent yet.
    left: u64,
    /// Requests without an answer.
    open: u64,
}

type Ask = Rc<dyn Fn(u32)>;

impl Clients {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server has sent its answer to a client.
    pub(super) fn answer(&self, client: u32) {
        self.state().answered.push(client);
    }

    /// Lets so many clients send so many requests in all; `ask` sends one. A client
    /// has `outstanding` requests on their way.
    pub(super) fn start(
        self: &Arc<Self>,
        simulation: &Simulation,
        (clients, outstanding): (u32, u32),
        requests: u64,
        ask: Ask,
    ) {
        let first = u64::from(clients * outstanding).min(requests);
        {
            let mut state = self.state();
            state.left = requests - first;
            state.open = first;
        }
        let now = simulation.now();
        for request in 0..first {
            let ask = Rc::clone(&ask);
            let client = (request % u64::from(clients)) as u32;
            simulation.at(now + request * APART_CYCLES, move |_| ask(client));
        }
        let clients = Arc::clone(self);
        simulation.at(now, move |outside| look(&clients, &ask, outside));
    }
}

/// Looks for answers, and sends what comes after them.
fn look(clients: &Arc<Clients>, ask: &Ask, outside: &Outside<'_>) {
    let mut state = clients.state();
    let answered = std::mem::take(&mut state.answered);
    for client in answered {
        state.open -= 1;
        if state.left > 0 {
            state.left -= 1;
            state.open += 1;
            let ask = Rc::clone(ask);
            let when = outside.now() + ROUND_TRIP_CYCLES;
            outside.at(when, move |_| ask(client));
        }
    }
    if state.open > 0 {
        let (clients, ask) = (Arc::clone(clients), Rc::clone(ask));
        let when = outside.now() + LOOK_CYCLES;
        outside.at(when, move |outside| look(&clients, &ask, outside));
    }
}
