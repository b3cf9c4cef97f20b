//! Why something was not taken, not made, not found, or not ended.

use std::fmt;
use std::io;

use mely_sched::admission::Reason;

/// Why a stage does not take an event.
///
/// ```
/// use mely_stage::Refusal;
/// use mely_sched::admission::Reason;
/// assert_eq!(Refusal::Admission(Reason::NoToken).to_string(), "refused by admission: no-token");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// As many events wait as may, with the places that are reserved. Later there may be room.
    Full,
    /// The same, and the stage is held: one that it feeds has no room either. So it will last.
    Clogged,
    /// A policy of admission says no.
    Admission(Reason),
    /// The stage is ending or has ended, or its runtime has.
    Closed,
}

impl Refusal {
    /// A word for metrics, in lower case with hyphens.
    ///
    /// ```
    /// assert_eq!(mely_stage::Refusal::Full.name(), "full");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Refusal::Full => "full",
            Refusal::Clogged => "clogged",
            Refusal::Admission(reason) => reason.name(),
            Refusal::Closed => "closed",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Full => f.write_str("the stage is full"),
            Refusal::Clogged => f.write_str("the stage is full, and held by one that it feeds"),
            Refusal::Admission(reason) => write!(f, "refused by admission: {reason}"),
            Refusal::Closed => f.write_str("the stage takes no more events"),
        }
    }
}

impl std::error::Error for Refusal {}

/// An event that was not taken, given back with the reason.
///
/// ```
/// use mely_stage::{Manager, Refusal, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stages = Manager::new(&rt);
/// let never = stages.create("never", StageOptions::new().capacity(0), |_| each(|_: u32| ()))?;
/// let refused = never.sink().offer(7).unwrap_err();
/// assert_eq!((refused.event, refused.why), (7, Refusal::Full));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Refused<E> {
    /// What was offered.
    pub event: E,
    /// Why it was not taken.
    pub why: Refusal,
}

impl<E> Refused<E> {
    /// The reason alone, without the event, which is dropped: an error that is `Send` and `Sync`
    /// whatever the event is.
    ///
    /// ```
    /// use mely_stage::{Refusal, Refused};
    /// let refused = Refused { event: std::rc::Rc::new(7), why: Refusal::Closed };
    /// let error: Box<dyn std::error::Error + Send + Sync> = refused.without_event().into();
    /// assert_eq!(error.to_string(), "the stage takes no more events");
    /// ```
    pub fn without_event(self) -> Refusal {
        self.why
    }
}

impl<E> fmt::Debug for Refused<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("why", &self.why)
            .finish_non_exhaustive()
    }
}

impl<E> fmt::Display for Refused<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<E> std::error::Error for Refused<E> {}

/// Why an event that was accepted was not handled: what the hook for such events is told.
///
/// ```
/// use mely_stage::Shed;
/// assert_eq!(Shed::Ended.name(), "ended");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shed {
    /// It was refused by [`Sink::offer_or_shed`](crate::Sink::offer_or_shed), so never accepted.
    Refused(Refusal),
    /// A policy of admission refused it when it was taken out of the queue.
    Expired(Reason),
    /// The runtime has ended, or the stage while the event had a reserved place.
    Ended,
    /// No handler could be made: it panicked when it was made, or initialised.
    NoHandler,
}

impl Shed {
    /// A word for metrics, in lower case with hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Shed::Refused(refusal) => refusal.name(),
            Shed::Expired(reason) => reason.name(),
            Shed::Ended => "ended",
            Shed::NoHandler => "no-handler",
        }
    }
}

impl fmt::Display for Shed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a stage was not made.
///
/// ```
/// use mely_stage::{CreateError, Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stages = Manager::new(&rt);
/// stages.create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
/// let again = stages.create("log", StageOptions::new(), |_| each(|_: u32| ()));
/// assert!(matches!(again, Err(CreateError::NameTaken)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum CreateError {
    /// Another stage of the manager has that name.
    NameTaken,
    /// The system starts no thread for it.
    NoThread(io::Error),
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CreateError::NameTaken => f.write_str("another stage has that name"),
            CreateError::NoThread(error) => {
                write!(f, "the system starts no thread for the stage: {error}")
            }
        }
    }
}

impl std::error::Error for CreateError {}

/// Why a stage was not found.
///
/// ```
/// use mely_stage::{FindError, Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stages = Manager::new(&rt);
/// stages.create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
/// assert!(stages.find::<u32>("log").is_ok());
/// assert_eq!(stages.find::<String>("log").err(), Some(FindError::OtherEvents));
/// assert_eq!(stages.find::<u32>("lag").err(), Some(FindError::NoSuchStage));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindError {
    /// No stage has that name, or it is ending.
    NoSuchStage,
    /// The stage takes events of another type.
    OtherEvents,
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FindError::NoSuchStage => "no stage has that name",
            FindError::OtherEvents => "the stage of that name takes events of another type",
        })
    }
}

impl std::error::Error for FindError {}

/// That a stage cannot feed another: that one feeds it already, perhaps by way of others.
///
/// In a circle of stages that wait for each other's room all may be full, and none would ever
/// be scheduled again. So one of the ways of a circle is not declared: what is offered there to
/// a full stage is given back, and the handler that offers decides.
///
/// ```
/// use mely_stage::{Circle, Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stages = Manager::new(&rt);
/// let b = stages.create("b", StageOptions::new(), |_| each(|_: u32| ()))?;
/// let to_b = StageOptions::new().feeds(&b.sink());
/// let a = stages.create("a", to_b, |_| each(|_: u32| ()))?;
/// assert_eq!(b.feed(&a.sink()), Err(Circle));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circle;

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stages would wait for each other's room in a circle")
    }
}

impl std::error::Error for Circle {}

/// Why a stage has not ended.
///
/// ```
/// assert!(mely_stage::Unended::InsideHandler.to_string().contains("handler"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unended {
    /// It was to be waited for in an event of a runtime, or in a handler of the stage itself,
    /// where waiting could wait for itself. It ends all the same.
    InsideHandler,
    /// The time passed. So many handlers had not returned; the stage ends when they do.
    TimedOut {
        /// Events that handlers have in hand.
        running: usize,
    },
}

impl fmt::Display for Unended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unended::InsideHandler => {
                f.write_str("waiting for a stage inside a handler could wait for itself")
            }
            Unended::TimedOut { running } => {
                write!(
                    f,
                    "the time passed with {running} events in the hands of handlers"
                )
            }
        }
    }
}

impl std::error::Error for Unended {}

/// A stage that was destroyed and has not ended, with the events that it gives back.
///
/// ```
/// # use std::time::Duration;
/// use mely_stage::{Ending, Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let log = Manager::new(&rt).create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
/// let unfinished = rt.new_color().call(move |_, _| {
///     log.destroy(Ending::Drain, Duration::from_secs(5)).unwrap_err().why
/// });
/// assert_eq!(unfinished.wait()?, mely_stage::Unended::InsideHandler);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Unfinished<E> {
    /// What was still in the queue, or had to be handed back from the beginning.
    pub events: Vec<E>,
    /// Why it has not ended.
    pub why: Unended,
}

impl<E> fmt::Debug for Unfinished<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unfinished")
            .field("events", &self.events.len())
            .field("why", &self.why)
            .finish()
    }
}

impl<E> fmt::Display for Unfinished<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; {} events are given back",
            self.why,
            self.events.len()
        )
    }
}

impl<E> std::error::Error for Unfinished<E> {}
