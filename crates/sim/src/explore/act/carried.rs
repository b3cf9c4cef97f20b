//! What colors and events carry, whose destructors the runtime calls.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::{ColorRef, From, Running, lock};
use crate::explore::checks::{ColorId, EventId, Poster, Seen};
use crate::explore::fault::Fault;
use crate::explore::program::{Action, Event};
use crate::explore::watch::Watch;
use crate::mely::{Colored, Handle};

/// No program takes so long.
const NEVER: Duration = Duration::from_secs(100_000);

/// The references that a state has.
#[derive(Default)]
pub(super) struct Kept(Mutex<Vec<ColorRef>>);

impl Kept {
    pub(super) fn put(&self, colors: Vec<ColorRef>) {
        *lock(&self.0) = colors;
    }

    pub(super) fn take(&self) -> Vec<ColorRef> {
        std::mem::take(&mut lock(&self.0))
    }
}

/// The state of a color: it tells when it is dropped.
pub(super) struct State {
    number: usize,
    watch: Arc<Watch>,
    running: Weak<Running>,
    pub(super) kept: Arc<Kept>,
    _handle: Option<Handle>,
    /// As if it were never dropped: a planted bug.
    is_kept: bool,
}

impl State {
    pub(super) fn new(
        number: usize,
        (running, watch): (Weak<Running>, Arc<Watch>),
        handle: Option<Handle>,
        is_kept: bool,
    ) -> Self {
        Self {
            number,
            watch,
            running,
            kept: Arc::default(),
            _handle: handle,
            is_kept,
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let color = ColorId::Planned(self.number);
        self.watch.see(Seen::Freed { color });
        let kept = self.kept.take();
        if let Some(running) = self.running.upgrade() {
            let last = &running.plans[self.number].last;
            running.do_last(last, None, &kept);
        }
    }
}

/// What an event can let go of the state of its color.
pub(super) trait Pocket: Send + 'static {
    fn let_go(&mut self);
}

impl Pocket for () {
    fn let_go(&mut self) {}
}

impl Pocket for State {
    fn let_go(&mut self) {
        let kept = self.kept.take();
        drop(kept);
    }
}

/// A value that an event holds, which does something when it is dropped.
struct Parting {
    running: Arc<Running>,
    event: Arc<Event>,
    colors: Vec<ColorRef>,
}

/// What each event carries: it tells when the event begins, and if it never does.
pub(super) struct Token {
    pub(super) event: EventId,
    pub(super) color: ColorId,
    watch: Arc<Watch>,
    parting: Option<Box<Parting>>,
    has_begun: bool,
    has_ended: bool,
}

impl Token {
    pub(super) fn new(event: EventId, color: ColorId, watch: Arc<Watch>) -> Self {
        Self {
            event,
            color,
            watch,
            parting: None,
            has_begun: false,
            has_ended: false,
        }
    }

    /// The same, which does what the event says when it is dropped, by references of its
    /// own to the colors that it needs.
    pub(super) fn parting(mut self, running: &Arc<Running>, event: &Arc<Event>) -> Self {
        if event.last.is_empty() {
            return self;
        }
        let mut numbers: Vec<_> = event.last.iter().flat_map(|a| a.colors()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let own = |number| Some((number, running.color(number, &[])?));
        let refs: Vec<ColorRef> = numbers.into_iter().filter_map(own).collect();
        let own = |(number, color): ColorRef| (number, Arc::new(Colored::clone(&color)));
        let parting = Parting {
            running: Arc::clone(running),
            event: Arc::clone(event),
            colors: refs.into_iter().map(own).collect(),
        };
        self.parting = Some(Box::new(parting));
        self
    }

    /// The event has come to its end: one that has not when the token is dropped has
    /// panicked. (Whether the thread panics says nothing: other cores go on while one
    /// that panics waits for a lock.)
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// The event begins, until the token is dropped.
    pub(super) fn begin(&mut self, worker: usize, now: Option<Instant>) {
        self.has_begun = true;
        let &mut Token { event, color, .. } = self;
        self.watch.see(Seen::Began {
            event,
            color,
            worker,
            now,
        });
    }

    /// Does what the value does that is dropped with it; an error if it has panicked.
    fn part(&mut self) -> std::thread::Result<()> {
        let Some(parting) = self.parting.take() else {
            return Ok(());
        };
        let color = self.has_begun.then_some(self.color);
        catch_unwind(AssertUnwindSafe(|| {
            let Parting {
                running,
                event,
                colors,
            } = *parting;
            if running.fault == Some(Fault::KeptValue) {
                core::mem::forget(Arc::clone(&running.watch));
            }
            running.do_last(&event.last, color, &colors);
        }))
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        let &mut Token { event, color, .. } = self;
        let unwinds = self.has_begun && !self.has_ended;
        if !self.has_begun {
            self.watch.see(Seen::Dropped { event });
        }
        let parted = self.part();
        if self.has_begun {
            let panicked = unwinds || parted.is_err();
            self.watch.see(Seen::Ended {
                event,
                color,
                panicked,
            });
        }
        // A second panic would end the process. That of an event which never began may
        // come while another one unwinds.
        if let Err(panic) = parted
            && (self.has_ended || !std::thread::panicking())
            && !unwinds
        {
            resume_unwind(panic);
        }
    }
}

impl Running {
    /// Does what a destructor does, perhaps while an event of a color runs.
    pub(super) fn do_last(
        self: &Arc<Self>,
        last: &[Action],
        color: Option<ColorId>,
        known: &[ColorRef],
    ) {
        let by = self.here();
        // Where the machine stands still, it may have locks that nobody frees.
        let stands = by == Poster::Outside && std::thread::panicking();
        if stands || self.watch.has_found() {
            return;
        }
        let from = From { by, color };
        for action in last {
            match action {
                Action::Post { color, event, .. } if self.fault == Some(Fault::LostParting) => {
                    // A timer on a bounded color is another thing than a post.
                    let bounded = self.plans[*color].capacity.is_some();
                    if let Some(to) = self.color(*color, known).filter(|_| !bounded) {
                        let id = self.watch.next_event();
                        let of = ColorId::Planned(*color);
                        let token = self.posting(id, of, from, event.kind, None);
                        self.watch.see(Seen::Posted { event: id });
                        to.post_after(NEVER, move |_, _| drop(token)).cancel();
                    }
                }
                action => self.act(action, from, known),
            }
        }
    }
}
