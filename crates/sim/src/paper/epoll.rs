//! What the kernel tells a server: which clients have sent something.

use std::sync::{Mutex, PoisonError};

use super::assumed::Open;
use super::program::Setup;
use crate::mely::Context;

/// A system call that asks the kernel.
const CALL_CYCLES: u64 = 2_000;
/// The clients that have sent something, since Epoll looked last.
pub(super) struct Ready {
    clients: Mutex<Vec<u32>>,
    /// What Epoll takes for each of them, besides the call.
    ready_cycles: u64,
}

impl Ready {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            clients: Mutex::default(),
            ready_cycles: setup.assumed.get(Open::EpollReadyCycles),
        }
    }

    /// A client has sent something. Whether Epoll has to be told: it finds the others
    /// in the same call.
    pub(super) fn add(&self, client: u32) -> bool {
        let mut ready = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        ready.push(client);
        ready.len() == 1
    }

    /// Epoll looks.
    pub(super) fn take<T: Send + 'static>(&self, cx: &mut Context<'_, T>) -> Vec<u32> {
        let mut ready = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let clients = std::mem::take(&mut *ready);
        drop(ready);
        cx.spend(CALL_CYCLES + self.ready_cycles * clients.len() as u64);
        clients
    }
}
