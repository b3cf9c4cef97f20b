//! What became of the requests of a timetable.

use std::time::Duration;

use crate::contenders::staged::answer::Fate;

/// Percentiles over time are of so long.
pub(crate) const WINDOW: Duration = Duration::from_millis(10);

/// A load is served as it should be from when so many windows in a row are in time.
const CALM: usize = 50;

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// When it was to be sent, since the beginning.
    pub(crate) due: Duration,
    /// When something came back, and what.
    pub(crate) told: Option<(Duration, Fate)>,
}

impl Asked {
    fn wait_for(&self, wanted: Fate) -> Option<Duration> {
        self.told
            .filter(|(_, fate)| *fate == wanted)
            .map(|(at, _)| at.saturating_sub(self.due))
    }
}

/// What became of the requests that were due in some time.
#[derive(Clone, Debug)]
pub(crate) struct Told<'a> {
    asked: &'a [Asked],
    from: Duration,
    long: Duration,
}

impl<'a> Told<'a> {
    /// Of requests in the order in which they were due.
    pub(crate) fn of(asked: &'a [Asked], from: Duration, long: Duration) -> Self {
        let begin = asked.partition_point(|asked| asked.due < from);
        let end = asked.partition_point(|asked| asked.due < from + long);
        Self {
            asked: &asked[begin..end],
            from,
            long,
        }
    }

    /// A number as what happened in a second.
    fn rate(&self, number: usize) -> f64 {
        number as f64 / self.long.as_secs_f64()
    }

    /// Requests a second.
    pub(crate) fn offered(&self) -> f64 {
        self.rate(self.asked.len())
    }

    /// Requests a second that were answered within a target.
    pub(crate) fn goodput(&self, target: Duration) -> f64 {
        let answered = self.waits(Fate::Answered);
        self.rate(answered.iter().filter(|wait| **wait <= target).count())
    }

    /// The share of the requests of which this became.
    pub(crate) fn share(&self, fate: Fate) -> f64 {
        self.waits(fate).len() as f64 / self.asked.len().max(1) as f64
    }

    /// How many requests nothing came back of.
    pub(crate) fn untold(&self) -> usize {
        let untold = self.asked.iter().filter(|asked| asked.told.is_none());
        untold.count()
    }

    /// How long those waited of which this became, in order.
    fn waits(&self, fate: Fate) -> Vec<Duration> {
        let waits = self.asked.iter().filter_map(|asked| asked.wait_for(fate));
        let mut waits: Vec<_> = waits.collect();
        waits.sort_unstable();
        waits
    }

    /// The wait, in milliseconds, that so large a share of them does not exceed.
    pub(crate) fn wait_ms(&self, fate: Fate, share: f64) -> Option<f64> {
        at(&self.waits(fate), share).map(ms)
    }

    /// From when on the 99th percentile of responses is within the target, in milliseconds since
    /// the beginning: for half a second in a row, as later windows that are late may be of other
    /// programs. Windows in which nothing was answered are late.
    pub(crate) fn recovery_ms(&self, target: Duration) -> Option<f64> {
        let windows = (self.long.as_nanos() / WINDOW.as_nanos()) as u32;
        let is_calm = |number: u32| {
            let here = Told::of(self.asked, self.from + WINDOW * number, WINDOW);
            let late = at(&here.waits(Fate::Answered), 0.99).is_none_or(|p99| p99 > target);
            !late
        };
        let mut calm = 0;
        for number in 0..windows {
            calm = if is_calm(number) { calm + 1 } else { 0 };
            if calm == CALM {
                return Some(ms(WINDOW * (number + 1 - CALM as u32)));
            }
        }
        None
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Of ordered waits the one that so large a share does not exceed.
fn at(waits: &[Duration], share: f64) -> Option<Duration> {
    let count = (waits.len() as f64 * share).ceil() as usize;
    waits.get(count.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A request each millisecond, which is answered after so many.
    fn asked(waits: impl IntoIterator<Item = u32>) -> Vec<Asked> {
        let asked = |(due, wait): (u32, u32)| Asked {
            due: MS * due,
            told: Some((MS * (due + wait), Fate::Answered)),
        };
        (0..).zip(waits).map(asked).collect()
    }

    #[test]
    fn waits_are_those_since_a_request_was_due() {
        let mut asked = asked([1, 2, 3, 400]);
        asked[1].told = Some((MS * 9, Fate::Refused));
        asked[2].told = None;
        let told = Told::of(&asked, Duration::ZERO, MS * 4);
        assert_eq!(told.offered(), 1000.0);
        assert_eq!(told.goodput(MS * 100), 250.0);
        assert_eq!(told.wait_ms(Fate::Answered, 0.99), Some(400.0));
        assert_eq!(told.wait_ms(Fate::Refused, 0.5), Some(8.0));
        assert_eq!(told.wait_ms(Fate::Expired, 0.5), None);
        assert_eq!((told.untold(), told.share(Fate::Refused)), (1, 0.25));
        assert_eq!(Told::of(&asked, MS * 3, MS * 4).offered(), 250.0);
    }

    #[test]
    fn recovery_is_the_beginning_of_half_a_second_in_time() {
        let late_for = |late: u32| asked((0..1000).map(move |n| if n < late { 99 } else { 1 }));
        let recovery = |asked: &[Asked]| {
            let told = Told::of(asked, Duration::ZERO, MS * 1000);
            told.recovery_ms(MS * 20)
        };
        assert_eq!(recovery(&late_for(0)), Some(0.0));
        assert_eq!(recovery(&late_for(101)), Some(110.0));
        assert_eq!(recovery(&late_for(501)), None);
        assert_eq!(recovery(&[]), None);
    }
}
