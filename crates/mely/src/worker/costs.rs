//! What a worker knows of the handlers that it posts and runs.

use core::cell::{Cell, RefCell};
use std::collections::HashMap;

use mely_sched::{
    COST_UNKNOWN_CYCLES, Ewma, Heuristics, LONG_EVENT_CYCLES, SHORT_EVENT_CYCLES, time_left_cycles,
};

use crate::counters::Count;
use crate::event::Event;
use crate::handler::{HANDLERS_MAX, HandlerId, HandlerInfo, HandlerKey, Kind, Weight, resolve};

/// How many recently used handlers are found by one load and one compare.
const RECENT: usize = 64;

/// How many samples a handler must have before it is timed only in sampled turns.
const SAMPLES_FIRST: u32 = 4;

/// Handlers that take no longer let their posts wait for the end of the turn, in
/// cycles: ten of them are 4 µs at 2.5 GHz, no more than a wake-up takes.
const BRIEF_EVENT_CYCLES: u32 = 1_000;

/// The counts of a handler on one worker, readable by all.
#[derive(Debug, Default)]
pub(crate) struct HandlerCounts {
    pub(crate) events: Count,
    pub(crate) panics: Count,
    pub(crate) cost_cycles: Count,
    pub(crate) samples: Count,
}

/// The counts of each handler, by number.
pub(crate) type HandlerTable = Box<[HandlerCounts; HANDLERS_MAX]>;

pub(crate) fn new_table() -> HandlerTable {
    Box::new(core::array::from_fn(|_| HandlerCounts::default()))
}

/// How the events of a handler are to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Many in a turn, and their posts may wait for its end: they are short.
    Short,
    /// Their posts may wait for the end of the turn.
    Brief,
    /// As many in a turn as the batch threshold says.
    Plain,
    /// Timed because the handler is new, or after publishing what else there is
    /// because it may be long.
    WithCare,
}

impl Manner {
    /// Whether the posts of its handlers may wait for the end of the turn.
    #[inline]
    pub(super) fn posts_may_wait(self) -> bool {
        matches!(self, Manner::Short | Manner::Brief)
    }
}

/// What a worker knows of a handler.
#[derive(Debug)]
struct Known {
    manner: Cell<Manner>,
    /// Nothing before this worker has looked the handler up.
    info: Cell<Option<(HandlerKey, HandlerInfo)>>,
    learned: Cell<Ewma>,
}

/// Costs by handler number, learned by the worker from what it runs itself.
pub(crate) struct Costs {
    heuristics: Heuristics,
    recent: [Cell<(HandlerKey, Weight)>; RECENT],
    ids: RefCell<HashMap<HandlerKey, HandlerId>>,
    known: Box<[Known; HANDLERS_MAX]>,
}

impl Costs {
    pub(crate) fn new(heuristics: Heuristics) -> Self {
        let unknown = |_| Known {
            manner: Cell::new(Manner::WithCare),
            info: Cell::new(None),
            learned: Cell::new(Ewma::new()),
        };
        Self {
            heuristics,
            recent: [const { Cell::new((HandlerKey(0), Weight::UNKNOWN)) }; RECENT],
            ids: RefCell::new(HashMap::new()),
            known: Box::new(core::array::from_fn(unknown)),
        }
    }

    /// Which handler the events of a kind are of and what they weigh.
    #[inline]
    pub(crate) fn weight(&self, kind: Kind) -> Weight {
        let key = kind.key();
        let (recent, weight) = self.recent(key).get();
        match recent == key {
            true => weight,
            false => self.look_up(kind),
        }
    }

    /// Where a handler is, if it was used of late.
    #[inline]
    fn recent(&self, key: HandlerKey) -> &Cell<(HandlerKey, Weight)> {
        // Descriptors and code are aligned to 16 bytes or are at least that large.
        &self.recent[(key.0 >> 4) % RECENT]
    }

    /// Weighs an event that comes from a thread outside, which could not; what
    /// another worker posted it has weighed.
    #[inline]
    pub(crate) fn weigh_new(&self, event: &Event) {
        if event.handler_id() == HandlerId::UNRESOLVED {
            event.weigh(self.weight(event.kind()));
        }
    }

    #[cold]
    fn look_up(&self, kind: Kind) -> Weight {
        let key = kind.key();
        let mut ids = self.ids.borrow_mut();
        let id = *ids.entry(key).or_insert_with(|| {
            let (id, info) = resolve(key, kind.info());
            self.known[id.index()].info.set(Some((key, info)));
            id
        });
        let weight = self.settle(id);
        self.recent(key).set((key, weight));
        weight
    }

    /// How an event of the handler is to be run.
    #[inline]
    pub(super) fn manner(&self, id: HandlerId) -> Manner {
        self.known[id.index()].manner.get()
    }

    /// Whether this worker has looked the handler up.
    pub(crate) fn knows(&self, id: HandlerId) -> bool {
        self.known[id.index()].info.get().is_some()
    }

    /// Whether the event must be timed although its turn is not a sampled one.
    pub(crate) fn is_new(&self, id: HandlerId) -> bool {
        self.known[id.index()].learned.get().samples() < SAMPLES_FIRST
    }

    /// The mean cost of an event in cycles (`None` if unknown), and the longest of
    /// late.
    pub(crate) fn mean_and_worst_cycles(&self, id: HandlerId) -> (Option<u32>, u32) {
        let known = &self.known[id.index()];
        (self.cost_cycles(known), known.learned.get().recent_max())
    }

    /// Learns from one timed event.
    pub(crate) fn sample(&self, id: HandlerId, cycles: u64, counts: &HandlerCounts) {
        let known = &self.known[id.index()];
        let mut learned = known.learned.get();
        learned.sample(cycles);
        known.learned.set(learned);
        counts.samples.add(1);
        counts
            .cost_cycles
            .set(u64::from(learned.mean().unwrap_or(0)));
        let weight = self.settle(id);
        if let Some((key, _)) = known.info.get() {
            let recent = self.recent(key);
            if recent.get().0 == key {
                recent.set((key, weight));
            }
        }
    }

    /// The mean cost of an event in cycles: learned or annotated, `None` while
    /// neither is there.
    fn cost_cycles(&self, known: &Known) -> Option<u32> {
        let learned = known.learned.get().mean();
        let annotated = known.info.get().and_then(|(_, info)| info.cost_cycles);
        match self.heuristics.learn {
            true => learned.or(annotated),
            false => annotated.or(learned),
        }
    }

    /// What an event of the handler weighs by what is known now.
    fn settle(&self, id: HandlerId) -> Weight {
        let known = &self.known[id.index()];
        let cost = self.cost_cycles(known);
        let penalty = match known.info.get() {
            Some((_, info)) if self.heuristics.penalty => info.penalty,
            _ => 1,
        };
        let learned = known.learned.get();
        let worst = cost.map(|mean| mean.max(learned.recent_max()));
        let long = worst.is_none_or(|cycles| cycles >= LONG_EVENT_CYCLES);
        known.manner.set(match cost {
            _ if long || learned.samples() < SAMPLES_FIRST => Manner::WithCare,
            Some(..=SHORT_EVENT_CYCLES) => Manner::Short,
            Some(..=BRIEF_EVENT_CYCLES) => Manner::Brief,
            _ => Manner::Plain,
        });
        Weight {
            id,
            time_left_cycles: time_left_cycles(cost.unwrap_or(COST_UNKNOWN_CYCLES), penalty),
        }
    }
}
