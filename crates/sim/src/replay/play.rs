//! Running the events of a program under a simulation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::figures::{Delays, Figures};
use super::program::Program;
use super::slots::Slots;
use crate::Error;
use crate::engine::{Outside, Settings, Simulation};
use crate::mely::simulated::elapsed;
use crate::mely::{Builder, Color, Context, Handle, Policy, Snapshot};

/// Numbered colors are those of [`Handle::color`]: their homes are known.
const NUMBERED_MAX: u64 = u16::MAX as u64;

/// Calls of the progress between two looks at how far the replay is.
const SWITCHES_BETWEEN_LOOKS: u32 = 1 << 12;

/// Where colors without a number begin, of which traces do not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Homes {
    /// On the core whose event posts to it first, as what handlers make does.
    #[default]
    Poster,
    /// On each core in turn, as connections of a server do.
    Spread,
}

/// When roots arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// When they did, in a time that goes so many times faster.
    Recorded {
        /// 1 is as recorded.
        speed: f64,
    },
    /// All at the beginning: what the machine can do at the most.
    AtOnce,
}

/// Under what a program is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// The policy.
    pub policy: Policy,
    /// When roots arrive.
    pub arrivals: Arrivals,
    /// Where colors begin.
    pub homes: Homes,
    /// What an event takes, as a share of the time that it took.
    pub cost_scale: f64,
}

impl Conditions {
    /// As recorded, under a policy.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            arrivals: Arrivals::Recorded { speed: 1.0 },
            homes: Homes::default(),
            cost_scale: 1.0,
        }
    }
}

/// When an event of a replay was posted and run, in nanoseconds of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When it was posted.
    pub posted: u64,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// The worker that ran it.
    pub worker: u32,
}

/// What a replay came to.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The figures, beside those of the recorded run.
    pub figures: Figures,
    /// When each event ran, in the order of the trace.
    pub times: Vec<Times>,
    /// What the runtime counted.
    pub metrics: Snapshot,
    /// The same for the same program, machine and conditions.
    pub hash: u64,
}

/// Times that are being written.
#[derive(Default)]
struct Marks {
    posted: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
    worker: AtomicU32,
}

struct Play {
    program: Arc<Program>,
    conditions: Conditions,
    /// Cycles of the simulated machine for one of the recorded.
    cycles: f64,
    slots: Slots,
    marks: Vec<Marks>,
    ran: AtomicUsize,
    spread: AtomicUsize,
}

fn now() -> u64 {
    u64::try_from(elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Play {
    fn new(program: &Arc<Program>, conditions: Conditions, hertz: f64) -> Self {
        let marks = (0..program.events()).map(|_| Marks::default());
        Self {
            slots: Slots::new(program.hues.iter().map(|hue| hue.events)),
            marks: marks.collect(),
            program: Arc::clone(program),
            cycles: hertz / program.cycles_per_second,
            conditions,
            ran: AtomicUsize::new(0),
            spread: AtomicUsize::new(0),
        }
    }

    fn arrival_of(&self, root: u32) -> u64 {
        match self.conditions.arrivals {
            Arrivals::AtOnce => 0,
            Arrivals::Recorded { speed } => {
                let arrival = self.program.nodes[root as usize].arrival as f64;
                (arrival * self.cycles / speed) as u64
            }
        }
    }

    /// Posts all roots that are due, and comes again for the next one.
    fn arrive(self: Arc<Self>, handle: Handle, mut next: usize, outside: &Outside<'_>) {
        while let Some(&root) = self.program.roots.get(next) {
            let due = self.arrival_of(root);
            if due > outside.now() {
                outside.at(due, move |outside| self.arrive(handle, next, outside));
                return;
            }
            self.post_by_color(root, &handle);
            next += 1;
        }
    }

    fn make(&self, number: u64, handle: &Handle) -> Color {
        match (u16::try_from(number), self.conditions.homes) {
            (Ok(number), _) => handle.numbered_color(number),
            (Err(_), Homes::Poster) => handle.new_color(),
            (Err(_), Homes::Spread) => {
                let home = self.spread.fetch_add(1, Ordering::Relaxed) % handle.workers();
                let color = handle.color_options().start_on(home).new_color();
                color.unwrap_or_else(|_| handle.new_color())
            }
        }
    }

    fn post_by_color(self: &Arc<Self>, event: u32, handle: &Handle) {
        let node = self.program.nodes[event as usize];
        let hue = self.program.hues[node.color as usize];
        let make = || self.make(hue.number, handle);
        let color = match hue.events {
            1 => Arc::new(make()),
            _ => self.slots.take(node.color, make),
        };
        self.posted(event);
        let play = Arc::clone(self);
        let handler = self.program.handlers[node.handler as usize];
        color
            .with_handler(handler)
            .post_or_shed(move |(), cx| play.run(event, cx));
    }

    fn posted(&self, event: u32) {
        self.marks[event as usize]
            .posted
            .store(now(), Ordering::Relaxed);
    }

    /// Posts from an event of `from`, in the way that costs least.
    fn post(self: &Arc<Self>, event: u32, from: u32, cx: &mut Context<'_>) {
        let node = self.program.nodes[event as usize];
        let hue = self.program.hues[node.color as usize];
        let handler = self.program.handlers[node.handler as usize];
        let is_own = node.color == from;
        let is_fresh =
            hue.events == 1 && hue.number > NUMBERED_MAX && self.conditions.homes == Homes::Poster;
        if !is_own && !is_fresh {
            return self.post_by_color(event, &cx.handle());
        }
        self.posted(event);
        let play = Arc::clone(self);
        let run = move |(): &mut (), cx: &mut Context<'_>| play.run(event, cx);
        match is_own {
            true => {
                drop(self.slots.pass(node.color));
                cx.with_handler(handler).post_or_shed(run);
            }
            false => cx.with_handler(handler).post_parallel(run),
        }
    }

    /// An event runs: it takes what it took, and posts what it posted, evenly spread.
    fn run(self: &Arc<Self>, event: u32, cx: &mut Context<'_>) {
        let marks = &self.marks[event as usize];
        marks.start.store(now(), Ordering::Relaxed);
        let worker = u32::try_from(cx.worker()).unwrap_or(u32::MAX);
        marks.worker.store(worker, Ordering::Relaxed);
        let node = self.program.nodes[event as usize];
        let cost = (node.cost as f64 * self.cycles * self.conditions.cost_scale) as u64;
        let children = self.program.children_of(event);
        let slice = cost / (children.len() as u64 + 1);
        for &child in children {
            cx.spend(slice);
            self.post(child, node.color, cx);
        }
        cx.spend(cost - slice * children.len() as u64);
        marks.end.store(now(), Ordering::Relaxed);
        self.ran.fetch_add(1, Ordering::Relaxed);
    }

    fn times(&self) -> Vec<Times> {
        // What is outside has a clock of its own, which may be ahead of that of the core
        // that finds its post.
        let start = |marks: &Marks| marks.start.load(Ordering::Relaxed);
        let times = |marks: &Marks| Times {
            posted: marks.posted.load(Ordering::Relaxed).min(start(marks)),
            start: start(marks),
            end: marks.end.load(Ordering::Relaxed),
            worker: marks.worker.load(Ordering::Relaxed),
        };
        self.marks.iter().map(times).collect()
    }
}

/// Replays a program on a machine; `progress` is told now and then how many events have
/// run.
///
/// # Errors
///
/// [`Error::Simulation`] if the machine cannot be simulated, and [`Error::Replay`] if
/// not all events ran.
pub fn replay(
    program: &Arc<Program>,
    settings: Settings,
    conditions: Conditions,
    progress: impl Fn(usize),
) -> Result<Replayed, Error> {
    let play = Arc::new(Play::new(program, conditions, settings.hertz));
    let builder = Builder::default().policy(conditions.policy);
    let simulation = Simulation::new(builder, settings)?;
    let (first, handle) = (Arc::clone(&play), simulation.handle().clone());
    simulation.at(0, move |outside| first.arrive(handle, 0, outside));
    let looks = core::cell::Cell::new(0_u32);
    let look = || {
        looks.set(looks.get().wrapping_add(1));
        if looks.get().is_multiple_of(SWITCHES_BETWEEN_LOOKS) {
            progress(play.ran.load(Ordering::Relaxed));
        }
        true
    };
    simulation.run_while(look)?;
    let metrics = simulation.handle().metrics();
    let ran = play.ran.load(Ordering::Relaxed);
    if ran != program.events() {
        return Err(Error::Replay(format!(
            "{ran} of {} events ran, and nothing more is to come",
            program.events()
        )));
    }
    let times = play.times();
    Ok(Replayed {
        figures: figures(&times, metrics.workers.len()),
        times,
        metrics,
        hash: simulation.trace_hash(),
    })
}

fn figures(times: &[Times], workers: usize) -> Figures {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let end = times.iter().map(|times| times.end).max().unwrap_or(0);
    let mut busy = vec![0; workers];
    for times in times {
        busy[times.worker as usize] += times.end - times.start;
    }
    let delay = |times: &Times| seconds(times.start.saturating_sub(times.posted));
    let share = |nanos: u64| nanos as f64 / end.max(1) as f64;
    Figures {
        events: times.len() as u64,
        seconds: seconds(end),
        delays: Delays::of(times.iter().map(delay).collect()),
        utilisation: busy.into_iter().map(share).collect(),
    }
}
