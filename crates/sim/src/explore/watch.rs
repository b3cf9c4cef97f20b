//! What is seen of a program goes here, from its handlers and from the machine.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::Violation;
use super::checks::{self, AskId, Check, EventId, Seen};
use super::fault::Fault;
use super::program::Program;
use crate::mely::simulated::{locks_held, meter};

/// All checks of a program, and what they found.
///
/// Behind a lock of the standard library's, which the machine does not see: it is
/// never held while anything of the runtime is used.
pub(super) struct Watch {
    inner: Mutex<Inner>,
    found: AtomicBool,
    fault: Option<Fault>,
}

struct Inner {
    checks: Vec<Box<dyn Check>>,
    violation: Option<Violation>,
    next: EventId,
    next_task: EventId,
    next_ask: AskId,
    hash: u64,
}

impl Watch {
    pub(super) fn new(program: &Program, fault: Option<Fault>) -> Self {
        let inner = Inner {
            checks: checks::all(program),
            violation: None,
            next: 0,
            next_task: 0,
            next_ask: 0,
            hash: 0,
        };
        Self {
            inner: Mutex::new(inner),
            found: AtomicBool::new(false),
            fault,
        }
    }

    fn with<R>(&self, work: impl FnOnce(&mut Inner) -> R) -> R {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number for an event that is to be posted.
    pub(super) fn next_event(&self) -> EventId {
        self.with(|inner| {
            inner.next += 1;
            inner.next
        })
    }

    /// A number for a task that is to be spawned.
    pub(super) fn next_task(&self) -> EventId {
        self.with(|inner| {
            inner.next_task += 1;
            inner.next_task
        })
    }

    /// A number for an answer that is waited for.
    pub(super) fn next_ask(&self) -> AskId {
        self.with(|inner| {
            inner.next_ask += 1;
            inner.next_ask
        })
    }

    /// Something is seen: every check looks at it, until one has found something.
    pub(super) fn see(&self, seen: Seen<'_>) {
        if seen.is_of_program() {
            let planted = self.fault == Some(Fault::LiesOn)
                && matches!(seen, Seen::Began { event, .. } if event % 7 == 0);
            let (locks, lies) = (locks_held(), meter::lies() || planted);
            self.look(&Seen::Called { locks, lies });
        }
        self.look(&seen);
        if self.fault == Some(Fault::TwoOwners)
            && let Seen::Began {
                event,
                color,
                worker,
                now,
            } = seen
            && event % 7 == 0
        {
            let worker = worker + 1;
            self.look(&Seen::Began {
                event,
                color,
                worker,
                now,
            });
        }
    }

    fn look(&self, seen: &Seen<'_>) {
        if self.has_found() {
            return;
        }
        self.with(|inner| {
            let began = match *seen {
                Seen::Began { event, worker, .. } => Some((event, worker)),
                Seen::PollBegan { worker, .. } => Some((0, worker)),
                _ => None,
            };
            if let Some((event, worker)) = began {
                // As odd as any; what counts is that the order matters.
                let word = event << 8 | worker as u64;
                inner.hash = (inner.hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            }
            for check in &mut inner.checks {
                if let Err(what) = check.see(seen) {
                    let invariant = check.name();
                    inner.violation = Some(Violation { invariant, what });
                    // Relaxed: all is on one thread.
                    self.found.store(true, Relaxed);
                    return;
                }
            }
        });
    }

    /// Whether something is wrong.
    pub(super) fn has_found(&self) -> bool {
        // Relaxed: all is on one thread.
        self.found.load(Relaxed)
    }

    /// Nothing that is seen means anything any more.
    pub(super) fn give_up(&self) {
        // Relaxed: all is on one thread.
        self.found.store(true, Relaxed);
    }

    /// What is wrong.
    pub(super) fn violation(&self) -> Option<Violation> {
        self.with(|inner| inner.violation.clone())
    }

    /// Which event began where, in which order.
    pub(super) fn hash(&self) -> u64 {
        self.with(|inner| inner.hash)
    }

    /// How many events were posted.
    pub(super) fn events(&self) -> u64 {
        self.with(|inner| inner.next)
    }
}
