//! Programs without a line of `unsafe` that do in the worst place what the interface
//! lets them do: each broke a runtime once.

mod destructors;
mod endings;
mod memory;
mod outside;
mod posts;
mod waiting;
