//! A program, run and watched.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::Violation;
use super::act::{Running, builder};
use super::checks::Seen;
use super::fault::Fault;
use super::program::{End, Program};
use crate::engine::{
    DEADLOCK, NEVER_COMES, NEVER_ENDS, NEVER_STOPS, Outcome, Settings, Simulation,
};

/// A program of some hundred events that has not ended after so many switches between
/// cores never will: the longest of 100 000 took a tenth.
const SWITCHES_MAX: u64 = 2_000_000;

/// How many threads run beside the workers at most.
const THREADS_MAX: usize = 3;

/// More than any program takes, in virtual time.
const LONG_ENOUGH: Duration = Duration::from_secs(1_000);

/// What a program did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
            violation: Some(Violation { invariant, what }),
            ..Self::default()
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
    let watched = match Watched::new(program, fault) {
        Ok(watched) => watched,
        Err(error) => return Run::broken("machine", error),
    };
    let spare = Rc::clone(&watched.spare);
    let run = catch_unwind(AssertUnwindSafe(|| watched.run(program)));
    run.unwrap_or_else(|panic| {
        // What a scheduler that panicked has locked is locked for ever.
        std::mem::forget(spare.take());
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("with something that is no text");
        match text {
            // Noticed by code outside, which waits there.
            text if text.starts_with(DEADLOCK) => Run::broken("deadlock", text.to_owned()),
            text if text.starts_with(NEVER_COMES) => Run::broken("sleep", text.to_owned()),
            text if text.starts_with(NEVER_STOPS) => Run::broken("endless", text.to_owned()),
            text if text.starts_with(NEVER_ENDS) => Run::broken("ends", text.to_owned()),
            text => Run::broken("crash", format!("the scheduler panicked: {text}")),
        }
    })
}

struct Watched {
    simulation: Simulation,
    running: Arc<Running>,
    /// The same, for who sees a panic.
    spare: Rc<Cell<Option<Arc<Running>>>>,
    /// Since when each worker sleeps; kept for its memory.
    asleep: RefCell<Vec<Option<u64>>>,
}

impl Watched {
    fn new(program: &Program, fault: Option<Fault>) -> Result<Self, String> {
        let settings = Settings::random(program.cores, program.schedule);
        let settings = Settings {
            threads: THREADS_MAX,
            ..settings.map_err(|error| error.to_string())?
        };
        let simulation = Simulation::new(builder(program, fault), settings);
        let simulation = simulation.map_err(|error| error.to_string())?;
        simulation.plant(fault.and_then(Fault::of_machine));
        let running = Running::new(program, fault, simulation.handle());
        for arrival in &program.arrivals {
            let (running, arrival) = (Arc::clone(&running), arrival.clone());
            simulation.at(arrival.at_cycles, move |outside| {
                let now = outside.now();
                running.watch.see(Seen::Step { now, asleep: &[] });
                match arrival.thread {
                    true => outside.thread(move || running.act_outside(&arrival.does)),
                    false => running.act_outside(&arrival.does),
                }
            });
        }
        let spare = Rc::new(Cell::new(Some(Arc::clone(&running))));
        Ok(Self {
            simulation,
            spare,
            running,
            asleep: RefCell::default(),
        })
    }

    fn run(self, program: &Program) -> Run {
        let until = match program.end {
            End::Quiet => u64::MAX,
            End::Drain { at_cycles } | End::Stop { at_cycles } => at_cycles,
        };
        let ran = self.simulation.run_while(|| {
            self.simulation.now() < until
                && self.goes_on()
                && self.is_fine_after_step()
                && !self.running.ends()
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
        self.end(program)
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
        self.running.watch.give_up();
        self.simulation.abandon();
        std::mem::forget(self.running);
        Run::broken(invariant, what)
    }

    fn end(self, program: &Program) -> Run {
        let at_once = matches!(program.end, End::Stop { .. });
        let late = self.set_late(program);
        let Self {
            simulation,
            running,
            spare,
            ..
        } = self;
        let watch = Arc::clone(&running.watch);
        let fault = running.fault();
        watch.see(Seen::Ending { at_once });
        simulation.plant(fault.and_then(Fault::of_ending_machine));
        let handle = simulation.handle().clone();
        let mut deadline = LONG_ENOUGH;
        if at_once && fault != Some(Fault::LateStop) {
            deadline = Duration::ZERO;
            simulation.stop();
            // Whoever stops it may not wait for a worker that is held.
            if let Err(error) = simulation.run_until(simulation.now() + program.late_cycles) {
                panic!("{error}");
            }
        }
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
        late();
        running.clear();
        drop((running, spare.take()));
        let left = Arc::strong_count(&watch) - 1;
        watch.see(Seen::Gone { left });
        Run {
            hash: hash ^ watch.hash(),
            events: watch.events(),
            switches: counts.switches,
            violation: watch.violation(),
        }
    }

    /// Lets happen what comes late: when its time has come, or else when it is asked for
    /// by what this returns.
    fn set_late(&self, program: &Program) -> impl FnOnce() + use<> {
        let coming = Rc::new(Cell::new(Some(program.late.clone())));
        let running = Arc::downgrade(&self.running);
        let act = move || {
            if let (Some(running), Some(does)) = (running.upgrade(), coming.take()) {
                running.act_outside(&does);
            }
        };
        let (at, comes) = (self.simulation.now() + program.late_cycles, act.clone());
        self.simulation.at(at, move |_| comes());
        act
    }
}
