//! What all workers of a runtime, and all who post to it, share.

pub(crate) mod admission;
pub(crate) mod bell;
pub(crate) mod colors;
pub(crate) mod config;
mod events;
pub(crate) mod fifo;
pub(crate) mod idle;
pub(crate) mod ready;
pub(crate) mod remote;
pub(crate) mod rooms;
pub(crate) mod timers;

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::time::{Duration, Instant};

use mely_sched::{QueueKind, STEAL_COST_UNKNOWN_CYCLES, Worthiness};

use crate::cell::origin::RuntimeNumber;
use crate::cell::{self, AfterPanic, CONTROL_CAPACITY, Traits, WorkerIndex};
use crate::cost::counters::EventCounts;
use crate::cost::penalties::Penalties;
use crate::cost::sampler::Rate;
use crate::cost::seats::Seats;
use crate::event::{Event, NodeMemory};
use crate::machine::clock::Clock;
use crate::machine::driver::Sources;
use crate::machine::sync::{Arc, AtomicU64, AtomicUsize, plain, unpoison};
use crate::memory::pool::Reserve;
use crate::memory::slab::Block;
use crate::queue::inbox::Pushed;
use crate::shared::bell::Bell;
use crate::shared::config::Config;
use crate::shared::idle::{Idle, WORKERS_MAX};
use crate::shared::remote::Remote;
use crate::shared::rooms::Rooms;
use crate::shared::timers::Delayed;
use crate::trace::Recording;

pub(crate) type ColorCell = cell::ColorCell<Shared>;
pub(crate) type ColorRef = cell::ColorRef<Shared>;
pub(crate) type WeakRef = cell::WeakRef<Shared>;
pub(crate) type OwnedColor = cell::OwnedColor<Shared>;
pub(crate) type Posted = cell::Posted<Shared>;
pub(crate) type Running = cell::Running<Shared>;
pub(crate) type Lent = cell::Lent<Shared>;
pub(crate) type CellPool = cell::CellPool<Shared>;

#[cfg(all(target_pointer_width = "64", not(loom)))]
const _: () = assert!(size_of::<ColorCell>() == 128);

impl ColorRef {
    /// The runtime that the color is of.
    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.realm()
    }
}

/// How far the end of a runtime is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Everybody may post.
    Running,
    /// Only handlers may post; timers are cancelled, readiness is ignored.
    Draining,
    /// Nothing runs any more.
    Stopped,
}

/// How many numbers of fresh colors a worker takes at once.
const COLOR_IDS: u64 = 1024;

/// By which part of itself what a steal costs fades at each look at the outside world
/// (every 40 µs) while a core has nothing to do: by half in a millisecond.
const STEAL_COST_FADE: u64 = 32;

/// A runtime, as seen by all its threads and by those who post to it.
#[cfg_attr(feature = "virtual", repr(align(128)))]
pub(crate) struct Shared {
    pub(crate) number: RuntimeNumber,
    pub(crate) config: Config,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) remotes: Box<[Arc<Remote>]>,
    pub(crate) idle: Idle,
    pub(crate) bell: Bell,
    pub(crate) free_nodes: Arc<Reserve<NodeMemory>>,
    /// Emptied at the end, as each cell refers to this very structure.
    pub(crate) free_cells: Arc<Reserve<Block<ColorCell>>>,
    /// What threads outside the runtime made happen to events.
    pub(crate) outside_counts: EventCounts,
    /// Noted events that they posted, while they wait.
    pub(crate) outside_seats: Arc<Seats>,
    pub(crate) rate: Rate,
    pub(crate) penalties: Arc<Penalties>,
    /// What it records, if it does.
    recording: Option<Recording>,
    /// Who waits for room in bounded colors.
    pub(crate) rooms: Rooms,
    phase: AtomicUsize,
    next_color: AtomicU64,
    next_home: AtomicUsize,
    steal_cost_cycles: AtomicU64,
    /// The small colors that are in use, by number, in whose order they end; `None` after
    /// that.
    small: plain::Mutex<Option<BTreeMap<u16, ColorRef>>>,
    /// The single reactor, if the runtime has one, and the watch that polls it;
    /// the watch, too, is emptied at the end.
    single: OnceLock<Arc<dyn Sources>>,
    single_watch: plain::Mutex<Option<Box<dyn Send>>>,
    /// Workers that have to share their core with others.
    sharing: AtomicUsize,
    /// Workers that have not ended.
    workers_left: AtomicUsize,
    /// Events dropped at the end, by handler.
    abandoned: plain::Mutex<HashMap<&'static str, u64>>,
}

impl Shared {
    pub(crate) fn new(config: Config, clock: Arc<dyn Clock>, remotes: Box<[Arc<Remote>]>) -> Self {
        let workers = remotes.len();
        let rate = Rate::of(&*clock);
        let blocks_max = config.nodes_max.saturating_mul(workers);
        Self {
            number: RuntimeNumber::next(),
            config,
            clock,
            remotes,
            idle: Idle::new(),
            bell: Bell::default(),
            free_nodes: Reserve::new(blocks_max),
            rooms: Rooms::new(),
            free_cells: Reserve::new(blocks_max),
            outside_counts: EventCounts::default(),
            outside_seats: Arc::default(),
            rate,
            penalties: Arc::new(Penalties::new()),
            recording: None,
            phase: AtomicUsize::new(Phase::Running as usize),
            next_color: AtomicU64::new(u64::from(u16::MAX) + 1),
            next_home: AtomicUsize::new(0),
            steal_cost_cycles: AtomicU64::new(u64::from(STEAL_COST_UNKNOWN_CYCLES)),
            small: plain::Mutex::new(Some(BTreeMap::new())),
            single: OnceLock::new(),
            single_watch: plain::Mutex::default(),
            sharing: AtomicUsize::new(0),
            workers_left: AtomicUsize::new(workers),
            abandoned: plain::Mutex::default(),
        }
    }

    /// The same, of a runtime that records.
    pub(crate) fn recorded(self, recording: Option<Recording>) -> Self {
        Self { recording, ..self }
    }

    pub(crate) fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    pub(crate) fn phase(&self) -> Phase {
        // Acquire pairs with the release of `enter`.
        match self.phase.load(Acquire) {
            0 => Phase::Running,
            1 => Phase::Draining,
            _ => Phase::Stopped,
        }
    }

    /// Enters a later phase, and wakes everybody to see it. Returns the phase before.
    pub(crate) fn enter(&self, phase: Phase) -> Phase {
        let before = self.phase.fetch_max(phase as usize, AcqRel);
        for worker in 0..self.remotes.len() {
            self.remotes[worker].driver.wake();
        }
        // Who waits from now on sees the phase: both are under the lock there.
        self.rooms.wake_all(None);
        match before {
            0 => Phase::Running,
            1 => Phase::Draining,
            _ => Phase::Stopped,
        }
    }

    /// What a steal costs, as last measured by any thief.
    #[inline]
    pub(crate) fn steal_cost_cycles(&self) -> u64 {
        // Relaxed: an estimate.
        self.steal_cost_cycles.load(Relaxed)
    }

    pub(crate) fn set_steal_cost_cycles(&self, cycles: u64) {
        // Relaxed: an estimate.
        self.steal_cost_cycles.store(cycles, Relaxed);
    }

    /// Lets what a steal is taken to cost fade towards what it is without contention.
    ///
    /// While it was measured too high nothing is worth a steal, so none would ever
    /// measure it again.
    pub(crate) fn fade_steal_cost(&self) {
        let cost = self.steal_cost_cycles();
        let above = cost.saturating_sub(u64::from(STEAL_COST_UNKNOWN_CYCLES));
        self.set_steal_cost_cycles(cost - above / STEAL_COST_FADE);
    }

    /// Numbers for fresh colors: the first, and the end of the block.
    pub(crate) fn color_ids(&self) -> (u64, u64) {
        // Relaxed: only uniqueness matters.
        let first = self.next_color.fetch_add(COLOR_IDS, Relaxed);
        (first, first + COLOR_IDS)
    }

    /// The number of a fresh color, for whoever has no block of them.
    pub(crate) fn color_id(&self) -> u64 {
        // Relaxed: only uniqueness matters.
        self.next_color.fetch_add(1, Relaxed)
    }

    /// The worker for a color that nobody has placed: each in turn.
    pub(crate) fn next_home(&self) -> usize {
        // Relaxed: only spreading matters.
        self.next_home.fetch_add(1, Relaxed) % self.remotes.len()
    }

    /// The number of a worker, as a color keeps it.
    pub(crate) fn narrow(&self, worker: usize) -> WorkerIndex {
        const { assert!(WORKERS_MAX <= WorkerIndex::MAX as usize) };
        debug_assert!(worker < self.remotes.len(), "there is no worker {worker}");
        worker as WorkerIndex
    }

    /// What an ordinary color begins with.
    pub(crate) fn default_traits(&self, home: usize) -> Traits {
        Traits {
            home: self.narrow(home),
            pinned: false,
            after_panic: AfterPanic::AsRuntime,
            capacity: self.config.color_capacity,
            control_capacity: CONTROL_CAPACITY,
        }
    }

    /// Whether the events of a core wait in one queue.
    pub(crate) fn has_fifos(&self) -> bool {
        self.config.heuristics.queues == QueueKind::EventFifo
    }

    /// The single reactor, if the runtime has one.
    #[inline]
    pub(crate) fn single(&self) -> Option<&dyn Sources> {
        self.single.get().map(|single| &**single)
    }

    /// Makes all later watches go to a single reactor, which `watch` polls.
    pub(crate) fn set_single(&self, reactor: Arc<dyn Sources>, watch: Box<dyn Send>) {
        *unpoison(self.single_watch.lock()) = Some(watch);
        drop(self.single.set(reactor));
    }

    /// Posts an event that was admitted, from a thread that is no worker of the runtime.
    ///
    /// # Errors
    ///
    /// The event, if the color was stopped.
    pub(crate) fn post_from_outside(&self, color: &ColorRef, event: Event) -> Result<(), Event> {
        if let Some(recording) = &self.recording {
            let now = self.clock.cycles();
            recording.post_from_outside(now, event.handler_id(), color.id());
        }
        if self.has_fifos() {
            self.post_event(color.clone(), event)?;
        } else if let Some(owned) = color.deliver_unweighed(event)? {
            self.send(owned);
        }
        Ok(())
    }

    /// So long from now. A time beyond the clock's range never comes; a century stands for it.
    pub(crate) fn after(&self, delay: Duration) -> Instant {
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
        let now = self.clock.now();
        now.checked_add(delay).unwrap_or_else(|| now + CENTURY)
    }

    /// Gives a timer to the worker that shall keep it, from whatever thread.
    pub(crate) fn set_timer(&self, keeper: usize, delayed: Delayed) {
        let timers = &self.remotes[keeper].timers;
        let is_first = timers.keep(delayed, self.config.timers_max);
        self.look_at_timers(keeper, is_first);
    }

    /// After a timer was kept: wakes its keeper if it is due before all others.
    fn look_at_timers(&self, keeper: usize, is_first: bool) {
        let remote = &self.remotes[keeper];
        // One that sleeps has closed its mailbox before it looked when to wake.
        if is_first && remote.mailbox.open() {
            remote.driver.wake();
        }
    }

    /// Sends a color back that a thief may not keep: no other thief needs to know.
    pub(crate) fn send_back(&self, color: OwnedColor) {
        let remote = &self.remotes[color.home()];
        match remote.mailbox.push(color) {
            Pushed::Opened => remote.driver.wake(),
            Pushed::Queued => {}
            Pushed::Barred(color) => drop(color),
        }
    }

    /// Sends a color to the worker that is its home.
    pub(crate) fn send(&self, color: OwnedColor) {
        let home = color.home();
        let remote = &self.remotes[home];
        match remote.mailbox.push(color) {
            Pushed::Opened => remote.driver.wake(),
            // Acquire pairs with the release in the worker before a long event.
            Pushed::Queued if remote.busy_long.load(Acquire) => self.wake_a_thief(),
            Pushed::Queued => {}
            Pushed::Barred(color) => drop(color),
        }
    }

    /// After work was offered: wakes one sleeper for it, if nobody is searching.
    pub(crate) fn wake_a_thief(&self) {
        if !self.config.heuristics.steal {
            return;
        }
        if let Some(chosen) = self.idle.choose_sleeper() {
            let remote = &self.remotes[chosen];
            if remote.mailbox.open() {
                remote.driver.wake();
            }
        }
    }

    /// Notes that a worker has to share its core with others, or has not any more.
    pub(crate) fn note_sharing(&self, shares: bool) {
        // Relaxed, here and below: who sees it late wakes one too many, or one too few
        // until the monitor looks.
        match shares {
            true => self.sharing.fetch_add(1, Relaxed),
            false => self.sharing.fetch_sub(1, Relaxed),
        };
    }

    /// Whether what is at a worker is worth waking another for.
    pub(crate) fn is_worth_a_wake(&self, remote: &Remote, worth: &Worthiness) -> bool {
        remote.is_worth_a_wake(worth) && (!self.do_all_share() || remote.is_far_behind(worth))
    }

    /// Whether no worker has a core of its own.
    pub(crate) fn do_all_share(&self) -> bool {
        self.sharing.load(Relaxed) >= self.remotes.len()
    }

    /// Whether there is work anywhere that is worth waking a worker for.
    pub(crate) fn has_work_worth_a_wake(&self, worth: &Worthiness) -> bool {
        let worth_it = |remote: &Arc<Remote>| self.is_worth_a_wake(remote, worth);
        self.config.heuristics.steal && self.remotes.iter().any(worth_it)
    }

    /// Counts an event that was dropped with its color.
    pub(crate) fn count_abandoned(&self, handler: &'static str) {
        self.outside_counts.abandoned.add_shared(1);
        *unpoison(self.abandoned.lock()).entry(handler).or_default() += 1;
    }

    /// The events that were dropped at the end, by handler.
    pub(crate) fn abandoned(&self) -> Vec<(&'static str, u64)> {
        let mut all: Vec<_> = unpoison(self.abandoned.lock())
            .iter()
            .map(|(&name, &events)| (name, events))
            .collect();
        all.sort_unstable();
        all
    }

    /// Whether every event posted has been run, shed, cancelled or abandoned.
    pub(crate) fn is_quiescent(&self) -> bool {
        let all = || {
            let workers = self.remotes.iter().map(|remote| &remote.counts.events);
            workers.chain([&self.outside_counts])
        };
        // What is done is read before what was posted: nothing is done before it is
        // posted, so equal sums mean that there was a moment with nothing pending.
        let done =
            |e: &EventCounts| e.run.get() + e.shed.get() + e.cancelled.get() + e.abandoned.get();
        let done: u64 = all().map(done).sum();
        let posted: u64 = all().map(|e| e.posted.get()).sum();
        done == posted
    }
}
