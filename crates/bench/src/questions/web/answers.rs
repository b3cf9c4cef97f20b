//! What clients saw of a server.

/// What a run of the load saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Answers {
    pub(super) requests: u64,
    pub(super) seconds: f64,
    /// Of all requests but one in a hundred, the longest wait for an answer.
    pub(super) p99_us: f64,
    /// Connections that broke, answers that are none, and those that never came.
    pub(super) errors: u64,
}
