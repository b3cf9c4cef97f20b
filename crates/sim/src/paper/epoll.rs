//! What the kernel tells a server: which clients have sent something.

use std::sync::{Mutex, PoisonError};

use crate::mely::Context;

/// A system call that asks the kernel.
const CALL_CYCLES: u64 = 2_000;
/// And for each client that it tells of.
const READY_CYCLES: u64 = 500;

/// The clients that have sent something, since Epoll looked last.
#[derive(Default)]
pub(super) struct Ready(Mutex<Vec<u32>>);

impl Ready {
    /// A client has sent something. Whether Epoll has to be told: it finds the others
    /// in the same call.
    pub(super) fn add(&self, client: u32) -> bool {
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ready.push(client);
        ready.len() == 1
    }

    /// Epoll looks.
    pub(super) fn take<T: Send + 'static>(&self, cx: &mut Context<'_, T>) -> Vec<u32> {
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let clients = std::mem::take(&mut *ready);
        drop(ready);
        cx.spend(CALL_CYCLES + READY_CYCLES * clients.len() as u64);
        clients
    }
}
