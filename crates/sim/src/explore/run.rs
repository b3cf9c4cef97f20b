//! A program, run and watched.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::Violation;
use super::act::{Running, builder};
use super::checks::Seen;
use super::fault::Fault;
use super::program::{End, Program};
use crate::engine::{Outcome, Settings, Simulation};

/// What a long event takes, in cycles: more than an event takes before which a core
/// publishes all else that it has (64 000), and than a wake-up must bring (32 000).
pub(super) const LONG_CYCLES: u64 = 100_000;

/// A program of some hundred events that has not ended after so many switches between
/// cores never will: the longest of 100 000 took a hundredth.
const SWITCHES_MAX: u64 = 20_000_000;

/// More than any program takes, in virtual time.
const LONG_ENOUGH: Duration = Duration::from_secs(1_000);

/// What a program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Of all that happened: the same for a program on every machine.
    pub hash: u64,
    /// Events that were posted.
    pub events: u64,
    /// How often a core went on after another.
    pub switches: u64,
    /// What is wrong, if anything.
    pub violation: Option<Violation>,
}

impl Run {
    fn broken(invariant: &'static str, what: String) -> Self {
        Self {
            hash: 0,
            events: 0,
            switches: 0,
            violation: Some(Violation { invariant, what }),
        }
    }
}

/// Runs a program on a simulated machine, and checks every invariant after each step;
/// with a fault that they must find, if one is given.
///
/// ```
/// use mely_sim::explore::{Program, execute};
///
/// let run = execute(&Program::random(1), None);
/// assert_eq!(run.violation, None);
/// assert_eq!(run.hash, execute(&Program::random(1), None).hash);
/// ```
#[must_use]
pub fn execute(program: &Program, fault: Option<Fault>) -> Run {
    let run = catch_unwind(AssertUnwindSafe(|| try_execute(program, fault)));
    run.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let text = text.unwrap_or_else(|| "with something that is no text".to_owned());
        Run::broken("crash", format!("the scheduler panicked: {text}"))
    })
}

fn try_execute(program: &Program, fault: Option<Fault>) -> Run {
    let settings = match Settings::random(program.cores, program.schedule) {
        Ok(settings) => settings,
        Err(error) => return Run::broken("machine", error.to_string()),
    };
    let simulation = match Simulation::new(builder(program, fault), settings) {
        Ok(simulation) => simulation,
        Err(error) => return Run::broken("machine", error.to_string()),
    };
    simulation.plant(fault.and_then(Fault::of_machine));
    let running = Running::new(program, fault, simulation.handle());
    for arrival in &program.arrivals {
        let (running, arrival) = (Arc::clone(&running), arrival.clone());
        let handle = simulation.handle().clone();
        simulation.at(arrival.at_cycles, move |outside| {
            let now = outside.now();
            running.watch.see(Seen::Step { now, asleep: &[] });
            running.act_outside(&arrival.does, &handle);
        });
    }
    Watched {
        simulation,
        running,
        asleep: RefCell::default(),
    }
    .run(program)
}

struct Watched {
    simulation: Simulation,
    running: Arc<Running>,
    /// Since when each worker sleeps; kept for its memory.
    asleep: RefCell<Vec<Option<u64>>>,
}

impl Watched {
    fn run(self, program: &Program) -> Run {
        let until = match program.end {
            End::Quiet => u64::MAX,
            End::Drain { at_cycles } | End::Stop { at_cycles } => at_cycles,
        };
        let ran = self.simulation.run_while(|| {
            self.simulation.now() < until && self.goes_on() && self.is_fine_after_step()
        });
        match ran {
            Err(error) => return self.broken("deadlock", error.to_string()),
            Ok(Outcome::Idle) => {
                let pending = self.simulation.handle().metrics().events.pending();
                self.running.watch.see(Seen::Asleep { pending });
            }
            Ok(_) => {}
        }
        if !self.goes_on() {
            return self.broken("endless", format!("{SWITCHES_MAX} switches and no end"));
        }
        if let Some(Violation { invariant, what }) = self.running.watch.violation() {
            return self.broken(invariant, what);
        }
        self.end(matches!(program.end, End::Stop { .. }))
    }

    fn goes_on(&self) -> bool {
        self.simulation.counts().switches < SWITCHES_MAX
    }

    fn is_fine_after_step(&self) -> bool {
        let mut asleep = self.asleep.borrow_mut();
        asleep.clear();
        asleep.extend(self.simulation.asleep());
        let (now, asleep) = (self.simulation.now(), asleep.as_slice());
        self.running.watch.see(Seen::Step { now, asleep });
        !self.running.watch.has_found()
    }

    /// Gives up: what the scheduler would do now means nothing any more. What belongs
    /// to it may be locked for ever, and is never dropped.
    fn broken(self, invariant: &'static str, what: String) -> Run {
        self.simulation.abandon();
        std::mem::forget(self.running);
        Run::broken(invariant, what)
    }

    fn end(self, at_once: bool) -> Run {
        let Self {
            simulation,
            running,
            ..
        } = self;
        let watch = Arc::clone(&running.watch);
        watch.see(Seen::Ending { at_once });
        simulation.plant(None);
        let handle = simulation.handle().clone();
        let deadline = if at_once { Duration::ZERO } else { LONG_ENOUGH };
        let (counts, hash) = (simulation.counts(), simulation.trace_hash());
        let report = match simulation.shutdown(deadline) {
            Ok(report) => report,
            Err(error) => error.report,
        };
        let metrics = &handle.metrics();
        watch.see(Seen::End {
            metrics,
            report: &report,
        });
        drop(handle);
        running.clear();
        drop(running);
        watch.see(Seen::Gone);
        Run {
            hash: hash ^ watch.hash(),
            events: watch.events(),
            switches: counts.switches,
            violation: watch.violation(),
        }
    }
}
