//! What a worker knows of the handlers that it posts and runs.

use core::cell::{Cell, RefCell};
use std::collections::HashMap;

use mely_sched::{
    COST_UNKNOWN_CYCLES, Ewma, Heuristics, LONG_EVENT_CYCLES, Penalty, SHORT_EVENT_CYCLES,
    WAKE_COST_CYCLES, time_left_cycles,
};

use crate::cost::counters::Count;
use crate::cost::penalties::{KnownPenalty, Penalties};
use crate::event::Event;
use crate::event::handler::{
    HANDLERS_MAX, HandlerId, HandlerInfo, HandlerKey, Kind, Weight, resolve,
};
use crate::machine::sync::Arc;

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
    /// Events that were timed as the first ones after a move.
    pub(crate) moves: Count,
}

/// The counts of each handler, by number.
pub(crate) type HandlerTable = Box<[HandlerCounts; HANDLERS_MAX]>;

pub(crate) fn new_table() -> HandlerTable {
    Box::new(core::array::from_fn(|_| HandlerCounts::default()))
}

/// How the events of a handler are to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Many in a turn: they are short.
    Short,
    /// As many in a turn as the batch threshold says.
    Plain,
    /// Timed because the handler is new, or after publishing what else there is
    /// because it may be long.
    WithCare,
}

/// What a worker knows of a handler.
#[derive(Debug)]
struct KnownHandler {
    manner: Cell<Manner>,
    /// Nothing before this worker has looked the handler up.
    info: Cell<Option<(HandlerKey, HandlerInfo)>>,
    learned: Cell<Ewma>,
    penalty: KnownPenalty,
}

/// Costs by handler number, learned by the worker from what it runs itself.
pub(crate) struct Costs {
    heuristics: Heuristics,
    /// Every event is recorded, so none may be run without care.
    traced: bool,
    penalties: Arc<Penalties>,
    recent: [Cell<(HandlerKey, Weight)>; RECENT],
    ids: RefCell<HashMap<HandlerKey, HandlerId>>,
    known: Box<[KnownHandler; HANDLERS_MAX]>,
}

impl Costs {
    pub(crate) fn new(heuristics: Heuristics, penalties: Arc<Penalties>) -> Self {
        let unknown = |_| KnownHandler {
            manner: Cell::new(Manner::WithCare),
            info: Cell::new(None),
            learned: Cell::new(Ewma::new()),
            penalty: KnownPenalty::new(),
        };
        Self {
            heuristics,
            traced: false,
            penalties,
            recent: [const { Cell::new((HandlerKey(0), Weight::UNKNOWN)) }; RECENT],
            ids: RefCell::new(HashMap::new()),
            known: Box::new(core::array::from_fn(unknown)),
        }
    }

    /// The same, of a worker whose events are recorded or not.
    pub(crate) fn of_traced(self, traced: bool) -> Self {
        Self { traced, ..self }
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
    pub(crate) fn manner(&self, id: HandlerId) -> Manner {
        self.known[id.index()].manner.get()
    }

    /// Whether an event of the handler takes less than it would take to have it run by another
    /// worker, even after a move. What is not known yet is: who always sent it elsewhere would
    /// never learn better.
    ///
    /// The mean alone counts. One event that the system has interrupted makes its handler look
    /// seldom long for thousands of turns, and who waits for it waits for the system anyway.
    pub(crate) fn is_light(&self, id: HandlerId) -> bool {
        // An interpreter is slow, and shall see what is done with light events, too.
        if cfg!(miri) {
            return true;
        }
        // One to wake there, and one to be woken.
        let light_cycles = self.penalty(id).divide(2 * WAKE_COST_CYCLES as u32);
        let mean = self.cost_cycles(&self.known[id.index()]);
        mean.is_none_or(|mean| mean < light_cycles)
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
    /// late. A few short events do not make a handler short.
    pub(crate) fn mean_and_worst_cycles(&self, id: HandlerId) -> (Option<u32>, u32) {
        let known = &self.known[id.index()];
        let mean = match self.is_new(id) {
            true => known.info.get().and_then(|(_, info)| info.cost_cycles),
            false => self.cost_cycles(known),
        };
        (mean, known.learned.get().recent_max())
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
        known.penalty.fade(self.penalties.of(id));
        self.weigh_again(id);
    }

    /// Learns from the first event that a color ran after it had moved here.
    pub(crate) fn sample_after_move(&self, id: HandlerId, cycles: u64, counts: &HandlerCounts) {
        if self.is_new(id) {
            // A cost that is somewhat too high is better than none.
            self.sample(id, cycles, counts);
        }
        let known = &self.known[id.index()];
        let (ordinary, before) = (known.learned.get(), self.penalties.of(id));
        let penalty = known.penalty.sample(cycles, &ordinary, before);
        counts.moves.add(1);
        if let Some(penalty) = penalty {
            self.penalties.learn(id, penalty, counts.moves.get());
        }
        self.weigh_again(id);
    }

    /// Weighs the coming events of a handler by what has been learned of it.
    fn weigh_again(&self, id: HandlerId) {
        let known = &self.known[id.index()];
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
    fn cost_cycles(&self, known: &KnownHandler) -> Option<u32> {
        let learned = known.learned.get().mean();
        let annotated = known.info.get().and_then(|(_, info)| info.cost_cycles);
        match self.heuristics.learn {
            true => learned.or(annotated),
            false => annotated.or(learned),
        }
    }

    /// By what the cost of an event is divided: as annotated, else as learned.
    fn penalty(&self, id: HandlerId) -> Penalty {
        if !self.heuristics.penalty {
            return Penalty::NONE;
        }
        let known = &self.known[id.index()];
        match known.info.get().and_then(|(_, info)| info.penalty) {
            Some(times) => Penalty::annotated(times),
            None if self.heuristics.learn => known.penalty.penalty(self.penalties.of(id)),
            None => Penalty::NONE,
        }
    }

    /// What stolen events of the handler cost: their time left, with the penalty
    /// taken out again.
    pub(crate) fn undivided_cycles(&self, id: HandlerId, events: u32, time_left: u64) -> u64 {
        let cost = self.cost_cycles(&self.known[id.index()]);
        match cost.filter(|_| self.penalty(id) > Penalty::NONE) {
            Some(cost) => u64::from(events) * u64::from(cost),
            None => time_left,
        }
    }

    /// What an event of the handler weighs by what is known now.
    fn settle(&self, id: HandlerId) -> Weight {
        let known = &self.known[id.index()];
        let cost = self.cost_cycles(known);
        let learned = known.learned.get();
        let worst = cost.map(|mean| mean.max(learned.recent_max()));
        let long = worst.is_none_or(|cycles| cycles >= LONG_EVENT_CYCLES);
        known.manner.set(match cost {
            _ if self.traced || long || learned.samples() < SAMPLES_FIRST => Manner::WithCare,
            Some(..=SHORT_EVENT_CYCLES) => Manner::Short,
            _ => Manner::Plain,
        });
        Weight {
            id,
            time_left_cycles: time_left_cycles(
                cost.unwrap_or(COST_UNKNOWN_CYCLES),
                self.penalty(id),
            ),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
