//! What can go wrong when posting and calling.

use core::fmt;

use crate::machine::way_out::way_out;

const POISONED: &str = "a panic in an event of the color has poisoned it: it takes no more events";

const CLOSED: &str =
    "the runtime has been shut down, or the color stopped: it takes no more events";

/// Why an event was not accepted; the event is given back.
///
/// ```
/// use mely::PostError;
/// # let rt = mely::Runtime::builder().workers(1).build()?;
/// let color = rt.color_options().capacity(0).new_color()?;
/// let refused = color.post(|_, _| ()).unwrap_err();
/// assert!(matches!(refused, PostError::Full(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[non_exhaustive]
pub enum PostError<F> {
    /// The color has as many pending events as it may have. Try again later, or
    /// shed the event.
    Full(F),
    /// The runtime is shutting down, or the color was [stopped](crate::Colored::stop): it takes
    /// no more events.
    Closed(F),
    /// An event of the color panicked, and [poisoned](crate::OnPanic) it: it takes no more.
    Poisoned(F),
}

impl<F> PostError<F> {
    /// The event that was refused.
    pub fn into_event(self) -> F {
        match self {
            PostError::Full(event) | PostError::Closed(event) | PostError::Poisoned(event) => event,
        }
    }

    /// The same error without the event, which is dropped: it is `Send` and `Sync` whatever
    /// the closure has captured, as an error must be of which `?` makes a boxed one, or one of
    /// `anyhow`'s.
    ///
    /// ```
    /// # use std::sync::mpsc;
    /// type AnyError = Box<dyn std::error::Error + Send + Sync>;
    ///
    /// fn note(sum: &mely::Colored<u64>, more: mpsc::Receiver<u64>) -> Result<(), AnyError> {
    ///     // A `Receiver` is not `Sync`, nor is a closure that has one.
    ///     let posted = sum.post(move |sum, _cx| *sum += more.iter().sum::<u64>());
    ///     Ok(posted.map_err(mely::PostError::without_event)?)
    /// }
    ///
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let full = rt.color_options().capacity(0).colored(0)?;
    /// let (_tell, told) = mpsc::channel();
    /// assert!(note(&full, told).unwrap_err().is::<mely::PostError<()>>());
    /// # Ok::<(), AnyError>(())
    /// ```
    pub fn without_event(self) -> PostError<()> {
        self.map(drop)
    }

    /// The same, of another event.
    pub(crate) fn map<E>(self, make: impl FnOnce(F) -> E) -> PostError<E> {
        match self {
            PostError::Full(event) => PostError::Full(make(event)),
            PostError::Closed(event) => PostError::Closed(make(event)),
            PostError::Poisoned(event) => PostError::Poisoned(make(event)),
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            PostError::Full(_) => {
                "the color is full: it has as many pending events as its capacity"
            }
            PostError::Closed(_) => CLOSED,
            PostError::Poisoned(_) => POISONED,
        }
    }
}

impl<F> fmt::Debug for PostError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            PostError::Full(_) => "Full",
            PostError::Closed(_) => "Closed",
            PostError::Poisoned(_) => "Poisoned",
        };
        f.debug_tuple(name).finish_non_exhaustive()
    }
}

impl<F> fmt::Display for PostError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl<F> std::error::Error for PostError<F> {}

/// Why a call has no result.
///
/// ```
/// # let rt = mely::Runtime::builder().workers(1).build()?;
/// let color = rt.colored(vec![1]);
/// let failed = color.try_blocking_with(|list| list[7]).unwrap_err();
/// assert!(failed.to_string().contains("index is 7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallError {
    /// The color had as many pending events as it may have.
    Full,
    /// The runtime has been shut down, or the color was stopped.
    Closed,
    /// An earlier panic has poisoned the color.
    Poisoned,
    /// The event was dropped before it ran: by a shutdown, because the color was stopped, or
    /// because an earlier panic poisoned it.
    Dropped,
    /// The event panicked, with this message. Where that is Tokio's, which lacks its runtime,
    /// what this displays adds the way out.
    Panicked(Box<str>),
    /// A blocking call was made inside a handler of the same runtime, or of one that it
    /// waits for, where waiting could wait for itself.
    InsideHandler,
    /// The state of a color was asked for outside of the task that it was given to.
    OutsideTask,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            CallError::Full => "the color is full: it has as many pending events as its capacity",
            CallError::Closed => CLOSED,
            CallError::Poisoned => POISONED,
            CallError::Dropped => {
                "the event was dropped before it ran: the runtime shut down, or its color was stopped \
                 or poisoned by a panic"
            }
            CallError::Panicked(message) => {
                write!(f, "the event panicked: {message}")?;
                return way_out(message).map_or(Ok(()), |way_out| write!(f, "; {way_out}"));
            }
            CallError::InsideHandler => {
                "a blocking call inside a handler could wait for itself; \
                 use `post`, or await a `call` in a task"
            }
            CallError::OutsideTask => {
                "the state of a task is reached only while that very task is polled: \
                 not by other tasks, events, threads or destructors"
            }
        };
        f.write_str(text)
    }
}

impl std::error::Error for CallError {}

impl<F> From<&PostError<F>> for CallError {
    fn from(error: &PostError<F>) -> Self {
        match error {
            PostError::Full(_) => CallError::Full,
            PostError::Closed(_) => CallError::Closed,
            PostError::Poisoned(_) => CallError::Poisoned,
        }
    }
}
