//! Spans of `tracing`: what is posted inside one runs inside it. Without the feature of that
//! name there are none, and nothing of this is left in a program.
//!
//! What a subscriber does when it is told of a span is the program's, and may post and panic.
//! So the span is taken before an event is admitted, and entered where panics are caught; one
//! that a refused event had is left only when that has been counted.

#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

#[cfg(not(feature = "tracing"))]
pub(super) use self::off::Inside;
#[cfg(feature = "tracing")]
pub(super) use self::on::Inside;
