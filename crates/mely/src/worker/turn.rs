//! What a worker notes of the turns that it runs one after the other.

use core::cell::Cell;

use mely_sched::Batch;

use crate::cost::handlers::{Costs, Manner};
use crate::event::handler::HandlerId;
use crate::shared::remote::Remote;

/// After how many events in all no turn follows another without a step between: what is
/// begun and ended with each run of turns (a frame that catches panics, counts) is then
/// less than 2 ns an event, and others wait no longer than for one turn of short events.
const FOLLOWING_EVENTS: u32 = 64;

/// A turn, or several that follow each other without a look at anything else; a panic
/// in the middle does not begin it anew.
pub(super) struct Turn {
    batch: Batch,
    /// How many events had been run when the turn of this color began.
    began: Cell<u32>,
    /// At how many it ends.
    pub(super) limit: Cell<u32>,
    /// The event that is timed, counted from 0.
    timed: Cell<u32>,
    /// The color ran on another core before: the first event is timed, and tells what
    /// that costs.
    pub(super) moved: Cell<bool>,
    /// The color is a fresh one: another may take its place in the same turn.
    pub(super) fresh: Cell<bool>,
    /// The turns that followed the first.
    followed: Cell<u32>,
    /// What they were taken to take together, in cycles.
    followed_cycles: Cell<i64>,
}

/// How far turns follow each other without a step between.
#[derive(Clone, Copy)]
pub(super) struct Following {
    /// Those with older tickets are the next ones on this core.
    pub(super) before: u64,
    /// While the core has that many private colors.
    pub(super) colors_min: usize,
    /// That many turns.
    pub(super) turns: u32,
}

impl Turn {
    /// A turn of a color that has `pending` events now.
    pub(super) fn new(
        batch: Batch,
        pending: u32,
        sample: Option<u32>,
        fresh: bool,
        moved: bool,
    ) -> Self {
        // Each sample takes another event, so that handlers that take turns within
        // a color are all timed.
        let timed = sample.map(|number| number % pending.clamp(1, batch.events));
        Self {
            batch,
            began: Cell::new(0),
            limit: Cell::new(batch.short_events),
            timed: Cell::new(if moved { 0 } else { timed.unwrap_or(u32::MAX) }),
            moved: Cell::new(moved),
            fresh: Cell::new(fresh),
            followed: Cell::new(0),
            followed_cycles: Cell::new(0),
        }
    }

    /// How many turns followed the first, and what they take together in cycles.
    pub(super) fn followed(&self) -> (u32, i64) {
        (self.followed.get(), self.followed_cycles.get())
    }

    /// Whether another turn may follow after so many events in all.
    #[inline]
    pub(super) fn may_follow(&self, following: &Following, ran: u32) -> bool {
        ran < FOLLOWING_EVENTS && self.followed.get() < following.turns
    }

    /// Begins the turn of another color, that has run here before and is not timed, after so
    /// many events in all.
    #[inline]
    pub(super) fn follow(&self, cycles: i64, ran: u32) {
        self.followed.set(self.followed.get() + 1);
        self.followed_cycles
            .set(self.followed_cycles.get() + cycles);
        self.began.set(ran);
        self.limit.set(ran.saturating_add(self.batch.short_events));
        self.timed.set(u32::MAX);
        self.moved.set(false);
        self.fresh.set(false);
    }

    /// Goes on with so many more events of the same color, after so many in all.
    pub(super) fn go_on(&self, ran: u32, events: u32) {
        self.began.set(ran);
        self.limit.set(ran.saturating_add(events));
    }

    /// Whether the next event, after so many in all, is the one to be timed.
    #[inline]
    pub(super) fn times_next(&self, ran: u32) -> bool {
        ran == self.timed.get()
    }

    /// Whether the event that is being run, the last of so many, is the one to be timed.
    pub(super) fn is_timed(&self, ran: u32) -> bool {
        ran == self.timed.get().wrapping_add(1)
    }
}

/// The handler whose events are being run in a row, and what is to be known of it.
pub(super) struct InARow<'a> {
    remote: &'a Remote,
    turn: &'a Turn,
    /// The events that were run, or are being run, in all.
    ran: &'a Cell<u32>,
    pub(super) id: HandlerId,
    /// How many events had been run when they were last counted.
    counted: u32,
    /// They are new, or may be long.
    pub(super) manner: Manner,
}

impl<'a> InARow<'a> {
    pub(super) fn new(remote: &'a Remote, turn: &'a Turn, ran: &'a Cell<u32>) -> Self {
        Self {
            remote,
            turn,
            ran,
            id: HandlerId::UNRESOLVED,
            counted: ran.get(),
            manner: Manner::WithCare,
        }
    }

    /// Turns to another handler.
    pub(super) fn turn_to(&mut self, id: HandlerId, costs: &Costs) {
        if self.counted < self.ran.get() {
            self.count();
        }
        self.id = id;
        self.manner = costs.manner(id);
        if self.manner != Manner::Short {
            let (turn, events) = (self.turn, self.turn.batch.events);
            let limit = turn
                .limit
                .get()
                .min(turn.began.get().saturating_add(events));
            turn.limit.set(limit);
        }
        self.remote.counts.running.set(id.index() as u64);
    }

    /// Writes down how many events were run, for whoever looks on.
    pub(super) fn count(&mut self) {
        let ran = self.ran.get();
        let events = ran - self.counted;
        self.counted = ran;
        self.remote.handlers[self.id.index()]
            .events
            .add(u64::from(events));
    }
}

impl Drop for InARow<'_> {
    fn drop(&mut self) {
        self.count();
    }
}
