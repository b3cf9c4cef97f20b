//! A worker: the thread of a core, as a state machine that is stepped.
//!
//! [`Worker::step`] is all there is to scheduling; the thread loop, and the
//! simulator in its place, only call it and sleep when it says so.

mod ending;
mod fifo;
mod frame;
mod long;
mod next;
mod noted;
mod poll;
mod post;
mod realm;
mod run;
mod steal;
mod thread;
mod traced;
mod turn;
mod within;
mod yields;

use core::cell::{Cell, RefCell};
use core::mem::ManuallyDrop;
use core::ptr;

use mely_sched::{CoreQueue, Ewma, ReadyColor, Ticketed, Worthiness};

pub(crate) use self::frame::Frame;
pub(crate) use self::noted::post_from_outside;
use self::steal::LOOK_BESIDE_TURNS;
pub(crate) use self::thread::{
    new_color, note_awaits, note_called, run_called, run_worker, with_any_current, with_current,
};
use self::traced::WorkerTracer;
pub(crate) use self::within::CallNumber;
use self::within::Within;
use self::yields::Yields;
use crate::cell::Here;
use crate::cost::handlers::Costs;
use crate::cost::sampler::Sampler;
use crate::event::{Event, NodePool};
use crate::machine::affinity::Footing;
use crate::machine::clock::reading_cycles;
use crate::machine::counter::Counter;
use crate::machine::driver::ReadyList;
use crate::machine::sync::Arc;
use crate::queue::held::Giver;
use crate::shared::ready::Ready;
use crate::shared::remote::{Private, Remote};
use crate::shared::{CellPool, OwnedColor, Running, Shared};

/// How much work a worker does between two looks at timers and descriptors, in
/// cycles: 40 µs at 2.5 GHz, of which a look (0.4 µs) is 1 %.
const POLL_INTERVAL_CYCLES: i64 = 100_000;

/// What a turn is taken to cost beyond its events, in cycles.
const TURN_CYCLES: i64 = 60;

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ran a turn of a color.
    Ran,
    /// Found nothing to run; the worker may sleep.
    Idle,
}

/// The state of a worker that its own thread alone touches.
pub(crate) struct Worker {
    index: usize,
    /// The same, as colors know it.
    here: Here,
    shared: Arc<Shared>,
    /// What others reach of this worker: `shared.remotes[index]`.
    remote: Arc<Remote>,
    /// Ready colors that are offered to nobody.
    ready: Private,
    /// Ready colors that must stay on this core.
    pinned: CoreQueue<Ready>,
    /// Where colors wait that become ready while a long event holds the core.
    held: Option<Giver<Ticketed<Ready>>>,
    /// Nothing that is left there has an older ticket.
    oldest_held: Cell<u64>,
    costs: Costs,
    nodes: NodePool,
    cells: CellPool,
    /// Memory for what the last wait found.
    ready_list: RefCell<ReadyList>,
    worth: Worthiness,
    /// Colors with less time left are not worth a steal; looked up at each step.
    private_below_cycles: Cell<u64>,
    /// The events of a core wait in one queue, not in queues of their colors.
    fifo: bool,
    tracer: WorkerTracer,
    /// Posts go another way than usual: one of the two above.
    detour: bool,
    /// Which posts are noted; where posts go another way, all are to be looked at.
    sampler: Sampler,
    /// Of its thread, which counts while noted events run.
    counter: Option<Counter>,
    victims: Box<[usize]>,
    /// It steals while one color is left.
    steals_beside: bool,
    until_look_beside: Cell<u32>,
    steal_cost: Cell<Ewma>,
    /// What reading the cycle counter takes.
    reading_cycles: u64,
    /// The only pending event of the color being run, posted by itself.
    next: Cell<Option<Event>>,
    /// The color of the event being run.
    running: Running,
    /// Events of the turn, or of turns in a row, that were run or are being run.
    ran: Cell<u32>,
    /// What it drops are events of a color that a panic has poisoned.
    drops_of_poisoned: Cell<bool>,
    /// The mark of the task that is being polled; null if none is, or one without a mark.
    polled: Cell<*const ()>,
    within: Within,
    next_ticket: Cell<u64>,
    /// Turns until one event is timed, and how many were.
    until_sample: Cell<(u32, u32)>,
    until_poll_cycles: Cell<i64>,
    /// Where it is pinned, while it may be let go.
    footing: RefCell<Option<Footing>>,
    /// Others run on its core too.
    shares_core: Cell<bool>,
    yields: Cell<Yields>,
    searching: Cell<bool>,
    /// An event that may be long is being run: what becomes ready meanwhile must
    /// not wait for it.
    holding: Cell<bool>,
    /// Numbers for fresh colors: the next, and the end of the block.
    fresh_ids: Cell<(u64, u64)>,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, victims: Box<[usize]>) -> Self {
        let heuristics = shared.config.heuristics;
        let remote = &shared.remotes[index];
        let tracer = shared
            .recording()
            .and_then(|recording| recording.take_tracer(index));
        let detour = shared.has_fifos() || tracer.is_some();
        Self {
            index,
            here: Here::new(shared.narrow(index)),
            remote: Arc::clone(remote),
            ready: remote.take_private().expect("a worker is made once"),
            pinned: CoreQueue::new(),
            held: remote.take_giver(),
            oldest_held: Cell::new(u64::MAX),
            costs: Costs::new(heuristics, Arc::clone(&shared.penalties))
                .of_traced(tracer.is_some()),
            nodes: NodePool::new(&shared.free_nodes),
            cells: CellPool::new(&shared.free_cells),
            ready_list: RefCell::default(),
            worth: Worthiness::new(heuristics),
            private_below_cycles: Cell::new(0),
            fifo: shared.has_fifos(),
            detour,
            sampler: Self::new_sampler(index, detour),
            counter: Self::open_counter(&shared, remote),
            tracer: tracer.map(|tracer| Box::new(RefCell::new(tracer))),
            victims,
            steals_beside: heuristics.steal && heuristics.learn,
            until_look_beside: Cell::new(0),
            steal_cost: Cell::new(Ewma::new()),
            reading_cycles: reading_cycles(&*shared.clock),
            next: Cell::new(None),
            drops_of_poisoned: Cell::new(false),
            running: Running::default(),
            ran: Cell::new(0),
            polled: Cell::new(ptr::null()),
            within: Within::default(),
            next_ticket: Cell::new(0),
            until_sample: Cell::new((1, 0)),
            until_poll_cycles: Cell::new(POLL_INTERVAL_CYCLES),
            footing: RefCell::new(None),
            shares_core: Cell::new(false),
            yields: Cell::default(),
            searching: Cell::new(false),
            holding: Cell::new(false),
            fresh_ids: Cell::new((0, 0)),
            shared,
        }
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    #[inline]
    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Free color cells.
    pub(crate) fn cells(&self) -> &CellPool {
        &self.cells
    }

    /// One scheduling decision: looks at the outside world when that is due, takes
    /// what others sent, gives to others what they lack, and runs one turn of the
    /// color that is ready longest — or steals.
    pub(crate) fn step(&self) -> Step {
        let steal_cost = self.shared.steal_cost_cycles();
        // What nobody would steal need not be offered.
        let private_below = match self.shares_core.get() && self.shared.do_all_share() {
            true if self.shared.config.heuristics.learn => u64::MAX,
            _ => self.worth.private_below_cycles(steal_cost),
        };
        self.private_below_cycles.set(private_below);
        if self.until_poll_cycles.get() <= 0 {
            self.poll();
        }
        if self.remote().mailbox.has_elements() {
            self.take_mailbox();
        }
        if self.shared.idle.hint().any() {
            self.share_with_idle_cores();
        }
        if self.steals_beside {
            match self.private_colors() + self.pinned.len() {
                0 | 1 => self.steal_beside(),
                _ => self.until_look_beside.set(LOOK_BESIDE_TURNS),
            }
        }
        loop {
            if let Some(color) = self.next_color() {
                if self.searching.get() {
                    self.end_search();
                }
                self.run(color);
                return Step::Ran;
            }
            if !self.steal() {
                return Step::Idle;
            }
        }
    }

    /// Makes the color of an event that was posted to a fresh one.
    #[inline]
    fn make_fresh(&self, event: Event) -> OwnedColor {
        let traits = self.shared.default_traits(self.index);
        let color = OwnedColor::fresh(&self.cells, &self.shared, self.fresh_id(), traits);
        // Whatever its capacity: it is there for this event.
        color.reserve_always();
        color.push_first(event);
        color
    }

    /// How many colors are ready that are offered to nobody and may move.
    #[inline]
    fn private_colors(&self) -> usize {
        self.ready.with(CoreQueue::len)
    }

    /// A number for a fresh color, from a block of this worker's own.
    pub(crate) fn fresh_id(&self) -> u64 {
        let (mut next, mut end) = self.fresh_ids.get();
        if next == end {
            (next, end) = self.shared.color_ids();
        }
        self.fresh_ids.set((next + 1, end));
        next
    }

    /// Puts a color that has become ready where it belongs.
    fn schedule(&self, color: OwnedColor) {
        if self.is_called(&color) && self.may_run_inside(&color) {
            // For that nobody shall take it meanwhile, and thieves be woken for it.
            color.set_home(self.here.worker);
            self.keep(self.ticketed(Ready::Color(color)));
        } else if color.home() == self.index {
            self.make_ready(Ready::Color(color));
        } else {
            self.shared.send(color);
        }
    }

    /// Queues a color on this core: privately, or open to thieves if it is worth a
    /// steal.
    #[inline]
    fn make_ready(&self, color: Ready) {
        if self.detour {
            return self.make_ready_by_detour(color);
        }
        self.queue_ready(color);
    }

    #[inline]
    fn queue_ready(&self, color: Ready) {
        let is_private = color.time_left_cycles() < self.private_below_cycles.get();
        // Each its own: one for both would lie in memory, see `keep`.
        match is_private || color.is_pinned() {
            true => self.keep(self.ticketed(color)),
            false => self.offer(self.ticketed(color)),
        }
    }

    /// In which interval a color is offered to thieves, if it is worth it.
    fn worthy_interval(&self, time_left_cycles: u64) -> Option<usize> {
        let steal_cost = self.shared.steal_cost_cycles();
        self.worth.interval(time_left_cycles, steal_cost)
    }

    /// Queues a color on this core, open to thieves.
    #[inline(never)]
    fn offer(&self, color: Ticketed<Ready>) {
        let Some(interval) = self.worthy_interval(color.time_left_cycles()) else {
            return self.keep(color);
        };
        let remote = self.remote();
        self.with_offers(remote, |offers| offers.push(color, interval));
        if self.shared.is_worth_a_wake(remote, &self.worth) {
            self.shared.wake_a_thief();
        }
    }

    /// Queues a color on this core, out of the reach of thieves.
    // Always, and not dropped if something else panics: a color that is handed over in
    // memory, or may have to be dropped there, is written in pieces and read back in others,
    // which the processor can only do once all earlier writes are in the cache.
    #[inline(always)]
    fn keep(&self, color: Ticketed<Ready>) {
        let (is_pinned, color) = (color.color().is_pinned(), ManuallyDrop::new(color));
        if is_pinned {
            self.pinned.push(ManuallyDrop::into_inner(color));
        } else if self.holding.get() {
            self.keep_while_holding(ManuallyDrop::into_inner(color));
        } else {
            self.ready
                .visit(|ready| ready.push(ManuallyDrop::into_inner(color)));
        }
    }

    /// Gives a color its place among all that are ready on this core.
    #[inline]
    fn ticketed(&self, color: Ready) -> Ticketed<Ready> {
        Ticketed::new(self.next_ticket(), color)
    }

    /// A place behind all that are ready on this core.
    #[inline]
    fn next_ticket(&self) -> u64 {
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket + 1);
        ticket
    }
}
