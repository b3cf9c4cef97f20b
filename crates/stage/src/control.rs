//! Changing and ending a stage while it runs.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mely_sched::admission::{Admission, AdmissionChain, PolicyId};
use mely_sched::{BatchingOptions, GovernorOptions};

use crate::error::{Circle, Unended, Unfinished};
use crate::safely::drop_safely;
use crate::shared::ending::Ending;
use crate::shared::{Schedule, Shared};
use crate::sink::Sink;
use crate::snapshot::Snapshot;

/// A stage, for those who run it: its sink, its settings, its end.
///
/// All of it may be used while events are offered and handled, from any thread and from handlers.
///
/// ```
/// use mely_sched::admission::{AdmissionChain, Threshold};
/// use mely_stage::{Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let log = Manager::new(&rt).create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
/// log.set_capacity(10);
/// log.set_admission(AdmissionChain::new().and(Threshold::new(5)));
/// assert_eq!(log.snapshot().capacity, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Control<E: Send + 'static> {
    shared: Arc<Shared<E>>,
}

impl<E: Send + 'static> Control<E> {
    pub(crate) fn new(shared: &Arc<Shared<E>>) -> Self {
        Self {
            shared: Arc::clone(shared),
        }
    }

    /// The name of the stage.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The way into it.
    pub fn sink(&self) -> Sink<E> {
        Sink::new(&self.shared)
    }

    /// What it has done, and how it stands.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.shared)
    }

    /// How many events may wait. If more do, none is accepted until they are fewer.
    pub fn set_capacity(&self, events: usize) {
        self.shared.set_capacity(events);
    }

    /// How many events a handler is given at once, from its next batch on.
    pub fn set_batch(&self, batch: BatchingOptions) {
        self.shared.set_batch(batch);
    }

    /// When the stage is scheduled.
    pub fn set_schedule(&self, schedule: Schedule) {
        self.shared.set_schedule(schedule);
    }

    /// The governor of its threads; `false` if it is served by colors.
    pub fn set_threads(&self, governed: GovernorOptions) -> bool {
        self.shared.set_threads(governed)
    }

    /// Other policies of admission for what is offered from now on. What was admitted is judged
    /// by the policies that admitted it.
    pub fn set_admission(&self, chain: AdmissionChain) {
        self.shared.set_admission(chain);
    }

    /// Adds a policy of admission behind those that there are.
    ///
    /// ```
    /// use mely_sched::admission::Threshold;
    /// use mely_stage::{Manager, Refusal, StageOptions, each};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let log = Manager::new(&rt).create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
    /// let id = log.push_policy(Threshold::new(0));
    /// assert!(matches!(log.sink().offer(7).unwrap_err().why, Refusal::Admission(_)));
    /// assert!(log.remove_policy(id));
    /// log.sink().offer(7)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_policy(&self, policy: impl Admission) -> PolicyId {
        self.shared.with_policies(|chain| chain.push(policy))
    }

    /// Removes a policy of the present chain; `false` if it is gone already.
    pub fn remove_policy(&self, id: PolicyId) -> bool {
        let removed = self.shared.with_policies(|chain| chain.remove(id));
        let is_some = removed.is_some();
        drop_safely(removed);
        is_some
    }

    /// Declares that its handlers offer to another stage, as
    /// [`StageOptions::feeds`](crate::StageOptions::feeds) does before it begins.
    ///
    /// # Errors
    ///
    /// [`Circle`] if that one feeds this one, perhaps by way of others.
    pub fn feed<F: Send + 'static>(&self, sink: &Sink<F>) -> Result<(), Circle> {
        self.shared.feed(sink.downstream())
    }

    /// Ends the stage: offers are refused from now on. Returns at once, with the events that
    /// are handed back; the others are handled yet.
    ///
    /// A batch that is in the hands of a handler ends with the event that it has; where the
    /// queue drains, it goes on.
    pub fn end(&self, ending: Ending) -> Vec<E> {
        self.shared.end(ending)
    }

    /// Waits until the stage has ended and all its handlers are dropped: a future for any async
    /// runtime, and for handlers.
    ///
    /// ```
    /// use mely_stage::{Ending, Manager, StageOptions, each};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let log = Manager::new(&rt).create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
    /// log.end(Ending::Drain);
    /// rt.new_color().spawn(log.ended()).wait()?;
    /// assert!(log.snapshot().has_ended);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ended(&self) -> Ended<E> {
        Ended {
            shared: Arc::clone(&self.shared),
            number: None,
        }
    }

    /// Blocks until the stage has ended and all its handlers are dropped.
    ///
    /// # Errors
    ///
    /// Why it has not: the time passed, or this is called inside a handler.
    pub fn wait_ended(&self, timeout: Duration) -> Result<(), Unended> {
        self.shared.wait_over(timeout)
    }

    /// Ends the stage, and waits until it has ended. Gives back the events that are not handled:
    /// none if the queue was to be drained, and was in time.
    ///
    /// # Errors
    ///
    /// The time passed: what still waits is given back, and what handlers have in hand is theirs.
    /// Inside a handler of the runtime, or of the stage, nobody waits: it ends all the same, and
    /// is drained if it was to be.
    pub fn destroy(&self, ending: Ending, timeout: Duration) -> Result<Vec<E>, Unfinished<E>> {
        let mut events = self.shared.end(ending);
        match self.shared.wait_over(timeout) {
            Ok(()) => Ok(events),
            Err(why) => {
                if let Unended::TimedOut { .. } = why {
                    events.extend(self.shared.end(Ending::HandBack));
                }
                Err(Unfinished { events, why })
            }
        }
    }
}

/// Waits for the end of a stage, as [`Control::ended`] returns it.
#[must_use = "nothing waits until it is awaited"]
pub struct Ended<E: Send + 'static> {
    shared: Arc<Shared<E>>,
    /// Its place among those who wait.
    number: Option<u64>,
}

impl<E: Send + 'static> Future for Ended<E> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.shared.poll_over(&mut this.number, cx)
    }
}

impl<E: Send + 'static> Drop for Ended<E> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.shared.leave_ends(number);
        }
    }
}

impl<E: Send + 'static> fmt::Debug for Ended<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ended").field(&self.shared.name).finish()
    }
}

impl<E: Send + 'static> Clone for Control<E> {
    fn clone(&self) -> Self {
        Self::new(&self.shared)
    }
}

impl<E: Send + 'static> fmt::Debug for Control<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Control").field(&self.shared.name).finish()
    }
}
