//! What a worker knows of the handlers that it posts and runs.

use core::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

use mely_sched::{COST_UNKNOWN_CYCLES, Ewma, Heuristics, LONG_EVENT_CYCLES, time_left_cycles};

use crate::counters::Count;
use crate::event::Event;
use crate::handler::{HANDLERS_MAX, HandlerId, HandlerInfo, HandlerKey, resolve};

/// How many recently used handlers are found by one load and one compare.
const RECENT: usize = 64;

/// How many samples a handler must have before it is timed only in sampled turns.
const SAMPLES_FIRST: u32 = 4;

/// The counts of a handler on one worker, readable by all.
#[derive(Debug, Default)]
pub(crate) struct HandlerCounts {
    pub(crate) events: Count,
    pub(crate) panics: Count,
    pub(crate) cost_cycles: Count,
    pub(crate) samples: Count,
}

/// One lazily made table of counts for each handler number.
pub(crate) type HandlerTable = Box<[std::sync::OnceLock<HandlerCounts>]>;

pub(crate) fn new_table() -> HandlerTable {
    (0..HANDLERS_MAX)
        .map(|_| std::sync::OnceLock::new())
        .collect()
}

#[derive(Debug)]
struct Known {
    info: HandlerInfo,
    learned: Cell<Ewma>,
    /// What one event adds to the time left of its color.
    time_left_cycles: Cell<u32>,
    /// Whether the worker must do more than run the event: time it because it is
    /// new, or publish what it has because it may be long.
    attention: Cell<bool>,
}

/// Costs by handler number, learned by the worker from what it runs itself.
pub(crate) struct Costs {
    heuristics: Heuristics,
    recent: [Cell<(HandlerKey, HandlerId)>; RECENT],
    ids: RefCell<HashMap<HandlerKey, HandlerId>>,
    known: Box<[OnceCell<Known>]>,
}

impl Costs {
    pub(crate) fn new(heuristics: Heuristics) -> Self {
        Self {
            heuristics,
            recent: [const { Cell::new((HandlerKey(0), HandlerId::UNRESOLVED)) }; RECENT],
            ids: RefCell::new(HashMap::new()),
            known: (0..HANDLERS_MAX).map(|_| OnceCell::new()).collect(),
        }
    }

    /// Writes into the event which handler it is of and what it weighs.
    #[inline]
    pub(crate) fn weigh(&self, event: &Event) {
        let key = event.handler_key();
        // Descriptors and code are aligned to 16 bytes or are at least that large.
        let slot = &self.recent[(key.0 >> 4) % RECENT];
        let (recent, id) = slot.get();
        let id = if recent == key {
            id
        } else {
            let id = self.look_up(event, key);
            slot.set((key, id));
            id
        };
        let known = self.known[id.index()].get();
        event.resolve(id, known.map_or(1, |k| k.time_left_cycles.get()));
    }

    /// Weighs an event that comes from a thread outside, which could not; what
    /// another worker posted it has weighed.
    #[inline]
    pub(crate) fn weigh_new(&self, event: &Event) {
        if event.handler_id() == HandlerId::UNRESOLVED {
            self.weigh(event);
        }
    }

    #[cold]
    fn look_up(&self, event: &Event, key: HandlerKey) -> HandlerId {
        let mut ids = self.ids.borrow_mut();
        *ids.entry(key).or_insert_with(|| {
            let (id, info) = resolve(key, event.handler_info());
            let known = self.known[id.index()].get_or_init(|| Known {
                info,
                learned: Cell::new(Ewma::new()),
                time_left_cycles: Cell::new(1),
                attention: Cell::new(true),
            });
            self.settle(known);
            id
        })
    }

    /// Whether an event of the handler is new or may be long.
    #[inline]
    pub(crate) fn needs_attention(&self, id: HandlerId) -> bool {
        let known = self.known[id.index()].get();
        known.is_none_or(|k| k.attention.get())
    }

    /// Whether this worker has looked the handler up.
    pub(crate) fn knows(&self, id: HandlerId) -> bool {
        self.known[id.index()].get().is_some()
    }

    /// Whether the event must be timed although its turn is not a sampled one.
    pub(crate) fn is_new(&self, id: HandlerId) -> bool {
        let known = self.known[id.index()].get();
        known.is_none_or(|k| k.learned.get().samples() < SAMPLES_FIRST)
    }

    /// The mean cost of an event in cycles (`None` if unknown), and the longest of
    /// late.
    pub(crate) fn mean_and_worst_cycles(&self, id: HandlerId) -> (Option<u32>, u32) {
        match self.known[id.index()].get() {
            Some(known) => (self.cost_cycles(known), known.learned.get().recent_max()),
            None => (None, 0),
        }
    }

    /// Learns from one timed event.
    pub(crate) fn sample(&self, id: HandlerId, cycles: u64, counts: &HandlerCounts) {
        let Some(known) = self.known[id.index()].get() else {
            return;
        };
        let mut learned = known.learned.get();
        learned.sample(cycles);
        known.learned.set(learned);
        counts.samples.add(1);
        counts
            .cost_cycles
            .set(u64::from(learned.mean().unwrap_or(0)));
        self.settle(known);
    }

    /// The mean cost of an event in cycles: learned or annotated, `None` while
    /// neither is there.
    fn cost_cycles(&self, known: &Known) -> Option<u32> {
        let learned = known.learned.get().mean();
        let annotated = known.info.cost_cycles;
        match self.heuristics.learn {
            true => learned.or(annotated),
            false => annotated.or(learned),
        }
    }

    fn settle(&self, known: &Known) {
        let cost = self.cost_cycles(known);
        let penalty = match self.heuristics.penalty {
            true => known.info.penalty,
            false => 1,
        };
        let time_left = time_left_cycles(cost.unwrap_or(COST_UNKNOWN_CYCLES), penalty);
        known.time_left_cycles.set(time_left);
        let learned = known.learned.get();
        let worst = cost.map(|mean| mean.max(learned.recent_max()));
        let long = worst.is_none_or(|cycles| cycles >= LONG_EVENT_CYCLES);
        known
            .attention
            .set(long || learned.samples() < SAMPLES_FIRST);
    }
}
