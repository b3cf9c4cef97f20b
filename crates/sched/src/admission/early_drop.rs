//! Refusing a few by chance before the queue is full.

use super::{Admission, Offer, Reason, unit, within};
use crate::nanos::Nanos;

/// How an [`EarlyDrop`] is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyDropOptions {
    /// Averaged length from which on some are refused.
    pub queued_min: f64,
    /// Averaged length from which on many are refused; all at twice that.
    pub queued_max: f64,
    /// The share that is refused at `queued_max`, 0 to 1.
    pub share_max: f64,
    /// How much the length at an offer weighs in the average, 0 to 1.
    pub weight: f64,
}

/// 5 and 15 events, 10 % and 0.002: what Sally Floyd recommends for gateways (*RED:
/// Discussions of Setting Parameters*, 1997), the longer queue being three times the shorter.
impl Default for EarlyDropOptions {
    fn default() -> Self {
        Self {
            queued_min: 5.0,
            queued_max: 15.0,
            share_max: 0.1,
            weight: 0.002,
        }
    }
}

impl EarlyDropOptions {
    /// The same with what makes no sense mended: no negative lengths, shares in 0 to 1.
    fn mended(self) -> Self {
        let share = |share: f64| within(0.0, 1.0, share);
        let queued_min = within(0.0, f64::MAX, self.queued_min);
        Self {
            queued_min,
            queued_max: within(queued_min, f64::MAX, self.queued_max),
            share_max: share(self.share_max),
            weight: share(self.weight),
        }
    }
}

/// Refuses by chance, the more the longer the queue has been.
///
/// Random early detection: Floyd and Jacobson, *Random Early Detection Gateways for
/// Congestion Avoidance* (IEEE/ACM Transactions on Networking 1(4), 1993), in its gentle form,
/// whose share goes on to 1 between `queued_max` and twice that. Refusals are spread: after
/// one the next is less likely for a while. The average follows the queue slowly, so bursts
/// pass; for the same reason it is late when load jumps.
///
/// ```
/// use mely_sched::admission::{Admission, EarlyDrop, EarlyDropOptions, Offer, Reason};
/// let options = EarlyDropOptions { weight: 1.0, ..EarlyDropOptions::default() };
/// let mut drop = EarlyDrop::new(options);
/// let offer = |queued| Offer { queued, chance: 1 << 63, ..Offer::default() };
/// assert_eq!(drop.offer(&offer(4)), Ok(()));
/// assert_eq!(drop.offer(&offer(31)), Err(Reason::Early));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EarlyDrop {
    options: EarlyDropOptions,
    average: f64,
    /// Admitted since the last refusal, while some are refused.
    spared: u32,
    last: Option<Nanos>,
    /// Between two offers, averaged like the queue; in nanoseconds.
    gap: f64,
}

impl EarlyDrop {
    /// With an empty queue behind it.
    pub fn new(options: EarlyDropOptions) -> Self {
        Self {
            options: options.mended(),
            average: 0.0,
            spared: 0,
            last: None,
            gap: 0.0,
        }
    }

    /// How it is set.
    pub fn options(&self) -> EarlyDropOptions {
        self.options
    }

    /// Sets it otherwise, from the next offer on; the average goes on.
    pub fn set_options(&mut self, options: EarlyDropOptions) {
        self.options = options.mended();
    }

    /// The averaged length of the queue.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The share that is refused at the averaged length, before refusals are spread.
    pub fn share(&self) -> f64 {
        let EarlyDropOptions {
            queued_min,
            queued_max,
            share_max,
            ..
        } = self.options;
        if self.average < queued_min {
            0.0
        } else if self.average < queued_max {
            share_max * (self.average - queued_min) / (queued_max - queued_min)
        } else if self.average < 2.0 * queued_max {
            share_max + (1.0 - share_max) * (self.average - queued_max) / queued_max
        } else {
            1.0
        }
    }

    fn observe(&mut self, now: Nanos, queued: u64) {
        let weight = self.options.weight;
        let gap = self.last.map_or(0.0, |last| now.since(last).as_f64());
        self.last = Some(self.last.map_or(now, |last| last.max(now)));
        // While the queue was empty nobody asked: as many offers as usually come in that
        // time would have found nothing.
        if queued == 0 && self.gap > 0.0 {
            self.average *= (1.0 - weight).powf(gap / self.gap);
        }
        self.gap += weight * (gap - self.gap);
        self.average += weight * (queued as f64 - self.average);
    }
}

impl Default for EarlyDrop {
    fn default() -> Self {
        Self::new(EarlyDropOptions::default())
    }
}

impl Admission for EarlyDrop {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        self.observe(offer.now, offer.queued);
        let share = self.share();
        if share <= 0.0 {
            self.spared = 0;
            return Ok(());
        }
        // Makes the distance of refusals uniform instead of geometric, section VII there.
        let left = 1.0 - f64::from(self.spared) * share;
        let spread = if left > share { share / left } else { 1.0 };
        if unit(offer.chance) < spread {
            self.spared = 0;
            Err(Reason::Early)
        } else {
            self.spared = self.spared.saturating_add(1);
            Ok(())
        }
    }
}
