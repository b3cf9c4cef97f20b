//! Before a worker lies down it may let others run that wait for its core: on a server, and
//! with clients on the same machine, they are who brings it work.
//!
//! Whoever brings work to a sleeping worker has to wake it, and is often put off its core by
//! it; what it brings to one that waits for its core comes in one piece. But others may be
//! long, and bring nothing: a worker that sleeps gets its core back at once.

use core::cell::Cell;
use std::time::Duration;

/// A worker does so while it is woken sooner than this, on average: some times what lying
/// down and getting up take.
const SHORT_SLEEP: Duration = Duration::from_micros(200);

/// Longer sleeps are all the same.
const LONG_SLEEP: Duration = Duration::from_millis(2);

/// How much of the mean a sleep is: a part in so many.
const WEIGHT: u32 = 8;

/// Others that take so long are busy with something else: less than a slice of the kernel's,
/// and more than what clients do between two waits.
const LONG_TURN: Duration = Duration::from_millis(1);

/// How many times it lies down without after others took long: at first, and at the most.
const PAUSE_MIN: u32 = 16;
const PAUSE_MAX: u32 = 4096;

/// Whether a worker lets others run.
#[derive(Debug)]
pub(super) struct Courtesy {
    mean_sleep: Cell<Duration>,
    /// So many times not, yet.
    left: Cell<u32>,
    /// How long the next pause would be.
    pause: Cell<u32>,
}

impl Courtesy {
    pub(super) fn new() -> Self {
        Self {
            mean_sleep: Cell::new(LONG_SLEEP),
            left: Cell::new(0),
            pause: Cell::new(PAUSE_MIN),
        }
    }

    /// Before the worker lies down: whether others shall run now.
    pub(super) fn is_due(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left == 0 && self.mean_sleep.get() < short()
    }

    /// Others have run for so long.
    pub(super) fn note_turn(&self, turn: Duration) {
        let pause = self.pause.get();
        let next = match turn > LONG_TURN {
            true => {
                self.left.set(pause);
                PAUSE_MAX.min(pause * 2)
            }
            false => PAUSE_MIN.max(pause / 2),
        };
        self.pause.set(next);
    }

    /// The worker has slept for so long.
    pub(super) fn note_sleep(&self, slept: Duration) {
        let mean = self.mean_sleep.get();
        let mean = mean - mean / WEIGHT + slept.min(LONG_SLEEP) / WEIGHT;
        self.mean_sleep.set(mean);
    }
}

fn short() -> Duration {
    static T: std::sync::OnceLock<Duration> = std::sync::OnceLock::new();
    *T.get_or_init(|| std::env::var("MS").ok().and_then(|t| t.parse().ok()).map_or(SHORT_SLEEP, Duration::from_micros))
}
