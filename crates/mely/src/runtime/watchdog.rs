//! Warns when a handler holds a core for too long.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::event::handler;
use crate::machine::panics::call_safely;
use crate::machine::sync::Arc;
use crate::shared::Shared;
use crate::shared::config::StallReport;
use crate::shared::remote::Remote;

/// How often it looks, as a part of the time after which it warns.
const LOOKS: u32 = 4;

/// A thread that looks at the workers from time to time; ends when dropped.
pub(crate) struct Watchdog {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What was running on a worker at the last look.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    handler: u64,
    turns: u64,
    events: u64,
}

impl Seen {
    fn on(remote: &Remote) -> Self {
        let handler = remote.counts.running.get();
        let counts = usize::try_from(handler).ok();
        let counts = counts.and_then(|at| remote.handlers.get(at));
        Self {
            handler,
            turns: remote.counts.turns.get(),
            events: counts.map_or(0, |c| c.events.get()),
        }
    }
}

impl Watchdog {
    /// Starts one, if the runtime was told when to warn.
    pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Option<Self>> {
        let Some(warn_after) = shared.config.warn_after else {
            return Ok(None);
        };
        let pause = (warn_after / LOOKS).max(Duration::from_millis(1));
        let (stop, stopped) = mpsc::channel::<()>();
        let shared = Arc::clone(shared);
        let thread = std::thread::Builder::new()
            .name(format!("{}-watchdog", shared.config.worker_name))
            .spawn(move || {
                let mut looks = vec![(Seen::default(), 0u32); shared.remotes.len()];
                while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    for (worker, look) in looks.iter_mut().enumerate() {
                        check(&shared, worker, look, pause);
                    }
                }
            })?;
        Ok(Some(Self {
            stop: Some(stop),
            thread: Some(thread),
        }))
    }
}

fn check(shared: &Shared, worker: usize, look: &mut (Seen, u32), pause: Duration) {
    let seen = Seen::on(&shared.remotes[worker]);
    if seen.handler == 0 || seen != look.0 {
        *look = (seen, 0);
        return;
    }
    look.1 += 1;
    if look.1 == LOOKS {
        let name = usize::try_from(seen.handler).ok();
        let name = name.and_then(|at| handler::names().get(at).copied());
        let report = StallReport {
            worker,
            handler: name.unwrap_or("(unknown)"),
            held: pause * LOOKS,
        };
        call_safely(|| (shared.config.on_stall)(&report));
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
