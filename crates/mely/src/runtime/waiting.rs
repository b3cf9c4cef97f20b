//! What waits now, as far as it was noted.

use std::collections::HashSet;
use std::time::Duration;

use crate::cost::seats::UNMADE;
use crate::event::handler;
use crate::shared::Shared;

/// How many are told of.
const WAITING_MAX: usize = 16;

/// An event that waits.
///
/// Events that wait are seen if they were noted: all where few are posted, else a few
/// ([`Histogram`](crate::Histogram) says how many), and 16 of each worker and of the threads
/// outside at the most. What is not here may wait longer.
///
/// ```
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let color = rt.new_color();
/// let (entered, enters) = std::sync::mpsc::channel();
/// let (leave, leaves) = std::sync::mpsc::channel::<()>();
/// color.post(move |_, _| {
///     entered.send(()).ok();
///     leaves.recv().ok();
/// })?;
/// enters.recv()?;
/// color.post(|_, _| ())?; // behind it
/// let waiting = rt.metrics().waiting;
/// assert_eq!(waiting[0].color, Some(color.id()));
/// drop(leave);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The number of its color; `None` if it is to be the first of a new one.
    pub color: Option<u64>,
    /// The name of its handler, or of its closure's type.
    pub handler: &'static str,
    /// Since it was posted, or since its timer fired.
    pub age: Duration,
    /// Whether the color is pinned.
    pub is_pinned: bool,
}

/// Those that wait longest.
pub(super) fn longest(shared: &Shared) -> Vec<Waiting> {
    let mut sitters = Vec::new();
    let seats = shared.remotes.iter().map(|remote| &remote.seats);
    for seats in seats.chain([&shared.outside_seats]) {
        seats.look(|sitter| sitters.push(sitter));
    }
    if sitters.is_empty() {
        return Vec::new();
    }
    sitters.sort_by_key(|sitter| sitter.since_cycles);
    let mut colors = HashSet::new();
    // A color that is not made yet is another each time.
    sitters.retain(|sitter| sitter.color == UNMADE || colors.insert(sitter.color));
    sitters.truncate(WAITING_MAX);
    let (names, now_cycles) = (handler::names(), shared.clock.cycles());
    let waiting = sitters.into_iter().map(|sitter| {
        let waited_cycles = now_cycles.saturating_sub(sitter.since_cycles);
        Waiting {
            color: (sitter.color != UNMADE).then_some(sitter.color),
            handler: names.get(sitter.index).copied().unwrap_or("(other)"),
            age: shared.rate.duration_of(waited_cycles),
            is_pinned: sitter.is_pinned,
        }
    });
    waiting.collect()
}
