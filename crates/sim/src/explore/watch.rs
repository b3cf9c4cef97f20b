//! What is seen of a program goes here, from its handlers and from the machine.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::Violation;
use super::checks::{self, Check, ColorId, EventId, Seen};
use super::fault::Fault;
use super::program::Program;

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
    hash: u64,
}

impl Watch {
    pub(super) fn new(program: &Program, fault: Option<Fault>) -> Self {
        let inner = Inner {
            checks: checks::all(program),
            violation: None,
            next: 0,
            next_task: 0,
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

    /// Something is seen: every check looks at it, until one has found something.
    pub(super) fn see(&self, seen: Seen<'_>) {
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

/// The state of a color: it tells when it is dropped.
pub(super) struct State {
    pub(super) color: ColorId,
    pub(super) watch: std::sync::Arc<Watch>,
    /// As if it were never dropped: a planted bug.
    pub(super) is_kept: bool,
}

impl Drop for State {
    fn drop(&mut self) {
        if !self.is_kept {
            self.watch.see(Seen::Freed { color: self.color });
        }
    }
}

/// What each event carries: it tells when the event begins, and if it never does.
pub(super) struct Token {
    pub(super) event: EventId,
    pub(super) color: ColorId,
    pub(super) watch: std::sync::Arc<Watch>,
    has_begun: bool,
    has_ended: bool,
}

impl Token {
    pub(super) fn new(event: EventId, color: ColorId, watch: std::sync::Arc<Watch>) -> Self {
        Self {
            event,
            color,
            watch,
            has_begun: false,
            has_ended: false,
        }
    }

    /// The event has come to its end: one that has not when the token is dropped has
    /// panicked. (Whether the thread panics says nothing: other cores go on while one
    /// that panics waits for a lock.)
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// The event begins, until the token is dropped.
    pub(super) fn begin(&mut self, worker: usize, now: Option<std::time::Instant>) {
        self.has_begun = true;
        let &mut Token { event, color, .. } = self;
        self.watch.see(Seen::Began {
            event,
            color,
            worker,
            now,
        });
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        let &mut Token { event, color, .. } = self;
        let panicked = !self.has_ended;
        self.watch.see(match self.has_begun {
            true => Seen::Ended {
                event,
                color,
                panicked,
            },
            false => Seen::Dropped { event },
        });
    }
}
