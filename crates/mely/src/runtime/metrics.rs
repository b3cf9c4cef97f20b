//! What a runtime has counted: every column of the papers' tables, from the
//! running product.

use std::collections::BTreeMap;
use std::time::Duration;

use mely_sched::Penalty;

use super::counting::{Counting, Tally};
use super::histogram::Histogram;
use super::waiting::{self, Waiting};
use crate::cost::counters::EventCounts;
use crate::cost::durations::HandlerDurations;
use crate::cost::handlers::HandlerCounts;
use crate::event::handler;
use crate::shared::Shared;
use crate::shared::remote::Remote;

/// What became of events. At any moment
/// `posted = run + shed + cancelled + abandoned + pending`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Events that were posted, delayed ones included.
    pub posted: u64,
    /// Events that were run, panicked ones included.
    pub run: u64,
    /// Events that were refused: by a full color, or after a shutdown.
    pub shed: u64,
    /// Delayed events that were cancelled.
    pub cancelled: u64,
    /// Events that were dropped at a shutdown because its deadline passed.
    pub abandoned: u64,
}

impl Events {
    /// Events that wait to be run or are being run.
    pub fn pending(&self) -> u64 {
        self.posted
            .saturating_sub(self.run + self.shed + self.cancelled + self.abandoned)
    }

    fn add(&mut self, counts: &EventCounts) {
        self.run += counts.run.get();
        self.shed += counts.shed.get();
        self.cancelled += counts.cancelled.get();
        self.abandoned += counts.abandoned.get();
        self.posted += counts.posted.get();
    }
}

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerMetrics {
    /// The OS number of the core it is pinned to; `None` while it is free.
    pub core: Option<usize>,
    /// How often its pin was let go, by [`Affinity::Auto`](crate::Affinity): 0 or 1.
    pub pins_let_go: u64,
    /// What it did with events.
    pub events: Events,
    /// Handlers that panicked.
    pub panics: u64,
    /// Turns: batches of events of one color.
    pub turns: u64,
    /// Successful steals.
    pub steals: u64,
    /// Attempts that found nothing although something had been offered.
    pub steal_misses: u64,
    /// Cycles that the successful steals took.
    pub steal_cycles: u64,
    /// Events of its victims' queues that its steals looked at, under the policies
    /// with one queue of events for each core.
    pub scanned_events: u64,
    /// Colors that it stole.
    pub stolen_colors: u64,
    /// Events that came with them.
    pub stolen_events: u64,
    /// The time left of what it stole, in cycles (cost ÷ penalty).
    pub stolen_cycles: u64,
    /// The same without penalties, in cycles: what the papers call stolen time. Of a
    /// color whose first event has a penalty it is an estimate, from the mean cost of
    /// that event's handler.
    pub stolen_cost_cycles: u64,
    /// Operations on locked queues.
    pub locks: u64,
    /// Cycles that they took, without waiting for the lock and without the readings of
    /// the counter.
    pub lock_cycles: u64,
    /// Cycles that it waited for locks that others had.
    pub lock_wait_cycles: u64,
    /// How often it slept.
    pub parks: u64,
    /// How long it slept in all, up to now: the rest of the time it worked, or looked for work.
    pub slept: Duration,
    /// Whether it sleeps now.
    pub sleeps: bool,
    /// How often it was woken to search for work.
    pub wakes: u64,
    /// Timers that fired.
    pub timers_fired: u64,
    /// Descriptors that it found ready.
    pub readiness: u64,
    /// How often others did what waited behind it, because it did not come: timers, ready
    /// descriptors, colors that were sent to it or private to it. What may not move (pinned
    /// colors, all colors where nothing is stolen) waited.
    pub takeovers: u64,
    /// Colors that were ready on its core when it last looked.
    pub ready_colors: u64,
}

impl WorkerMetrics {
    fn of(shared: &Shared, remote: &Remote) -> Self {
        let (counts, core) = (&remote.counts, remote.cpu.get());
        let (slept_cycles, sleeps) = counts.sleep.look(|| shared.clock.cycles());
        let mut events = Events::default();
        events.add(&counts.events);
        events.run = events.run.max(counts.run_ahead.get());
        Self {
            core,
            pins_let_go: counts.pins_let_go.get(),
            events,
            panics: counts.panics.get(),
            turns: counts.turns.get(),
            steals: counts.steals.get(),
            steal_misses: counts.steal_misses.get(),
            steal_cycles: counts.steal_cycles.get(),
            scanned_events: counts.scanned_events.get(),
            stolen_colors: counts.stolen_colors.get(),
            stolen_events: counts.stolen_events.get(),
            stolen_cycles: counts.stolen_cycles.get(),
            stolen_cost_cycles: counts.stolen_cost_cycles.get(),
            locks: counts.locks.get(),
            lock_cycles: counts.lock_cycles.get(),
            lock_wait_cycles: counts.lock_wait_cycles.get(),
            parks: counts.parks.get(),
            slept: shared.rate.duration_of(slept_cycles),
            sleeps,
            wakes: counts.wakes.get(),
            timers_fired: counts.timers_fired.get(),
            readiness: counts.readiness.get(),
            takeovers: counts.takeovers.get(),
            ready_colors: counts.ready_colors.get(),
        }
    }
}

/// What the events of a handler did.
#[derive(Clone, Debug, PartialEq)]
pub struct HandlerMetrics {
    /// The name: of the [`Handler`](crate::Handler), or of the closure's type.
    pub name: &'static str,
    /// Events that were run.
    pub events: u64,
    /// Events that panicked.
    pub panics: u64,
    /// The learned mean cost of an event, in cycles; 0 before the first sample.
    pub cost_cycles: u64,
    /// The stealing penalty: as annotated, else how many times longer an event takes
    /// right after its color moved to another core; 1 while nothing is known. Learned
    /// under every policy, but only `adaptive` steals by it.
    pub penalty: f64,
    /// Events that were timed because they were the first ones after such a move.
    pub moves: u64,
    /// How long its events ran, also those that panicked.
    pub run: Histogram,
    /// How long they waited before: from their post, or from when their timer fired.
    pub wait: Histogram,
    /// What [`Snapshot::counting`] names, while they ran.
    pub counted: Tally,
}

/// What a runtime has counted up to a moment.
///
/// ```
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// (0..100).for_each(|_| rt.new_color().post_or_shed(|_, _| ()));
/// rt.wait_idle();
/// let metrics = rt.metrics();
/// assert_eq!((metrics.events.run, metrics.events.pending()), (100, 0));
/// assert!(metrics.to_prometheus().contains("mely_events_run_total 100"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Over all workers and the threads outside.
    pub events: Events,
    /// For each worker.
    pub workers: Vec<WorkerMetrics>,
    /// For each handler that has run, most events first.
    pub handlers: Vec<HandlerMetrics>,
    /// Noted events that wait now, longest first: one of each color, and 16 at the most.
    pub waiting: Vec<Waiting>,
    /// What is counted by handler, or why nothing is.
    pub counting: Counting,
    /// What a steal costs, as last measured, in cycles.
    pub steal_cost_cycles: u64,
    /// Cycles a second of the counter that all cycles here are of.
    pub cycles_per_second: f64,
}

impl Snapshot {
    pub(crate) fn of(shared: &Shared) -> Self {
        let workers: Vec<_> = shared
            .remotes
            .iter()
            .map(|remote| WorkerMetrics::of(shared, remote))
            .collect();
        let mut events = Events::default();
        // As in `Shared::is_quiescent`: what is done before what was posted.
        for worker in &workers {
            events.run += worker.events.run;
            events.shed += worker.events.shed;
            events.cancelled += worker.events.cancelled;
            events.abandoned += worker.events.abandoned;
        }
        events.add(&shared.outside_counts);
        events.posted += shared
            .remotes
            .iter()
            .map(|remote| remote.counts.events.posted.get())
            .sum::<u64>();
        Self {
            events,
            workers,
            handlers: handlers_of(shared),
            waiting: waiting::longest(shared),
            counting: Counting::of(shared),
            steal_cost_cycles: shared.steal_cost_cycles(),
            cycles_per_second: shared.clock.cycles_per_second(),
        }
    }

    /// The metrics of a handler, by name.
    pub fn handler(&self, name: &str) -> Option<&HandlerMetrics> {
        self.handlers.iter().find(|handler| handler.name == name)
    }

    /// The sum over all workers of one of their counts.
    ///
    /// ```
    /// # let rt = mely::Runtime::builder().workers(2).build()?;
    /// let steals = rt.metrics().total(|worker| worker.steals);
    /// # let _ = steals;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn total(&self, count: impl Fn(&WorkerMetrics) -> u64) -> u64 {
        self.workers.iter().map(count).sum()
    }

    /// The mean cost of a steal in cycles; `None` if there was none.
    pub fn cycles_per_steal(&self) -> Option<f64> {
        let steals = self.total(|w| w.steals);
        (steals > 0).then(|| self.total(|w| w.steal_cycles) as f64 / steals as f64)
    }
}

fn handlers_of(shared: &Shared) -> Vec<HandlerMetrics> {
    let mut by_name = BTreeMap::new();
    for (index, info) in handler::infos().into_iter().enumerate() {
        let name = info.name;
        let sums = by_name
            .entry(name)
            .or_insert_with(|| HandlerSums::new(name));
        let penalty = match info.penalty {
            Some(times) => Penalty::annotated(times),
            None => shared.penalties.at(index).penalty(),
        };
        // Of handlers that share a name, the one that should move least.
        sums.metrics.penalty = sums.metrics.penalty.max(penalty.times());
        for remote in &shared.remotes {
            sums.add(&remote.handlers[index], remote.durations.at(index));
        }
    }
    let mut handlers: Vec<_> = by_name.into_values().map(HandlerSums::finish).collect();
    handlers.retain(|handler| handler.events > 0);
    handlers.sort_by_key(|handler| core::cmp::Reverse(handler.events));
    handlers
}

/// The sums over all workers, and over all handlers of a name.
struct HandlerSums {
    metrics: HandlerMetrics,
    weighed_cycles: u128,
    samples: u64,
}

impl HandlerSums {
    fn new(name: &'static str) -> Self {
        let metrics = HandlerMetrics {
            name,
            events: 0,
            panics: 0,
            cost_cycles: 0,
            penalty: Penalty::NONE.times(),
            moves: 0,
            run: Histogram::default(),
            wait: Histogram::default(),
            counted: Tally::default(),
        };
        Self {
            metrics,
            weighed_cycles: 0,
            samples: 0,
        }
    }

    fn add(&mut self, counts: &HandlerCounts, durations: Option<&HandlerDurations>) {
        if let Some(durations) = durations {
            self.metrics.run.add(&durations.run);
            self.metrics.wait.add(&durations.wait);
            self.metrics.counted.add(&durations.counted);
        }
        self.metrics.events += counts.events.get();
        self.metrics.panics += counts.panics.get();
        self.metrics.moves += counts.moves.get();
        let samples = counts.samples.get();
        self.samples += samples;
        self.weighed_cycles += u128::from(counts.cost_cycles.get()) * u128::from(samples);
    }

    fn finish(mut self) -> HandlerMetrics {
        let mean = self.weighed_cycles / u128::from(self.samples.max(1));
        self.metrics.cost_cycles = u64::try_from(mean).unwrap_or(u64::MAX);
        self.metrics
    }
}
