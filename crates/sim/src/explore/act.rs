//! What a program does, done.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::checks::{ColorId, EventId, Poster, Seen};
use super::fault::Fault;
use super::program::{Action, Event, How, Kind, LONG_CYCLES, Program};
use super::watch::{State, Token, Watch};
use crate::mely::{Builder, Colored, Context, Handle, Handler, OnPanic, Timer};

// Static, all of them: those of closure types might be one or two by how the compiler
// places their code, and costs are learned for each.
static PLAIN: Handler = Handler::new("explore::Plain");
static SHORT: Handler = Handler::new("explore::Short").cost_cycles(100);
static LONG: Handler = Handler::new("explore::Long").cost_cycles(LONG_CYCLES as u32);
static HEAVY: Handler = Handler::new("explore::Heavy")
    .cost_cycles(LONG_CYCLES as u32)
    .penalty(20);

impl Kind {
    pub(super) fn handler(self) -> &'static Handler {
        match self {
            Kind::Plain => &PLAIN,
            Kind::Short => &SHORT,
            Kind::Long => &LONG,
            Kind::Heavy => &HEAVY,
        }
    }

    /// What an event takes besides what it does.
    fn cycles(self) -> u64 {
        match self {
            Kind::Plain => 30,
            Kind::Short => 100,
            Kind::Long | Kind::Heavy => LONG_CYCLES,
        }
    }
}

type Slot = Mutex<Option<Arc<Colored<State>>>>;

/// A program that runs: what all its events share.
pub(super) struct Running {
    pub(super) watch: Arc<Watch>,
    slots: Vec<Slot>,
    timers: Mutex<Vec<(EventId, Timer)>>,
    /// The last time that an event has read.
    now: Mutex<Option<Instant>>,
    fault: Option<Fault>,
}

/// The runtime that a program runs on.
pub(super) fn builder(program: &Program, fault: Option<Fault>) -> Builder {
    let poison = program.poison || fault == Some(Fault::SilentPoison);
    let builder = Builder::default()
        .policy(program.policy)
        .on_panic(match poison {
            true => OnPanic::PoisonColor,
            false => OnPanic::Continue,
        });
    match (fault, program.batch) {
        (Some(Fault::LongBatch), _) => builder.batch_threshold(u32::MAX),
        (_, Some(batch)) => builder.batch_threshold(batch),
        (_, None) => builder,
    }
}

/// A lock that no panic makes useless.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where an event is posted from.
#[derive(Clone, Copy)]
pub(super) struct From {
    pub(super) by: Poster,
    pub(super) color: Option<ColorId>,
}

pub(super) const OUTSIDE: From = From {
    by: Poster::Outside,
    color: None,
};

impl Running {
    pub(super) fn new(program: &Program, fault: Option<Fault>, handle: &Handle) -> Arc<Self> {
        let watch = Arc::new(Watch::new(program, fault));
        let slot = |(number, plan): (usize, &super::ColorPlan)| {
            let state = |color| State {
                color: ColorId::Planned(color),
                watch: Arc::clone(&watch),
                is_kept: number == 0 && fault == Some(Fault::KeptState),
            };
            if let Some(small) = plan.number {
                let color = handle.color(small).attach(state(number));
                return Mutex::new(Some(Arc::new(color)));
            }
            let home = plan.home(program.cores);
            let mut options = handle.color_options();
            options = match plan.pinned && fault != Some(Fault::LoosePin) {
                true => options.pinned(home),
                false => options.home(home),
            };
            if let Some(capacity) = plan.capacity {
                let more = if fault == Some(Fault::WideBound) {
                    3
                } else {
                    0
                };
                options = options.capacity(capacity + more);
            }
            match options.colored(state(number)) {
                Ok(color) => Mutex::new(Some(Arc::new(color))),
                Err(error) => unreachable!("the home is a worker: {error}"),
            }
        };
        let slots: Vec<Slot> = program.colors.iter().enumerate().map(slot).collect();
        Arc::new(Self {
            watch,
            slots,
            timers: Mutex::default(),
            now: Mutex::new(None),
            fault,
        })
    }

    /// Drops all references to colors and timers.
    pub(super) fn clear(&self) {
        for slot in &self.slots {
            let color = lock(slot).take();
            drop(color);
        }
        let timers = std::mem::take(&mut *lock(&self.timers));
        drop(timers);
    }

    /// The handle of a color, unless it has been dropped.
    pub(super) fn color(&self, number: usize) -> Option<Arc<Colored<State>>> {
        self.slots.get(number).and_then(|slot| lock(slot).clone())
    }

    /// Does what comes from outside.
    pub(super) fn act_outside(self: &Arc<Self>, does: &[Action], handle: &Handle) {
        for action in does {
            match action {
                Action::PostFresh { times, event } => {
                    for id in self.ids(*times) {
                        let color = handle.fresh_color();
                        let of = ColorId::Fresh(id);
                        let token = self.posting(id, of, OUTSIDE, event.kind, None);
                        let (running, event) = (Arc::clone(self), Arc::clone(event));
                        let handler = event.kind.handler();
                        color
                            .via(handler)
                            .post(move |(), cx| running.run(cx, token, &event));
                        self.watch.see(Seen::Posted { event: id });
                    }
                }
                Action::With { color } => self.wait_for_section(*color),
                action => self.act(action, OUTSIDE),
            }
        }
    }

    /// Runs an event.
    pub(super) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        cx: &mut Context<'_, T>,
        mut token: Token,
        event: &Event,
    ) {
        let now = cx.now();
        *lock(&self.now) = Some(now);
        token.begin(cx.worker(), Some(now));
        cx.spend(event.kind.cycles());
        for action in &event.does {
            let from = From {
                by: Poster::Worker(cx.worker()),
                color: Some(token.color),
            };
            match action {
                Action::Spend(cycles) => cx.spend(*cycles),
                Action::PostSelf { times, event } => {
                    for id in self.ids(*times) {
                        let token = self.posting(id, token.color, from, event.kind, None);
                        let (running, event) = (Arc::clone(self), Arc::clone(event));
                        let handler = event.kind.handler();
                        cx.post_via(handler, move |_, cx| running.run(cx, token, &event));
                        self.watch.see(Seen::Posted { event: id });
                    }
                }
                Action::PostFresh { times, event } => {
                    for id in self.ids(*times) {
                        let token = self.posting(id, ColorId::Fresh(id), from, event.kind, None);
                        let (running, event) = (Arc::clone(self), Arc::clone(event));
                        let handler = event.kind.handler();
                        cx.post_fresh_via(handler, move |_, cx| running.run(cx, token, &event));
                        self.watch.see(Seen::Posted { event: id });
                    }
                }
                Action::After { .. } => {
                    *lock(&self.now) = Some(cx.now());
                    self.act(action, from);
                }
                // Without the panic hook: a panic on purpose is no news.
                Action::Panic => std::panic::resume_unwind(Box::new("on purpose")),
                action => self.act(action, from),
            }
        }
        token.end();
    }

    /// Does what can be done anywhere.
    fn act(self: &Arc<Self>, action: &Action, from: From) {
        match action {
            Action::Post {
                color,
                how,
                times,
                event,
            } => {
                if let Some(to) = self.color(*color) {
                    for id in self.ids(*times) {
                        self.post(&to, ColorId::Planned(*color), id, *how, event, from);
                    }
                }
            }
            Action::After {
                cycles,
                color,
                event,
            } => {
                if let Some(to) = self.color(*color) {
                    self.set_timer(&to, ColorId::Planned(*color), *cycles, event, from);
                }
            }
            Action::Task {
                color,
                to,
                times,
                event,
            } => self.spawn((*color, *to), *times, event),
            Action::Cancel { back } => self.cancel(*back),
            Action::Drop { color } => {
                let dropped = self.slots.get(*color).and_then(|slot| lock(slot).take());
                drop(dropped);
            }
            Action::Spend(_)
            | Action::With { .. }
            | Action::PostSelf { .. }
            | Action::PostFresh { .. }
            | Action::Panic => {}
        }
    }

    /// Numbers for events that are posted in a row.
    fn ids(&self, times: u32) -> Vec<EventId> {
        let mut ids: Vec<_> = (0..times).map(|_| self.watch.next_event()).collect();
        if self.fault == Some(Fault::SwappedPosts) {
            ids.reverse();
        }
        ids
    }

    /// An event is about to be posted.
    pub(super) fn posting(
        &self,
        event: EventId,
        color: ColorId,
        from: From,
        kind: Kind,
        due: Option<Instant>,
    ) -> Token {
        self.watch.see(Seen::Posting {
            event,
            color,
            by: from.by,
            from: from.color,
            kind,
            due,
        });
        Token::new(event, color, Arc::clone(&self.watch))
    }

    fn post(
        self: &Arc<Self>,
        to: &Colored<State>,
        color: ColorId,
        id: EventId,
        how: How,
        event: &Arc<Event>,
        from: From,
    ) {
        let token = self.posting(id, color, from, event.kind, None);
        if self.fault == Some(Fault::ExtraPost) && id.is_multiple_of(5) {
            to.post(|_, _| ());
        }
        let (running, event) = (Arc::clone(self), Arc::clone(event));
        let to = to.via(event.kind.handler());
        match how {
            How::Post => to.post(move |_, cx| running.run(cx, token, &event)),
            // What is given back is dropped here, as a refused post drops it.
            How::TryPost => drop(to.try_post(move |_, cx| running.run(cx, token, &event))),
            How::Call => drop(to.call(move |_, cx| running.run(cx, token, &event))),
        }
        self.watch.see(Seen::Posted { event: id });
    }

    fn set_timer(
        self: &Arc<Self>,
        to: &Colored<State>,
        color: ColorId,
        cycles: u64,
        event: &Arc<Event>,
        from: From,
    ) {
        // Outside there is no clock to read but that of the last event.
        let Some(now) = *lock(&self.now) else {
            return;
        };
        let due = now + Duration::from_nanos(cycles);
        let id = self.watch.next_event();
        let token = self.posting(id, color, from, event.kind, Some(due));
        let (running, event) = (Arc::clone(self), Arc::clone(event));
        let to = to.via(event.kind.handler());
        let timer = to.post_at(due, move |_, cx| running.run(cx, token, &event));
        self.watch.see(Seen::Posted { event: id });
        lock(&self.timers).push((id, timer));
    }

    fn cancel(&self, back: usize) {
        let chosen = {
            let timers = lock(&self.timers);
            let at = timers.len().checked_sub(back + 1);
            at.and_then(|at| timers.get(at)).cloned()
        };
        let Some((event, timer)) = chosen else {
            return;
        };
        let is_deaf = self.fault == Some(Fault::DeafCancel) && timer.is_pending();
        self.watch.see(Seen::Cancelling { event });
        if is_deaf || timer.cancel() {
            self.watch.see(Seen::Cancelled { event });
        }
    }
}
