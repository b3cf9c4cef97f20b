//! What others see of noted events that wait.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize, fence};

/// How many events of one poster are seen waiting.
const SEATS: usize = 16;

/// How many of one color: others are to be seen, too.
const SEATS_OF_COLOR: usize = 4;

/// Nobody has the seat.
const FREE: u64 = 0;
/// Somebody is about to take it.
const TAKEN: u64 = 1;

/// The number of a color that is not made yet.
pub(crate) const UNMADE: u64 = u64::MAX;

/// An event that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sitter {
    /// Since when, by the cycle counter.
    pub(crate) since_cycles: u64,
    /// The number of its color, or [`UNMADE`].
    pub(crate) color: u64,
    pub(crate) is_pinned: bool,
    /// Of its handler.
    pub(crate) index: usize,
}

/// Places for events that wait, of a worker or of all threads outside.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    since: [AtomicU64; SEATS],
    colors: [AtomicU64; SEATS],
    /// The handler, and whether the color is pinned.
    about: [AtomicU64; SEATS],
    /// Where one was taken last.
    last: AtomicUsize,
}

impl Seats {
    /// Takes a seat if one is free and the color has not its share: which.
    pub(crate) fn take(self: &Arc<Self>, sitter: Sitter) -> Option<usize> {
        // Relaxed, here and below: what is written between two fences is read so, and else it is
        // a hint.
        let is_free = |seat: &usize| self.since[*seat].load(Relaxed) == FREE;
        let same = |seat: &usize| self.colors[*seat].load(Relaxed) == sitter.color;
        let taken = (0..SEATS).filter(|seat| !is_free(seat));
        if taken.filter(same).count() >= SEATS_OF_COLOR {
            return None;
        }
        let last = self.last.load(Relaxed);
        let seat = (1..=SEATS)
            .map(|next| (last + next) % SEATS)
            .find(is_free)?;
        // Acquire pairs with the release in `leave`.
        let since = &self.since[seat];
        since.compare_exchange(FREE, TAKEN, Acquire, Relaxed).ok()?;
        self.last.store(seat, Relaxed);
        // Release pairs with the fence in `look`: who reads what follows reads that it is taken.
        fence(Release);
        self.colors[seat].store(sitter.color, Relaxed);
        let about = (sitter.index as u64) << 1 | u64::from(sitter.is_pinned);
        self.about[seat].store(about, Relaxed);
        // Release pairs with the acquire in `look`.
        since.store(sitter.since_cycles.max(TAKEN + 1), Release);
        Some(seat)
    }

    /// Gives up a seat.
    pub(crate) fn leave(&self, seat: usize) {
        self.since[seat].store(FREE, Release);
    }

    /// Shows those that wait now.
    pub(crate) fn look(&self, mut show: impl FnMut(Sitter)) {
        for seat in 0..SEATS {
            let since_cycles = self.since[seat].load(Acquire);
            if since_cycles <= TAKEN {
                continue;
            }
            let color = self.colors[seat].load(Relaxed);
            let about = self.about[seat].load(Relaxed);
            // Acquire pairs with the fence in `take`: what was read is of this one, or the seat
            // is another's now.
            fence(Acquire);
            if self.since[seat].load(Relaxed) == since_cycles {
                show(Sitter {
                    since_cycles,
                    color,
                    is_pinned: about % 2 == 1,
                    index: (about >> 1) as usize,
                });
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn sitter(color: u64) -> Sitter {
        Sitter {
            since_cycles: 1_000 + color,
            color,
            is_pinned: color % 2 == 1,
            index: color as usize,
        }
    }

    fn seen(seats: &Seats) -> Vec<Sitter> {
        let mut seen = Vec::new();
        seats.look(|sitter| seen.push(sitter));
        seen.sort_by_key(|sitter| sitter.color);
        seen
    }

    #[test]
    fn those_who_sit_are_seen_until_they_leave() {
        let seats = Arc::new(Seats::default());
        let taken: Vec<_> = (0..20).map(|n| seats.take(sitter(n))).collect();
        assert_eq!(taken.iter().flatten().count(), SEATS);
        assert_eq!(seen(&seats), (0..16).map(sitter).collect::<Vec<_>>());
        seats.leave(taken[3].expect("there was room"));
        assert_eq!(seen(&seats).len(), SEATS - 1);
        assert!(seats.take(sitter(30)).is_some() && seats.take(sitter(31)).is_none());
    }

    #[test]
    fn a_color_leaves_room_for_others() {
        let seats = Arc::new(Seats::default());
        let taken = (0..9).filter_map(|_| seats.take(sitter(7))).count();
        assert_eq!(taken, SEATS_OF_COLOR);
        assert!(seats.take(sitter(8)).is_some());
    }

    /// Each is seen as it is, by whoever looks meanwhile.
    #[test]
    fn nobody_is_taken_for_another() {
        let seats = Arc::new(Seats::default());
        let rounds = if cfg!(miri) { 200 } else { 100_000 };
        std::thread::scope(|scope| {
            for poster in 0..2 {
                let seats = &seats;
                scope.spawn(move || {
                    for round in 0..rounds {
                        if let Some(seat) = seats.take(sitter(2 * round + poster)) {
                            seats.leave(seat);
                        }
                    }
                });
            }
            for _ in 0..rounds / 20 {
                seats.look(|seen| assert_eq!(seen, sitter(seen.color)));
            }
        });
        assert_eq!(seen(&seats), []);
    }
}
