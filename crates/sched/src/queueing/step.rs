//! Demand that jumps above what the servers can do.

use super::{Observer, Phase, Station};
use crate::admission::{AdmissionChain, Reason};
use crate::nanos::Nanos;

/// The experiment: half of what a station can do for a while, then a multiple of it.
///
/// *Overload Control for µs-scale RPCs with Breakwater* (OSDI 2020), section 6, with a jump to
/// 1.4 times. It is run several times from different seeds, as one run of slow events has too
/// few of them for percentiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The servers.
    pub station: Station,
    /// How long a response may take to be of use.
    pub target: Nanos,
    /// Demand after the jump, as a multiple of what the servers can do.
    pub demand: f64,
    /// How long demand is low before the jump.
    pub before: Nanos,
    /// How long it is high.
    pub after: Nanos,
    /// Over how long a percentile is taken.
    pub window: Nanos,
    /// From how many seeds it is run.
    pub seeds: u64,
}

/// What became of the events after the jump.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// Responses in time, as a share of what the servers can do.
    pub goodput: f64,
    /// The same in the last quarter of the time.
    pub goodput_late: f64,
    /// The 99th percentile of all responses.
    pub p99: Nanos,
    /// The same in the last quarter of the time.
    pub p99_late: Nanos,
    /// How long after the jump the 99th percentile of a window was last above the target;
    /// none if it is at the end.
    pub recovered: Option<Nanos>,
    /// The share of the events that was refused when it was offered.
    pub refused: f64,
    /// The share of the events that was shed when it was taken.
    pub shed: f64,
}

impl Step {
    /// Demand of half of the capacity before the jump.
    const DEMAND_BEFORE: f64 = 0.5;

    /// A jump to 1.4 times the capacity.
    ///
    /// Lasts five seconds for events of more than 100 µs, or two, from so many seeds that the
    /// percentile of each 5 ms is one of four thousand events with one server.
    pub fn new(station: Station, target: Nanos) -> Self {
        let is_slow = station.service.mean() > Nanos::from_micros(100);
        Self {
            station,
            target,
            demand: 1.4,
            before: Nanos::from_millis(if is_slow { 1_000 } else { 200 }),
            after: Nanos::from_secs(if is_slow { 5 } else { 2 }),
            window: Nanos::from_millis(5),
            seeds: if is_slow { 800 } else { 8 },
        }
    }

    /// Runs it with a new chain from each seed.
    pub fn run(&self, chain: impl Fn() -> AdmissionChain) -> StepReport {
        let capacity = self.station.capacity();
        let end = self.before.after(self.after);
        let load = [
            Phase {
                until: self.before,
                rate: capacity * Self::DEMAND_BEFORE,
            },
            Phase {
                until: end,
                rate: capacity * self.demand,
            },
        ];
        let mut watch = Watch::new(self);
        for seed in 0..self.seeds {
            self.station.run(&load, seed, &mut chain(), &mut watch);
        }
        watch.report()
    }
}

/// Responses by window, of all seeds together.
struct Watch<'a> {
    step: &'a Step,
    windows: Vec<Vec<Nanos>>,
    refused: u64,
    shed: u64,
}

impl<'a> Watch<'a> {
    fn new(step: &'a Step) -> Self {
        let windows = step.after.get().div_ceil(step.window.get().max(1));
        Self {
            step,
            windows: vec![Vec::new(); usize::try_from(windows).unwrap_or(1).max(1)],
            refused: 0,
            shed: 0,
        }
    }

    fn report(mut self) -> StepReport {
        let target = self.step.target;
        let mut recovered = 0;
        for (number, window) in (1..).zip(&mut self.windows) {
            if percentile_99(window) > target {
                recovered = number;
            }
        }
        let all = self.windows.len();
        let late = &self.windows[all - all.div_ceil(4)..];
        let whole = self.share_in_time(&self.windows);
        let answered: u64 = self.windows.iter().map(|window| window.len() as u64).sum();
        let offered = (answered + self.refused + self.shed).max(1) as f64;
        StepReport {
            goodput: whole,
            goodput_late: self.share_in_time(late),
            p99: percentile_99(&mut self.windows.concat()),
            p99_late: percentile_99(&mut late.concat()),
            recovered: (recovered < all).then(|| self.step.window.times(recovered as u64)),
            refused: self.refused as f64 / offered,
            shed: self.shed as f64 / offered,
        }
    }

    fn share_in_time(&self, windows: &[Vec<Nanos>]) -> f64 {
        let in_time = |window: &Vec<Nanos>| {
            let responses = window.iter();
            responses.filter(|&&time| time <= self.step.target).count()
        };
        let good: usize = windows.iter().map(in_time).sum();
        let time = self
            .step
            .window
            .times(windows.len() as u64 * self.step.seeds);
        good as f64 / (self.step.station.capacity() * time.as_secs_f64())
    }

    fn is_after_the_jump(&self, now: Nanos) -> bool {
        now >= self.step.before
    }
}

impl Observer for Watch<'_> {
    fn answered(&mut self, now: Nanos, response: Nanos) {
        if self.is_after_the_jump(now) {
            let window = now.since(self.step.before).get() / self.step.window.get().max(1);
            let last = self.windows.len() - 1;
            self.windows[last.min(window as usize)].push(response);
        }
    }

    fn refused(&mut self, now: Nanos, waited: Nanos, _reason: Reason) {
        if !self.is_after_the_jump(now) {
            return;
        }
        match waited {
            Nanos::ZERO => self.refused += 1,
            _ => self.shed += 1,
        }
    }
}

/// Nothing answered counts as nothing late: what is missing shows in the goodput.
fn percentile_99(times: &mut [Nanos]) -> Nanos {
    let Some(last) = times.len().checked_sub(1) else {
        return Nanos::ZERO;
    };
    let (_, percentile, _) = times.select_nth_unstable(last * 99 / 100);
    *percentile
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Rate, Threshold, TokenBucket};
    use crate::queueing::Service;

    /// Of events that take 10 µs or 1 ms; fewer of them than the experiment has.
    fn steps() -> [Step; 2] {
        [10, 1_000].map(|micros| {
            let mean = Nanos::from_micros(micros);
            let station = Station::new(1, Service::Exponential(mean));
            let seeds = if micros == 10 { 2 } else { 100 };
            Step {
                seeds,
                after: Nanos::from_secs(1),
                window: Nanos::from_millis(25),
                ..Step::new(station, mean.times(20))
            }
        })
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
    fn without_a_policy_a_step_never_ends() {
        for step in steps() {
            let report = step.run(AdmissionChain::new);
            assert_eq!(report.recovered, None, "{report:?}");
            assert!(report.goodput_late < 0.01, "{report:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
    fn within_a_target_nearly_all_of_the_capacity_is_used_in_time() {
        for step in steps() {
            let report = step.run(|| AdmissionChain::within(step.target));
            let in_time = report
                .recovered
                .is_some_and(|time| time < Nanos::from_millis(50));
            assert!(in_time, "{report:?}");
            assert!(report.goodput > 0.95, "{report:?}");
            assert!(report.p99 < step.target, "{report:?}");
            assert!(report.refused > 5.0 * report.shed, "{report:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
    fn a_queue_of_a_known_length_does_what_theory_says() {
        // M/M/1/K with ten that wait: it is idle for 0.4 / (1.4^12 - 1) of the time.
        for step in steps() {
            let report = step.run(|| AdmissionChain::new().and(Threshold::new(10)));
            let idle = 0.4 / (1.4_f64.powi(12) - 1.0);
            let admitted = (1.0 - idle) / 1.4;
            assert!((1.0 - report.refused - admitted).abs() < 0.01, "{report:?}");
            assert_eq!(report.shed, 0.0);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
    fn a_rate_below_capacity_is_what_gets_through() {
        for step in steps() {
            let rate = Rate::per_second(0.5 * step.station.capacity());
            let report = step.run(|| AdmissionChain::new().and(TokenBucket::new(rate, 1)));
            // Two events' time until there is a token, and until the next event comes.
            let theory = 1.0 / (2.0 + 1.0 / 1.4);
            assert!((report.goodput - theory).abs() < 0.01, "{report:?}");
            assert_eq!(report.recovered, Some(Nanos::ZERO));
        }
    }
}
