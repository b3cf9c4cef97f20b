//! How a stage is to be.

use std::fmt;
use std::sync::Arc;

use mely::Handle;
use mely_sched::admission::{AdmissionChain, QUEUE_THRESHOLD, Tag};
use mely_sched::{BatchingOptions, GovernorOptions};

use crate::error::Shed;
use crate::shared::gate::Downstream;
use crate::shared::stage::Stage;
use crate::shared::{Program, Schedule, Servers, Settings};
use crate::sink::Sink;

/// Colors for each worker: enough that thieves find some, few enough that each has batches.
const COLORS_PER_WORKER: usize = 4;

/// Batches of 8 to 64 events: with events of 10 µs a batch holds its core for less than a
/// millisecond (`docs/decisions/0019-stages.md`).
const BATCH: BatchingOptions = BatchingOptions {
    batch_min: 8,
    batch_max: 64,
    period: mely_sched::Nanos::from_millis(200),
    low_water: 0.9,
    patience: 50,
};

type Asks<E, R> = Option<Box<dyn Fn(&E) -> R + Send + Sync>>;

/// How a stage of events `E` is to be: queue, servers, admission, and what the program says of
/// its events.
///
/// The functions of events are called by whoever offers them, under no lock.
///
/// ```
/// use mely_sched::Nanos;
/// use mely_sched::admission::AdmissionChain;
/// use mely_stage::{Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let options = StageOptions::new()
///     .capacity(10_000)
///     .admission(AdmissionChain::within(Nanos::from_millis(20)))
///     .key(|(account, _): &(u64, i64)| *account)
///     .on_shed(|(account, _), why| println!("nothing done for {account}: {why}"));
/// let stage = Manager::new(&rt).create("book", options, |_| each(|_: (u64, i64)| ()))?;
/// stage.sink().offer((7, -5))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "options make no stage"]
pub struct StageOptions<E> {
    capacity: usize,
    colors: Option<usize>,
    threads: Option<GovernorOptions>,
    batch: BatchingOptions,
    schedule: Schedule,
    admission: AdmissionChain,
    feeds: Vec<Arc<dyn Downstream>>,
    key: Asks<E, u64>,
    tag: Asks<E, Tag>,
    urgency: Asks<E, i64>,
    on_shed: Option<Box<dyn Fn(E, Shed) + Send + Sync>>,
}

impl<E: Send + 'static> StageOptions<E> {
    /// A queue of 1000, as the slides have it; four colors for each worker; batches of 8 to 64;
    /// and no other policy of admission.
    pub fn new() -> Self {
        Self {
            capacity: QUEUE_THRESHOLD as usize,
            colors: None,
            threads: None,
            batch: BATCH,
            schedule: Schedule::Eager,
            admission: AdmissionChain::new(),
            feeds: Vec::new(),
            key: None,
            tag: None,
            urgency: None,
            on_shed: None,
        }
    }

    /// How many events may wait, with the places that are reserved. With 0 all are refused.
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = events;
        self
    }

    /// How many colors the events spread over, at least one; each has a handler of its own. With
    /// one, all events are handled in their order.
    pub fn colors(mut self, colors: usize) -> Self {
        self.colors = Some(colors);
        self.threads = None;
        self
    }

    /// Serves the stage by threads of its own instead, whose handlers may block. A governor says
    /// how many: it looks when events are offered and when threads come for them.
    ///
    /// All threads take from one queue: events begin in their order, and keys mean nothing.
    ///
    /// ```
    /// use mely_sched::GovernorOptions;
    /// use mely_stage::{Manager, StageOptions, each};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let governed = GovernorOptions { threads_max: 4, ..GovernorOptions::default() };
    /// let files = StageOptions::new().threads(governed);
    /// let read = Manager::new(&rt).create("read", files, |_| {
    ///     each(|path: String| _ = std::fs::read(path))
    /// })?;
    /// read.sink().offer("/etc/hostname".to_owned())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn threads(mut self, governed: GovernorOptions) -> Self {
        self.threads = Some(governed);
        self
    }

    /// How many events a handler is given at once.
    pub fn batch(mut self, batch: BatchingOptions) -> Self {
        self.batch = batch;
        self
    }

    /// When the stage is scheduled.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// The policies that are asked when events are offered and taken.
    ///
    /// They are asked under the lock of the stage: a policy of the program's own must not call
    /// it. One that panics is taken to refuse.
    pub fn admission(mut self, chain: AdmissionChain) -> Self {
        self.admission = chain;
        self
    }

    /// Declares that handlers of this stage offer to another one: while that is full, this one
    /// is not scheduled, and else gets no larger batches than the other has room for.
    ///
    /// So offers are seldom refused for want of room, but may be: colors run in parallel, and
    /// others offer, too. A handler that must lose nothing reserves before it takes an event
    /// out of its batch, and leaves the event there if there is no room.
    ///
    /// A stage that has ended, and one with a capacity of 0, keep nobody waiting.
    pub fn feeds<F: Send + 'static>(mut self, sink: &Sink<F>) -> Self {
        self.feeds.push(sink.downstream());
        self
    }

    /// The key of an event: events of one key are handled one at a time and in order, those of
    /// keys that are equal modulo the number of colors by the same color. Without, each event
    /// goes to the next color.
    pub fn key(mut self, key: impl Fn(&E) -> u64 + Send + Sync + 'static) -> Self {
        self.key = Some(Box::new(key));
        self
    }

    /// What policies of admission know an event by: its class, and who offers it.
    pub fn tag(mut self, tag: impl Fn(&E) -> Tag + Send + Sync + 'static) -> Self {
        self.tag = Some(Box::new(tag));
        self
    }

    /// Lets the stage reorder its queue: the most urgent events of a color, those with the
    /// highest number, are handled first, and equally urgent ones in their order.
    ///
    /// ```
    /// use mely_stage::{Manager, StageOptions, each};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let options = StageOptions::new().urgency(|(urgency, _): &(i64, u32)| *urgency);
    /// let stage = Manager::new(&rt).create("jobs", options, |_| each(|_: (i64, u32)| ()))?;
    /// stage.sink().offer((5, 1))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn urgency(mut self, urgency: impl Fn(&E) -> i64 + Send + Sync + 'static) -> Self {
        self.urgency = Some(Box::new(urgency));
        self
    }

    /// Is given the events that nobody handles, with the reason: what admission refuses when it
    /// is taken, and what the end of the runtime leaves. Without, they are dropped.
    ///
    /// It is called where that is found: by whoever takes events, ends the stage, or offers. A
    /// panic of it is caught.
    pub fn on_shed(mut self, hook: impl Fn(E, Shed) + Send + Sync + 'static) -> Self {
        self.on_shed = Some(Box::new(hook));
        self
    }

    pub(crate) fn into_parts(
        self,
        runtime: &Handle,
        make: Box<dyn Fn(usize) -> Box<dyn Stage<E>> + Send + Sync>,
    ) -> (Settings, Program<E>) {
        let colors = self.colors.unwrap_or(runtime.workers() * COLORS_PER_WORKER);
        let settings = Settings {
            capacity: self.capacity,
            servers: match self.threads {
                Some(governed) => Servers::Threads(governed),
                None => Servers::Colors(colors),
            },
            batch: self.batch,
            schedule: self.schedule,
            admission: self.admission,
            feeds: self.feeds,
        };
        let program = Program {
            make,
            key: self.key,
            tag: self.tag,
            urgency: self.urgency,
            on_shed: self.on_shed,
        };
        (settings, program)
    }
}

impl<E: Send + 'static> Default for StageOptions<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> fmt::Debug for StageOptions<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageOptions")
            .field("capacity", &self.capacity)
            .field("colors", &self.colors)
            .field("threads", &self.threads)
            .field("batch", &self.batch)
            .field("schedule", &self.schedule)
            .finish_non_exhaustive()
    }
}
