//! What an event calls, as those who keep and run events see it.
#![allow(unsafe_code)]

use super::{Event, Place, StatePtr};

/// What an event takes of the room of a bounded color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A place of those for data.
    Data,
    /// One of those for control.
    Control,
    /// None: it is posted at most once, and only the runtime posts such.
    Nothing,
}

/// What an event calls. The layer of colors says what closures are, and what they are told.
pub(crate) trait Call<T>: Send + 'static {
    /// What it takes of the room of a bounded color.
    const TAKES: Takes = Takes::Data;
    /// The event that it holds and runs, if it stands for another one.
    const HELD: Option<fn(&Self) -> &Event> = None;

    /// Calls it on the state of the color.
    ///
    /// # Safety
    ///
    /// As for [`Event::run`], of an event that was made with this state.
    unsafe fn call(self, state: StatePtr<T>, place: Place<'_>);
}
