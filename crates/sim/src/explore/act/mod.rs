//! What a program does, done.

mod anywhere;
mod ask;
mod carried;
mod inside;
mod waiting;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use self::carried::State;
use super::checks::{ColorId, EventId, Poster};
use super::fault::Fault;
use super::program::{ColorPlan, Kind, LONG_CYCLES, Program};
use super::watch::Watch;
use crate::mely::simulated::meter;
use crate::mely::{Builder, Colored, Handle, Handler, OnPanic, Timer};

// Static, all of them: those of closure types might be one or two by how the compiler
// places their code, and costs are learned for each.
static PLAIN: Handler = Handler::new("explore::Plain");
static SHORT: Handler = Handler::new("explore::Short").cost_cycles(100);
static LONG: Handler = Handler::new("explore::Long").cost_cycles(LONG_CYCLES as u32);
static HEAVY: Handler = Handler::new("explore::Heavy")
    .cost_cycles(LONG_CYCLES as u32)
    .penalty(20);

impl Kind {
    fn handler(self) -> &'static Handler {
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

/// A reference to a color, which has its number in the program.
type ColorRef = (usize, Arc<Colored<State>>);

type Slot = Mutex<Option<Arc<Colored<State>>>>;

/// A program that runs: what all its events share.
///
/// Its locks are the standard library's, which the machine does not see: none is held
/// while anything of the runtime is used.
pub(super) struct Running {
    pub(super) watch: Arc<Watch>,
    cores: usize,
    plans: Vec<ColorPlan>,
    slots: Vec<Slot>,
    handle: Mutex<Option<Handle>>,
    timers: Mutex<Vec<(EventId, Timer)>>,
    /// The last time that an event has read.
    now: Mutex<Option<Instant>>,
    /// An event has told the program to end.
    ends: AtomicBool,
    fault: Option<Fault>,
}

/// The runtime that a program runs on.
pub(super) fn builder(program: &Program, fault: Option<Fault>) -> Builder {
    let poison = match fault {
        Some(Fault::SilentPoison) => true,
        Some(Fault::LaxPoison) => false,
        _ => program.poison,
    };
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

/// What a panic of the program carries.
struct OnPurpose;

/// Panics, without the panic hook: it is no news.
fn panic_on_purpose() -> ! {
    resume_unwind(Box::new(OnPurpose))
}

/// Drops what may panic on purpose.
fn drop_on_purpose<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value)))
        && !panic.is::<OnPurpose>()
    {
        resume_unwind(panic);
    }
}

/// Where an event is posted from.
#[derive(Clone, Copy)]
struct From {
    by: Poster,
    color: Option<ColorId>,
}

/// What its colors are made of.
struct Making<'a> {
    running: &'a Weak<Running>,
    watch: &'a Arc<Watch>,
    program: &'a Program,
    fault: Option<Fault>,
    handle: &'a Handle,
}

impl Making<'_> {
    fn state(&self, number: usize, plan: &ColorPlan) -> State {
        State::new(
            number,
            (self.running.clone(), Arc::clone(self.watch)),
            plan.keeps_handle.then(|| self.handle.clone()),
            number == 0 && self.fault == Some(Fault::KeptState),
        )
    }

    /// A color, and what its state will keep.
    fn color(&self, number: usize, plan: &ColorPlan) -> (Colored<State>, Arc<carried::Kept>) {
        let state = self.state(number, plan);
        let kept = Arc::clone(&state.kept);
        if let Some(small) = plan.number {
            return (self.handle.numbered_color(small).attach(state), kept);
        }
        let home = plan.home(self.program.cores);
        let mut options = self.handle.color_options();
        options = match plan.pinned && self.fault != Some(Fault::LoosePin) {
            true => options.pin_to(home),
            false => options.start_on(home),
        };
        if let Some(capacity) = plan.capacity {
            let more = if self.fault == Some(Fault::WideBound) {
                3
            } else {
                0
            };
            options = options.capacity(capacity + more);
        }
        match options.colored(state) {
            Ok(color) => (color, kept),
            Err(error) => unreachable!("the home is a worker: {error}"),
        }
    }
}

impl Running {
    pub(super) fn new(program: &Program, fault: Option<Fault>, handle: &Handle) -> Arc<Self> {
        let watch = Arc::new(Watch::new(program, fault));
        Arc::new_cyclic(|running| {
            let making = Making {
                running,
                watch: &watch,
                program,
                fault,
                handle,
            };
            let plans = program.colors.iter().enumerate();
            let made: Vec<_> = plans.map(|(at, plan)| making.color(at, plan)).collect();
            for (plan, (_, kept)) in program.colors.iter().zip(&made) {
                let keeps = plan.keeps.iter().filter_map(|&number| {
                    let (color, _) = made.get(number)?;
                    Some((number, Arc::new(color.clone())))
                });
                let keeps: Vec<_> = keeps.collect();
                kept.put(keeps);
            }
            let slot = |(color, _)| Mutex::new(Some(Arc::new(color)));
            Self {
                watch: Arc::clone(&watch),
                cores: program.cores,
                plans: program.colors.clone(),
                slots: made.into_iter().map(slot).collect(),
                handle: Mutex::new(Some(handle.clone())),
                timers: Mutex::default(),
                now: Mutex::new(None),
                ends: AtomicBool::new(false),
                fault,
            }
        })
    }

    /// Drops all references to colors, to timers and to the runtime.
    pub(super) fn clear(&self) {
        for slot in &self.slots {
            let color = lock(slot).take();
            drop(color);
        }
        let timers = std::mem::take(&mut *lock(&self.timers));
        drop(timers);
        self.drop_handle();
    }

    fn drop_handle(&self) {
        let handle = lock(&self.handle).take();
        drop(handle);
    }

    /// The handle of the runtime, unless it has been dropped.
    fn handle(&self) -> Option<Handle> {
        lock(&self.handle).clone()
    }

    /// The reference to a color: one of these, or the program's unless that has been
    /// dropped.
    fn color(&self, number: usize, known: &[ColorRef]) -> Option<Arc<Colored<State>>> {
        let known = known.iter().find(|(of, _)| *of == number);
        let slot = || self.slots.get(number).and_then(|slot| lock(slot).clone());
        known.map(|(_, color)| Arc::clone(color)).or_else(slot)
    }

    /// Who runs: a worker, a thread, or the code outside.
    fn here(&self) -> Poster {
        match meter::core() {
            None => Poster::Outside,
            Some(core) if core < self.cores => Poster::Worker(core),
            Some(core) => Poster::Thread(core - self.cores),
        }
    }

    /// What is planted.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Whether an event has told the program to end.
    pub(super) fn ends(&self) -> bool {
        // Relaxed: all is on one thread.
        self.ends.load(Relaxed)
    }
}
