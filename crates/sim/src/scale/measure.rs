//! Running a workload on a machine under a policy.

use std::time::Duration;

use super::Workload;
use crate::Error;
use crate::engine::{Settings, Simulation};
use crate::machine::Machine;
use crate::mely::{Builder, Policy, Snapshot, WorkerMetrics};

/// Measured rounds, after one to warm up.
const ROUNDS: u32 = 3;

/// What is measured of a program that does not end, and what comes before.
const WINDOW: Duration = Duration::from_micros(1_500);
const WARM: Duration = Duration::from_micros(300);
const SMALL_WINDOW: Duration = Duration::from_micros(300);

/// How far a core may run ahead of the others, in cycles: about as long as a short event
/// with what the runtime takes for it, and a fraction of the shortest wake-up. Without,
/// a simulation of hundreds of cores changes its core at nearly every operation.
const SLACK_CYCLES: u64 = 200;

/// How much of a workload is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Enough for figures.
    Full,
    /// Enough to see that it runs.
    Small,
}

/// A workload that has been set up.
pub(super) enum Program {
    /// Begins a round, which ends by itself.
    Rounds(Box<dyn Fn()>),
    /// It goes on for ever.
    Endless,
}

/// A workload on a machine under a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The workload.
    pub workload: Workload,
    /// The policy.
    pub policy: Policy,
    /// The cores of the machine.
    pub cores: usize,
    /// Of virtual time: [`Workload::unit`].
    pub per_second: f64,
    /// Successful steals a second.
    pub steals_per_second: f64,
    /// The share of all cores' time that goes into locked queues, waiting included.
    pub locking: f64,
    /// What the runtime takes a steal to cost at the end.
    pub steal_cost_cycles: u64,
}

/// Measures a point. The same every time.
///
/// ```
/// use mely_sim::machine::Machine;
/// use mely_sim::mely::Policy;
/// use mely_sim::scale::{Size, Workload, measure};
///
/// let machine = Machine::find("epyc-9554")?;
/// let rate = |cores| -> Result<f64, mely_sim::Error> {
///     let machine = machine.with_cores(cores)?;
///     let point = measure(Workload::Unbalanced, Policy::Adaptive, &machine, Size::Small)?;
///     Ok(point.per_second)
/// };
/// assert!(rate(2)? > rate(1)?);
/// # Ok::<(), mely_sim::Error>(())
/// ```
///
/// # Errors
///
/// If the machine cannot be simulated.
pub fn measure(
    workload: Workload,
    policy: Policy,
    machine: &Machine,
    size: Size,
) -> Result<Point, Error> {
    let (mut settings, _caches) = Settings::on(machine, policy)?;
    settings.order = crate::engine::Order::Time {
        slack: SLACK_CYCLES,
    };
    let simulation = Simulation::new(Builder::default().policy(policy), settings)?;
    let look = || (simulation.now(), simulation.handle().metrics());
    let program = workload.begin(&simulation, size)?;
    let before;
    match program {
        Program::Rounds(begin) => {
            begin();
            simulation.run_until_idle()?;
            before = look();
            let rounds = if size == Size::Full { ROUNDS } else { 1 };
            for _ in 0..rounds {
                begin();
                simulation.run_until_idle()?;
            }
        }
        Program::Endless => {
            let warm = simulation.cycles(WARM);
            simulation.run_until(warm)?;
            before = look();
            let window = if size == Size::Full {
                WINDOW
            } else {
                SMALL_WINDOW
            };
            simulation.run_until(warm + simulation.cycles(window))?;
        }
    }
    let after = look();
    Ok(point(workload, policy, &before, &after))
}

fn point(
    workload: Workload,
    policy: Policy,
    (start, before): &(u64, Snapshot),
    (end, after): &(u64, Snapshot),
) -> Point {
    let cycles = end.saturating_sub(*start).max(1) as f64;
    let seconds = cycles / after.cycles_per_second;
    let counted = |snapshot: &Snapshot| -> u64 {
        let handlers = workload.counted().iter();
        let handlers = handlers.filter_map(|name| snapshot.handler(name));
        handlers.map(|handler| handler.events).sum()
    };
    let more = |count: fn(&WorkerMetrics) -> u64| {
        after.total(count).saturating_sub(before.total(count)) as f64
    };
    let cores = after.workers.len();
    Point {
        workload,
        policy,
        cores,
        per_second: counted(after).saturating_sub(counted(before)) as f64 / seconds,
        steals_per_second: more(|w| w.steals) / seconds,
        locking: more(|w| w.lock_cycles + w.lock_wait_cycles) / (cycles * cores as f64),
        steal_cost_cycles: after.steal_cost_cycles,
    }
}
