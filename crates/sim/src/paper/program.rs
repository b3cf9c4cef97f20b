//! Runs a workload under a policy, and measures it.

use mely_papers::Column;

use super::assumed::{Assumed, Open};
use crate::Error;
use crate::engine::{Idle, Settings, Simulation};
use crate::machine::{Counts, Machine};
use crate::mely::{Builder, Policy, Snapshot, WorkerMetrics};

/// What has been built, to be run: the argument is how many rounds more.
pub(super) type Begin = Box<dyn Fn(&Simulation, u32)>;

/// How much of a workload is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As the papers have it.
    Full,
    /// Fewer events in a round, and fewer rounds: enough for orderings, and for tests.
    Small,
}

/// How a workload is to be built.
pub(super) struct Setup {
    pub(super) size: Size,
    pub(super) assumed: Assumed,
}

/// A workload of the papers.
pub(super) struct Workload {
    /// The cores that are switched on, by number; none means all.
    pub(super) cores: &'static [usize],
    /// The handlers whose events are the workload's.
    pub(super) counted: &'static [&'static str],
    /// Rounds before the measured ones.
    pub(super) warm: u32,
    /// Measured rounds.
    pub(super) rounds: u32,
    /// Makes its colors.
    pub(super) build: fn(&Simulation, &Setup) -> Result<Begin, Error>,
}

/// The columns of the papers' tables.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Events a second of virtual time, of the handlers that the workload counts.
    pub events_per_second: f64,
    /// The part of all workers' time that went to waiting for locked queues and to
    /// operations on them.
    pub locking_percent: f64,
    /// Successful steals a second.
    pub steals_per_second: f64,
    /// What a steal took; `None` where there was none.
    pub cycles_per_steal: Option<f64>,
    /// What running takes that a steal brought; `None` where there was none.
    pub stolen_cycles_per_steal: Option<f64>,
    /// Accesses that neither level-1 nor level-2 cache could serve, for each event.
    pub l2_misses_per_event: f64,
    /// The same, of all accesses that the level-1 caches could not serve.
    pub l2_miss_percent: f64,
}

impl Measured {
    /// The figure of a column; `base` is the run that ratios are to.
    #[must_use]
    pub fn of(&self, column: Column, base: Option<&Measured>) -> Option<f64> {
        match column {
            Column::KiloEvents => Some(self.events_per_second / 1e3),
            // In a closed loop whoever has been served comes again.
            Column::Ratio | Column::AcceptRatio => {
                base.map(|base| self.events_per_second / base.events_per_second)
            }
            Column::Locking => Some(self.locking_percent),
            Column::CyclesPerSteal => self.cycles_per_steal,
            Column::StolenPerSteal => self.stolen_cycles_per_steal,
            Column::MissesPerEvent => Some(self.l2_misses_per_event),
            Column::MissesPerKiloEvent => Some(self.l2_misses_per_event * 1e3),
            Column::MissPercent => Some(self.l2_miss_percent),
        }
    }
}

impl Workload {
    /// Runs it.
    pub(super) fn run(
        &self,
        policy: Policy,
        machine: &Machine,
        setup: &Setup,
    ) -> Result<Measured, Error> {
        let (mut settings, caches) = Settings::on(machine, policy)?;
        settings.idle = match setup.assumed.get(Open::IdlePollCycles) {
            0 => Idle::Sleep,
            cycles => Idle::Poll { cycles },
        };
        let mut builder = Builder::default().policy(policy);
        if !self.cores.is_empty() {
            builder = builder.cores(self.cores.iter().copied());
        }
        let simulation = Simulation::new(builder, settings)?;
        let begin = (self.build)(&simulation, setup)?;
        let (warm, rounds) = match setup.size {
            Size::Full => (self.warm, self.rounds),
            Size::Small => (1, self.rounds.div_ceil(10)),
        };
        begin(&simulation, warm);
        simulation.run_until_idle()?;
        let look = || {
            let metrics = simulation.handle().metrics();
            (simulation.now(), metrics, caches.total(machine))
        };
        let before = look();
        begin(&simulation, rounds);
        simulation.run_until_idle()?;
        Ok(self.between(&before, &look()))
    }

    fn between(
        &self,
        (start, before, misses_before): &(u64, Snapshot, Counts),
        (end, after, misses_after): &(u64, Snapshot, Counts),
    ) -> Measured {
        let cycles = (end - start) as f64;
        let seconds = cycles / after.cycles_per_second;
        let events = |snapshot: &Snapshot| -> u64 {
            let handlers = self
                .counted
                .iter()
                .filter_map(|name| snapshot.handler(name));
            handlers.map(|handler| handler.events).sum()
        };
        let more = |count: fn(&WorkerMetrics) -> u64| {
            after.total(count).saturating_sub(before.total(count)) as f64
        };
        let events = events(after).saturating_sub(events(before)) as f64;
        let steals = more(|w| w.steals);
        let per_steal = |cycles: f64| (steals > 0.0).then(|| cycles / steals);
        let locking = more(|w| w.lock_wait_cycles + w.lock_cycles);
        let misses = (misses_after.l2_misses - misses_before.l2_misses) as f64;
        let hits = (misses_after.hits[1] - misses_before.hits[1]) as f64;
        Measured {
            events_per_second: events / seconds,
            locking_percent: 100.0 * locking / (cycles * after.workers.len() as f64),
            steals_per_second: steals / seconds,
            cycles_per_steal: per_steal(more(|w| w.steal_cycles)),
            stolen_cycles_per_steal: per_steal(more(|w| w.stolen_cost_cycles)),
            l2_misses_per_event: misses / events.max(1.0),
            l2_miss_percent: 100.0 * misses / (misses + hits).max(1.0),
        }
    }
}
