use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::admission::AdmissionChain;
use crate::queueing::{Observer, Phase, Sample, Service, Station};

/// A stage whose threads a governor sets, and what it did.
struct Governed {
    governor: Governor,
    threads: Vec<(Nanos, u32)>,
    queued: Vec<u64>,
}

impl Governed {
    fn new(options: GovernorOptions) -> Self {
        Self {
            governor: Governor::new(options),
            threads: Vec::new(),
            queued: Vec::new(),
        }
    }

    fn changes_after(&self, time: Nanos) -> usize {
        let late = self.threads.iter().filter(|(at, _)| *at > time);
        late.count()
    }
}

impl Observer for Governed {
    fn sampled(&mut self, sample: &Sample) -> u32 {
        let resize = self.governor.look(&StageLoad {
            now: sample.now,
            queued: sample.queued,
            arrived: sample.arrived,
            completed: sample.completed,
            busy: sample.busy,
        });
        if resize != Resize::Keep {
            self.threads.push((sample.now, self.governor.threads()));
        }
        self.queued.push(sample.queued);
        self.governor.threads()
    }
}

/// A share `p` of the events blocks for `block`, and the rest takes a microsecond.
fn governed(phases: &[(u64, f64)], share: f64, block: Nanos, seed: u64) -> Governed {
    let service = Service::Mixed {
        share,
        long: block,
        short: Nanos::from_micros(1),
    };
    let station = Station::new(1, service);
    let phases: Vec<_> = phases
        .iter()
        .map(|&(secs, rate)| Phase {
            until: Nanos::from_secs(secs),
            rate,
        })
        .collect();
    let mut governed = Governed::new(GovernorOptions::default());
    station.run(&phases, seed, &mut AdmissionChain::new(), &mut governed);
    governed
}

proptest! {
    #[test]
    fn whatever_it_is_told_the_threads_stay_in_bounds(
        looks in vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 0..60),
        (min, max) in (any::<u32>(), any::<u32>()),
        (period, queued_max) in (any::<u64>(), any::<u64>()),
    ) {
        let options = GovernorOptions {
            period: Nanos::new(period),
            queued_max,
            threads_min: min,
            threads_max: max,
            idle_periods: 0,
        };
        let mut governor = Governor::new(options);
        for (now, queued, arrived, completed, busy) in looks {
            let before = governor.threads();
            let resize = governor.look(&StageLoad {
                now: Nanos::new(now),
                queued,
                arrived,
                completed,
                busy: Nanos::new(busy),
            });
            let expected = match resize {
                Resize::Keep => before,
                Resize::Add => before + 1,
                Resize::Remove => before - 1,
            };
            prop_assert_eq!(governor.threads(), expected);
            let options = governor.options();
            prop_assert!((options.threads_min..=options.threads_max).contains(&expected));
            prop_assert!(governor.load() >= 0.0);
        }
    }

    #[test]
    fn options_that_change_bring_the_threads_into_bounds(
        min in any::<u32>(), max in any::<u32>(),
    ) {
        let mut governor = Governor::default();
        governor.set_options(GovernorOptions {
            threads_min: min,
            threads_max: max,
            ..GovernorOptions::default()
        });
        let options = governor.options();
        prop_assert!((options.threads_min..=options.threads_max).contains(&governor.threads()));
    }
}

#[test]
#[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
fn the_router_of_the_slides_gets_three_threads_and_keeps_them() {
    for seed in 0..20 {
        let run = governed(&[(120, 1_000.0)], 0.15, Nanos::from_millis(20), seed);
        let threads: Vec<_> = run.threads.iter().map(|(_, threads)| *threads).collect();
        assert_eq!(threads, [2, 3], "seed {seed}: {:?}", run.threads);
        assert!(run.threads[1].0 <= Nanos::from_secs(8), "{:?}", run.threads);
        // What had come meanwhile is not worked off, as three are just enough.
        let queued = run.queued.last();
        assert!(queued < Some(&5_000), "{queued:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
fn other_loads_get_the_threads_of_theory_or_one_more() {
    let loads = [
        (100.0, 0.15, 20, 1),
        (500.0, 0.15, 20, 2),
        (700.0, 0.15, 20, 3),
        (800.0, 0.15, 20, 3),
        (1_000.0, 0.3, 15, 5),
        (2_000.0, 0.15, 12, 4),
        (3_000.0, 0.25, 9, 7),
        (700.0, 0.5, 22, 8),
    ];
    for (rate, share, millis, theory) in loads {
        for seed in 0..5 {
            let run = governed(&[(200, rate)], share, Nanos::from_millis(millis), seed);
            let threads = run.governor.threads();
            assert!(
                (theory..=theory + 1).contains(&threads),
                "{rate} {share} {millis}: {threads}, not {theory}"
            );
            assert_eq!(
                run.changes_after(Nanos::from_secs(100)),
                0,
                "{:?}",
                run.threads
            );
            let adds = run.threads.iter().map(|(_, threads)| *threads);
            assert!(adds.is_sorted(), "it went up and down: {:?}", run.threads);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
fn threads_go_when_the_load_does_and_come_back_with_it() {
    let load = [(60, 1_300.0), (160, 300.0), (220, 1_300.0)];
    for seed in 0..5 {
        let run = governed(&load, 0.15, Nanos::from_millis(20), seed);
        let at = |secs| {
            let is_before = |at: &Nanos| *at <= Nanos::from_secs(secs);
            let mut before = run.threads.iter().filter(|(at, _)| is_before(at));
            before.next_back().map_or(1, |(_, threads)| *threads)
        };
        assert!((4..=5).contains(&at(60)), "{:?}", run.threads);
        assert!(at(160) <= 2, "{:?}", run.threads);
        assert!(at(220) >= 4, "{:?}", run.threads);
        assert!(run.threads.len() <= 12, "it flaps: {:?}", run.threads);
    }
}

#[test]
fn a_queue_that_doubles_gets_a_thread_whatever_is_believed() {
    let mut governor = Governor::default();
    let mut look = |secs, queued| {
        governor.look(&StageLoad {
            now: Nanos::from_secs(secs),
            queued,
            // No time is measured, so the load seems to be none.
            ..StageLoad::default()
        })
    };
    assert_eq!(look(0, 0), Resize::Keep);
    assert_eq!(look(2, 999), Resize::Keep);
    assert_eq!(look(4, 1_000), Resize::Add);
    assert_eq!(look(6, 1_999), Resize::Keep);
    assert_eq!(look(8, 2_000), Resize::Add);
    assert_eq!(look(9, 9_000), Resize::Keep);
    assert_eq!(look(10, 9_000), Resize::Add);
}

/// What the governor is better than: adds whenever the queue is long, removes when nobody
/// waits.
struct ByThreshold {
    threads: Vec<u32>,
}

impl Observer for ByThreshold {
    fn sampled(&mut self, sample: &Sample) -> u32 {
        let threads = match sample.queued {
            0..=9 => sample.servers.max(2) - 1,
            1_000.. if sample.now.get().is_multiple_of(2_000_000_000) => sample.servers + 1,
            _ => sample.servers,
        };
        self.threads.push(threads);
        threads
    }
}

#[test]
#[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
fn a_threshold_alone_goes_up_and_down() {
    let service = Service::Mixed {
        share: 0.15,
        long: Nanos::from_millis(20),
        short: Nanos::from_micros(1),
    };
    let load = [Phase {
        until: Nanos::from_secs(120),
        rate: 1_000.0,
    }];
    let mut naive = ByThreshold {
        threads: Vec::new(),
    };
    Station::new(1, service).run(&load, 1, &mut AdmissionChain::new(), &mut naive);
    let most = naive.threads.iter().max();
    let changes = naive.threads.windows(2).filter(|pair| pair[0] != pair[1]);
    assert!(most > Some(&4), "{most:?}");
    assert!(changes.count() > 10);
}
