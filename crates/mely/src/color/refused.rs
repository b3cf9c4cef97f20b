//! Why a color refuses an event, and the way back of that.
#![allow(unsafe_code)]

use crate::color::error::PostError;
use crate::event::Event;
use crate::shared::ColorRef;
use crate::shared::admission::Refusal;

/// The closure of an event that a color which was stopped has refused.
///
/// # Safety
///
/// The event was made with it.
#[cold]
#[inline(never)]
pub(super) unsafe fn given_back<T, F>(color: &ColorRef, refused: Event) -> PostError<F> {
    // SAFETY: the caller's word.
    let event = unsafe { refused.into_call::<T, F>() };
    not_admitted(color, Refusal::Closed, event)
}

/// Why an event was refused. A color that was stopped will have room no more.
#[cold]
pub(super) fn not_admitted<F>(color: &ColorRef, refusal: Refusal, event: F) -> PostError<F> {
    match refusal {
        Refusal::Full if !color.is_stopped() => PostError::Full(event),
        Refusal::Full | Refusal::Closed if color.is_poisoned() => PostError::Poisoned(event),
        Refusal::Full | Refusal::Closed => PostError::Closed(event),
    }
}
