//! Ticks at equal distances.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::{Sleep, after, sleep_until};
use crate::error::Error;

/// A shorter period would be nothing but ticks.
const PERIOD_MIN: Duration = Duration::from_micros(1);

/// What an [`Interval`] does about ticks that were missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissedTickBehavior {
    /// Ticks that were missed come at once, one after the other.
    #[default]
    Burst,
    /// The next tick comes a period after the late one.
    Delay,
    /// Ticks that were missed do not come; the next one comes when it would have come.
    Skip,
}

/// Ticks at equal distances ([`interval`], [`interval_at`]).
#[derive(Debug)]
pub struct Interval {
    sleep: Sleep,
    period: Duration,
    missed: MissedTickBehavior,
}

/// Ticks at once, and then once a period. A period below 1 µs is taken as 1 µs.
///
/// ```
/// use std::time::Duration;
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let ticks = rt.new_color().spawn(async {
///     let mut interval = mely_async::interval(Duration::from_millis(1));
///     let first = interval.tick().await?;
///     Ok::<_, mely_async::Error>((first, interval.tick().await?))
/// });
/// let (first, second) = ticks.wait()??;
/// assert_eq!(second - first, Duration::from_millis(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Ticks at `start`, and then once a period.
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    Interval {
        sleep: sleep_until(start),
        period: period.max(PERIOD_MIN),
        missed: MissedTickBehavior::default(),
    }
}

impl Interval {
    /// Waits for the next tick, and tells when it was due.
    ///
    /// No tick is lost where the future is dropped.
    ///
    /// # Errors
    ///
    /// As for [`Sleep`].
    pub async fn tick(&mut self) -> Result<Instant, Error> {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Polls for the next tick.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Result<Instant, Error>> {
        ready!(Pin::new(&mut self.sleep).poll(cx)?);
        let due = self.sleep.deadline();
        let next = self.next(due, Instant::now());
        self.sleep.reset(next);
        Poll::Ready(Ok(due))
    }

    fn next(&self, due: Instant, now: Instant) -> Instant {
        let next = after(due, self.period);
        if now <= next {
            return next;
        }
        match self.missed {
            MissedTickBehavior::Burst => next,
            MissedTickBehavior::Delay => after(now, self.period),
            MissedTickBehavior::Skip => {
                let late = now.saturating_duration_since(due).as_nanos();
                let over = late % self.period.as_nanos();
                // A remainder that does not fit is one of centuries.
                let over = Duration::from_nanos(u64::try_from(over).unwrap_or(u64::MAX));
                after(now, self.period.saturating_sub(over))
            }
        }
    }

    /// The next tick comes a period from now.
    pub fn reset(&mut self) {
        self.sleep.reset(after(Instant::now(), self.period));
    }

    /// The distance of two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// What it does about ticks that were missed.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Says what to do about ticks that were missed.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_ticks_come_at_once_later_or_never() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut ticks = interval_at(start, Duration::from_millis(10));
        assert_eq!(ticks.next(start, at(3)), at(10));
        assert_eq!(ticks.next(start, at(35)), at(10));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        assert_eq!(ticks.next(start, at(35)), at(45));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        assert_eq!(ticks.next(start, at(35)), at(40));
        assert_eq!(ticks.next(start, at(40)), at(50));
    }

    #[test]
    fn no_period_is_a_short_one() {
        assert_eq!(interval(Duration::ZERO).period(), PERIOD_MIN);
    }
}
