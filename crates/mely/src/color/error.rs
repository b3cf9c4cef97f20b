//! What can go wrong when posting and calling.

use core::fmt;

/// Why an event was not accepted; the event is given back.
///
/// ```
/// use mely::PostError;
/// # let rt = mely::Runtime::builder().workers(1).build()?;
/// let color = rt.color_options().capacity(0).fresh()?;
/// let refused = color.try_post(|_, _| ()).unwrap_err();
/// assert!(matches!(refused, PostError::Full(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub enum PostError<F> {
    /// The color has as many pending events as it may have. Try again later, or
    /// shed the event.
    Full(F),
    /// The runtime is shutting down and takes no more events.
    Closed(F),
}

impl<F> PostError<F> {
    /// The event that was refused.
    pub fn into_event(self) -> F {
        match self {
            PostError::Full(event) | PostError::Closed(event) => event,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            PostError::Full(_) => {
                "the color is full: it has as many pending events as its capacity"
            }
            PostError::Closed(_) => "the runtime has been shut down and takes no more events",
        }
    }
}

impl<F> fmt::Debug for PostError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            PostError::Full(_) => "Full",
            PostError::Closed(_) => "Closed",
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallError {
    /// The color had as many pending events as it may have.
    Full,
    /// The runtime has been shut down.
    Closed,
    /// The event was dropped before it ran: by a shutdown, or because an earlier
    /// panic poisoned the color.
    Dropped,
    /// The event panicked.
    Panicked,
    /// A blocking call was made inside a handler of the same runtime, or of one that it
    /// waits for, where waiting could wait for itself.
    InsideHandler,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CallError::Full => "the color is full: it has as many pending events as its capacity",
            CallError::Closed => "the runtime has been shut down and takes no more events",
            CallError::Dropped => {
                "the event was dropped before it ran: the runtime shut down, or a panic poisoned its color"
            }
            CallError::Panicked => "the event panicked; its message went to the panic hook",
            CallError::InsideHandler => {
                "a blocking call inside a handler could wait for itself; \
                 use `post`, or await a `call` in a task"
            }
        })
    }
}

impl std::error::Error for CallError {}

impl<F> From<&PostError<F>> for CallError {
    fn from(error: &PostError<F>) -> Self {
        match error {
            PostError::Full(_) => CallError::Full,
            PostError::Closed(_) => CallError::Closed,
        }
    }
}
