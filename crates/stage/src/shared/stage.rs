//! What a program brings: handlers of batches.

use mely::Handle;

use super::batch::Batch;

/// A handler of events, in batches.
///
/// A stage has an instance for each of its colors, or of its threads. Each is made, initialised
/// and run on the same color or thread, one batch at a time, and dropped there when the stage
/// ends. So it needs no lock, and what it keeps of a key is that key's alone.
///
/// An event that is left in the batch stays in the queue, at its front, for the next one: what a
/// handler does that has no room for what it makes of it.
///
/// **A panic** of [`handle`](Stage::handle) loses the event that was taken last, and is counted;
/// those before it are handled, those behind it are in the queue as before. The instance is
/// dropped, and the next batch gets a new one. If that panics while it is made or initialised,
/// the stage ends, and what waits in it is reported as [`Shed::NoHandler`](crate::Shed).
///
/// *Performance Aspects of the Staged Event-Driven Architecture*: `init`, `handleEvents`,
/// `destroy`, which is `Drop` here.
///
/// ```
/// use mely_stage::{Batch, Manager, Stage, StageContext, StageOptions};
///
/// struct Counter(u64);
///
/// impl Stage<u64> for Counter {
///     fn init(&mut self, cx: &mut StageContext<'_>) {
///         println!("{} begins, number {}", cx.name(), cx.number());
///     }
///
///     fn handle(&mut self, batch: &mut Batch<'_, u64>, _cx: &mut StageContext<'_>) {
///         self.0 += batch.sum::<u64>();
///     }
/// }
///
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let sum = Manager::new(&rt).create("sum", StageOptions::new(), |_number| Counter(0))?;
/// sum.sink().offer(5)?;
/// # rt.wait_idle();
/// # assert_eq!(sum.snapshot().counts.handled, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Stage<E>: Send + 'static {
    /// Called once, before the first batch, where that is handled.
    fn init(&mut self, cx: &mut StageContext<'_>) {
        let _ = cx;
    }

    /// Handles events: those that it takes out of the batch.
    ///
    /// There may be none in it after all: those that waited are refused by admission, were taken
    /// by another thread of the stage, or were handed back.
    fn handle(&mut self, batch: &mut Batch<'_, E>, cx: &mut StageContext<'_>);
}

impl<E, F> Stage<E> for F
where
    E: Send + 'static,
    F: FnMut(&mut Batch<'_, E>, &mut StageContext<'_>) + Send + 'static,
{
    fn handle(&mut self, batch: &mut Batch<'_, E>, cx: &mut StageContext<'_>) {
        self(batch, cx);
    }
}

/// A stage that does the same with each event.
///
/// ```
/// use mely_stage::{Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let log = Manager::new(&rt).create("log", StageOptions::new(), |_| {
///     let mut lines = 0;
///     each(move |line: String| {
///         lines += 1;
///         println!("{lines}: {line}");
///     })
/// })?;
/// log.sink().offer("hello".to_owned())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn each<E, F>(handle: F) -> impl Stage<E>
where
    E: Send + 'static,
    F: FnMut(E) + Send + 'static,
{
    Each(handle)
}

struct Each<F>(F);

impl<E: Send + 'static, F: FnMut(E) + Send + 'static> Stage<E> for Each<F> {
    fn handle(&mut self, batch: &mut Batch<'_, E>, _cx: &mut StageContext<'_>) {
        batch.for_each(&mut self.0);
    }
}

/// What a handler is told beside its events.
///
/// ```
/// use mely_stage::{Batch, Manager, StageContext, StageOptions};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stage = Manager::new(&rt).create("names", StageOptions::new().colors(1), |_| {
///     |batch: &mut Batch<'_, ()>, cx: &mut StageContext<'_>| {
///         assert_eq!((cx.name(), cx.number()), ("names", 0));
///         assert_eq!(cx.runtime().workers(), 1);
///         batch.for_each(drop);
///     }
/// })?;
/// stage.sink().offer(())?;
/// # rt.wait_idle();
/// # assert_eq!(stage.snapshot().counts.handled, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StageContext<'a> {
    pub(super) name: &'a str,
    pub(super) number: usize,
    pub(super) runtime: &'a Handle,
}

impl StageContext<'_> {
    /// The name of the stage.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Which of the stage's colors or threads this is, from 0. Threads that begin later have
    /// higher numbers.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The runtime of the stage, also where its threads are not the runtime's.
    pub fn runtime(&self) -> &Handle {
        self.runtime
    }
}
