//! Room for events on bounded colors.

use super::{ColorRef, Realm};

/// How an event takes its place among the pending events of a bounded color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// If there is room.
    IfAny,
    /// The color is not bounded: it is not even looked at.
    Unbounded,
    /// In any case: what the runtime itself posts (readiness, a wake-up of a task)
    /// comes only once and must not be lost.
    Always,
    /// If there is room, but later: a delayed event takes its place when it is due,
    /// full or not.
    Later,
}

impl Room {
    /// Takes the place, if there is room for the event.
    #[inline]
    pub(crate) fn take<R: Realm>(self, color: &ColorRef<R>) -> bool {
        match self {
            Room::Unbounded => true,
            Room::IfAny => color.reserve(),
            Room::Always => {
                color.reserve_always();
                true
            }
            Room::Later => color.has_room(),
        }
    }
}
