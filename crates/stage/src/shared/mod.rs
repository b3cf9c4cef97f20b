//! A stage: its queue under one lock, and what comes of it outside of that.
//!
//! Nothing of the program's runs under the lock, but policies of admission: what a change leads
//! to is gathered in [`Effects`], and done after the lock is free.

pub(crate) mod batch;
mod colors;
mod counts;
mod effects;
pub(crate) mod ending;
pub(crate) mod gate;
mod offer;
mod policies;
mod queue;
mod room;
mod seat;
pub(crate) mod stage;
mod threads;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use mely::Handle;
use mely_sched::admission::{AdmissionChain, Tag};
use mely_sched::queueing::Chance;
use mely_sched::{Batching, BatchingOptions, Governor, GovernorOptions, Nanos};

pub use self::counts::Counts;
pub(crate) use self::counts::Observed;
use self::effects::Effects;
use self::gate::{Downstream, Feeds, Waiter};
pub(crate) use self::offer::Place;
use self::policies::Policies;
use self::queue::Lane;
pub(crate) use self::room::Turnstile;
use self::stage::Stage;
use crate::error::{Circle, Shed};
use crate::safely::{drop_safely, lock};

/// When a stage is scheduled that has events.
///
/// *Performance Aspects of the Staged Event-Driven Architecture*: scheduling may be delayed
/// until a stage has accumulated work.
///
/// ```
/// use std::time::Duration;
/// use mely_stage::{Schedule, StageOptions};
/// let rare = Schedule::Delayed { events: 64, after: Duration::from_millis(5) };
/// let options = StageOptions::<u32>::new().schedule(rare);
/// # drop(options);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schedule {
    /// At once.
    #[default]
    Eager,
    /// When so many events wait for one color, or for the threads; or the first of them for so
    /// long; or when there is room for no more.
    Delayed {
        /// From how many events on.
        events: usize,
        /// After how long with fewer.
        after: Duration,
    },
}

/// Who serves a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Servers {
    /// So many colors.
    Colors(usize),
    /// Threads of its own, their number under a governor.
    Threads(GovernorOptions),
}

/// What can be set of a stage when it is made.
pub(crate) struct Settings {
    pub(crate) capacity: usize,
    pub(crate) servers: Servers,
    pub(crate) batch: BatchingOptions,
    pub(crate) schedule: Schedule,
    pub(crate) admission: AdmissionChain,
    pub(crate) feeds: Vec<Arc<dyn Downstream>>,
}

type Asks<E, R> = Option<Box<dyn Fn(&E) -> R + Send + Sync>>;

/// What the program brings. None of it is called under a lock.
pub(crate) struct Program<E> {
    pub(crate) make: Box<dyn Fn(usize) -> Box<dyn Stage<E>> + Send + Sync>,
    pub(crate) key: Asks<E, u64>,
    pub(crate) tag: Asks<E, Tag>,
    pub(crate) urgency: Asks<E, i64>,
    pub(crate) on_shed: Option<Box<dyn Fn(E, Shed) + Send + Sync>>,
}

/// How far the life of a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It takes events.
    Open,
    /// It takes none, and has handlers still.
    Ending,
    /// All its handlers are gone.
    Over,
}

/// Who comes for the events.
trait Server<E>: Send + Sync {
    /// Sees to it that somebody comes for the events of a lane.
    fn schedule(&self, shared: &Arc<Shared<E>>, lane: usize);

    /// The same, after a while.
    fn schedule_after(&self, shared: &Arc<Shared<E>>, lane: usize, delay: Duration);

    /// Adds threads, if there are too few.
    fn grow(&self, shared: &Arc<Shared<E>>) -> io::Result<()>;
}

/// What is under the lock.
struct State<E> {
    phase: Phase,
    capacity: usize,
    queued: usize,
    reserved: usize,
    lanes: Vec<Lane<E>>,
    /// Lanes or threads that events can still be given to.
    serving: usize,
    /// Handlers that are not gone yet, or to be made.
    seats: usize,
    schedule: Schedule,
    policies: Policies,
    batching: Batching,
    governor: Option<Governor>,
    observed: Observed,
    chance: Chance,
    feeds: Feeds,
    /// Stages that wait for room here.
    upstream: Vec<Waiter>,
    /// Futures that wait for room here.
    rooms: VecDeque<(u64, std::task::Waker)>,
    rooms_begun: u64,
    /// Threads that wait for room elsewhere.
    threads_held: usize,
    /// Who awaits its end, by a number each.
    ends: BTreeMap<u64, std::task::Waker>,
    ends_begun: u64,
    /// How often this stage was told of room elsewhere.
    resumed: u64,
    next_lane: usize,
    next_number: usize,
}

impl<E> State<E> {
    fn occupied(&self) -> usize {
        self.queued + self.reserved
    }

    fn room(&self) -> usize {
        self.capacity.saturating_sub(self.occupied())
    }
}

/// A stage.
pub(crate) struct Shared<E> {
    pub(crate) name: Box<str>,
    runtime: Handle,
    program: Program<E>,
    began: Instant,
    has_threads: bool,
    state: Mutex<State<E>>,
    /// Its threads wait here.
    work: Condvar,
    /// Who waits for its end does so here.
    over: Condvar,
    server: OnceLock<Box<dyn Server<E>>>,
}

impl<E> Shared<E> {
    fn take_feeds(&mut self) -> Feeds {
        let state = self.state.get_mut();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.feeds)
    }
}

impl<E> Drop for Shared<E> {
    fn drop(&mut self) {
        gate::let_go(self.take_feeds());
    }
}

impl<E: Send + 'static> Shared<E> {
    /// A stage that is served.
    pub(crate) fn begin(
        name: &str,
        runtime: &Handle,
        settings: Settings,
        program: Program<E>,
    ) -> io::Result<Arc<Self>> {
        let (lanes, governor) = match settings.servers {
            Servers::Colors(colors) => (colors.max(1), None),
            Servers::Threads(options) => (1, Some(Governor::new(options))),
        };
        let by_urgency = program.urgency.is_some();
        let served_by_colors = if governor.is_none() { lanes } else { 0 };
        let shared = Arc::new(Self {
            name: name.into(),
            runtime: runtime.clone(),
            program,
            began: Instant::now(),
            has_threads: governor.is_some(),
            state: Mutex::new(State {
                phase: Phase::Open,
                capacity: settings.capacity,
                queued: 0,
                reserved: 0,
                lanes: (0..lanes).map(|_| Lane::new(by_urgency)).collect(),
                serving: served_by_colors,
                seats: served_by_colors,
                schedule: settings.schedule,
                policies: Policies::new(settings.admission),
                batching: Batching::new(settings.batch),
                observed: Observed::default(),
                governor,
                // Any seed: it decides what is left to chance, and nobody knows of it.
                chance: Chance::new(name.len() as u64),
                feeds: settings.feeds.into(),
                upstream: Vec::new(),
                rooms: VecDeque::new(),
                rooms_begun: 0,
                threads_held: 0,
                ends: BTreeMap::new(),
                ends_begun: 0,
                resumed: 0,
                next_lane: 0,
                next_number: 0,
            }),
            work: Condvar::new(),
            over: Condvar::new(),
            server: OnceLock::new(),
        });
        match settings.servers {
            Servers::Colors(_) => colors::serve(&shared, lanes),
            Servers::Threads(_) => threads::serve(&shared)?,
        }
        Ok(shared)
    }

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        lock(&self.state)
    }

    fn now(&self) -> Nanos {
        let since = self.began.elapsed().as_nanos();
        Nanos::new(u64::try_from(since).unwrap_or(u64::MAX))
    }

    fn server(&self) -> Option<&dyn Server<E>> {
        self.server.get().map(|server| &**server)
    }

    pub(crate) fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// What has been seen of it, and how it is set.
    pub(crate) fn observe(&self) -> (Observed, Standing) {
        let state = self.lock();
        let standing = Standing {
            phase: state.phase,
            capacity: state.capacity,
            queued: state.queued,
            reserved: state.reserved,
            held: state.held(),
            threads: if self.has_threads { state.serving } else { 0 },
            colors: if self.has_threads {
                0
            } else {
                state.lanes.len()
            },
            batch: state.batching.batch(),
        };
        (state.observed.clone(), standing)
    }

    pub(crate) fn set_capacity(self: &Arc<Self>, capacity: usize) {
        self.change(|state, effects| {
            state.capacity = capacity;
            state.note_room(effects);
        });
        // What is full now accumulates no more.
        self.look_at_all();
    }

    pub(crate) fn set_batch(&self, options: BatchingOptions) {
        self.lock().batching.set_options(options);
    }

    pub(crate) fn set_schedule(self: &Arc<Self>, schedule: Schedule) {
        self.lock().schedule = schedule;
        // What has accumulated may be due now.
        self.look_at_all();
    }

    fn look_at_all(self: &Arc<Self>) {
        (0..self.lanes()).for_each(|lane| self.look(lane));
    }

    pub(crate) fn set_threads(self: &Arc<Self>, options: GovernorOptions) -> bool {
        self.change(|state, effects| {
            let Some(governor) = &mut state.governor else {
                return false;
            };
            governor.set_options(options);
            effects.grow |= state.is_short_of_threads();
            effects.notify_all = true;
            true
        })
    }

    /// Asks other policies from now on. What was admitted is judged by those that admitted it.
    pub(crate) fn set_admission(&self, chain: AdmissionChain) {
        let unused = self.lock().policies.replace(chain);
        drop_safely(unused);
    }

    pub(crate) fn with_policies<R>(&self, change: impl FnOnce(&mut AdmissionChain) -> R) -> R {
        change(self.lock().policies.current())
    }

    pub(crate) fn feed(self: &Arc<Self>, to: Arc<dyn Downstream>) -> Result<(), Circle> {
        let set = |feeds| std::mem::replace(&mut self.lock().feeds, feeds);
        let before = gate::declare(Arc::as_ptr(self).cast(), &to, || self.feeds(), set)?;
        // Those that have ended may go with it, and what they have of the program's.
        drop_safely(before);
        Ok(())
    }

    fn lanes(&self) -> usize {
        self.lock().lanes.len()
    }

    /// Changes what is under the lock, and does afterwards what comes of it.
    fn change<R>(self: &Arc<Self>, change: impl FnOnce(&mut State<E>, &mut Effects<E>) -> R) -> R {
        let mut effects = Effects::default();
        let result = change(&mut self.lock(), &mut effects);
        effects.run(self);
        result
    }
}

/// How a stage stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) phase: Phase,
    pub(crate) capacity: usize,
    pub(crate) queued: usize,
    pub(crate) reserved: usize,
    pub(crate) held: usize,
    pub(crate) threads: usize,
    pub(crate) colors: usize,
    pub(crate) batch: u32,
}
