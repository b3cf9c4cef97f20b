//! A queue in front of servers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Chance, Phase, Service};
use crate::admission::{
    AdmissionChain, Admitted, ClientId, Done, Offer, Reason, Running, Tag, Taken,
};
use crate::nanos::Nanos;

/// What a controller of servers sees of a station, now and then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The time.
    pub now: Nanos,
    /// Events that wait.
    pub queued: u64,
    /// How many servers there are.
    pub servers: u32,
    /// Events that were admitted since the beginning.
    pub arrived: u64,
    /// Events that have been run since the beginning.
    pub completed: u64,
    /// How long servers have run events since the beginning, added up.
    pub busy: Nanos,
}

/// Who watches a station.
pub trait Observer {
    /// An event that was offered a while ago has been run.
    fn answered(&mut self, now: Nanos, response: Nanos) {
        let _ = (now, response);
    }

    /// An event that was offered a while ago, or just now, was refused.
    fn refused(&mut self, now: Nanos, waited: Nanos, reason: Reason) {
        let _ = (now, waited, reason);
    }

    /// A period has passed. Returns how many servers there are from now on; where there are
    /// fewer, those that work go on to the end of their event.
    fn sampled(&mut self, sample: &Sample) -> u32 {
        sample.servers
    }
}

/// A queue in front of servers.
///
/// ```
/// use mely_sched::Nanos;
/// use mely_sched::admission::{AdmissionChain, Threshold};
/// use mely_sched::queueing::{Observer, Phase, Service, Station};
///
/// struct Slowest(Nanos);
/// impl Observer for Slowest {
///     fn answered(&mut self, _now: Nanos, response: Nanos) {
///         self.0 = self.0.max(response);
///     }
/// }
///
/// // Twice as much as one server can do, and at most ten that wait.
/// let station = Station::new(1, Service::Fixed(Nanos::from_millis(1)));
/// let load = [Phase { until: Nanos::from_secs(1), rate: 2_000.0 }];
/// let mut chain = AdmissionChain::new().and(Threshold::new(10));
/// let mut slowest = Slowest(Nanos::ZERO);
/// station.run(&load, 1, &mut chain, &mut slowest);
/// assert!(slowest.0 <= Nanos::from_millis(11));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// How many servers there are in the beginning.
    pub servers: u32,
    /// How long events take.
    pub service: Service,
    /// What it costs a server to shed an event that it has taken.
    pub shed_cost: Nanos,
    /// From how many clients events come, each from any of them.
    pub clients: u32,
    /// How often the observer gets a sample.
    pub sample_period: Nanos,
}

impl Station {
    /// What it costs to take an event, look at the clock and drop it: a cache miss or two, and
    /// the destructor of a closure.
    const SHED_COST: Nanos = Nanos::new(200);

    /// A station with one client, sampled each second.
    pub const fn new(servers: u32, service: Service) -> Self {
        Self {
            servers,
            service,
            shed_cost: Self::SHED_COST,
            clients: 1,
            sample_period: Nanos::from_secs(1),
        }
    }

    /// How many events a second the servers can do.
    pub fn capacity(&self) -> f64 {
        f64::from(self.servers) / self.service.mean().as_secs_f64()
    }

    /// Runs a load to its end.
    ///
    /// # Panics
    ///
    /// If a rate is not above 0: events would never come, and time not pass.
    pub fn run(
        &self,
        load: &[Phase],
        seed: u64,
        chain: &mut AdmissionChain,
        observer: &mut impl Observer,
    ) {
        assert!(load.iter().all(|phase| phase.rate > 0.0), "{load:?}");
        let mut run = Run {
            station: self,
            chance: Chance::new(seed),
            chain,
            observer,
            queue: VecDeque::new(),
            ends: BinaryHeap::new(),
            works: Vec::new(),
            idle_places: Vec::new(),
            sample: Sample {
                servers: self.servers,
                ..Sample::default()
            },
        };
        run.all(load);
    }
}

/// An event in the queue.
struct Waiting {
    since: Nanos,
    admitted: Admitted,
}

/// What a server does.
enum Work {
    Shed,
    Event {
        offered: Nanos,
        time: Nanos,
        running: Running,
    },
}

struct Run<'a, O> {
    station: &'a Station,
    chance: Chance,
    chain: &'a mut AdmissionChain,
    observer: &'a mut O,
    queue: VecDeque<Waiting>,
    /// When which place in `works` ends.
    ends: BinaryHeap<Reverse<(Nanos, usize)>>,
    works: Vec<Option<Work>>,
    idle_places: Vec<usize>,
    sample: Sample,
}

impl<O: Observer> Run<'_, O> {
    fn all(&mut self, load: &[Phase]) {
        let Some(first) = load.first() else { return };
        let mut arrival = self.gap(first.rate);
        let mut sampling = self.station.sample_period;
        for phase in load {
            while arrival < phase.until {
                self.pass_until(arrival, &mut sampling);
                self.sample.now = arrival;
                self.arrive();
                self.dispatch();
                arrival = arrival.after(self.gap(phase.rate));
            }
        }
        if let Some(last) = load.last() {
            self.pass_until(last.until, &mut sampling);
        }
    }

    /// A nanosecond at least, lest time stand.
    fn gap(&mut self, rate: f64) -> Nanos {
        let mean = Nanos::from_f64(1e9 / rate);
        self.chance.exponential(mean).max(Nanos::new(1))
    }

    fn pass_until(&mut self, until: Nanos, sampling: &mut Nanos) {
        loop {
            let end = self
                .ends
                .peek()
                .map_or(Nanos::MAX, |Reverse((end, _))| *end);
            if end.min(*sampling) > until {
                return;
            }
            if end <= *sampling {
                self.ends
                    .pop()
                    .into_iter()
                    .for_each(|Reverse((end, place))| {
                        self.sample.now = end;
                        self.finish(place);
                    });
            } else {
                self.sample.now = *sampling;
                self.sample.queued = self.queue.len() as u64;
                self.sample.servers = self.observer.sampled(&self.sample);
                *sampling = sampling.after(self.station.sample_period.max(Nanos::new(1)));
            }
            self.dispatch();
        }
    }

    fn arrive(&mut self) {
        let now = self.sample.now;
        let number = self.chance.number();
        let client = ClientId((number % u64::from(self.station.clients.max(1))) as u32);
        let tag = Tag {
            client,
            ..Tag::default()
        };
        let offer = Offer {
            now,
            queued: self.queue.len() as u64,
            tag,
            chance: self.chance.number(),
        };
        match self.chain.offer(&offer) {
            Ok(admitted) => {
                self.sample.arrived += 1;
                self.queue.push_back(Waiting {
                    since: now,
                    admitted,
                });
            }
            Err(reason) => self.observer.refused(now, Nanos::ZERO, reason),
        }
    }

    fn dispatch(&mut self) {
        while self.ends.len() < self.sample.servers as usize {
            let Some(waiting) = self.queue.pop_front() else {
                return;
            };
            self.begin(waiting);
        }
    }

    fn begin(&mut self, waiting: Waiting) {
        let now = self.sample.now;
        let waited = now.since(waiting.since);
        let (work, time) = match self.chain.take(waiting.admitted, &Taken { now, waited }) {
            Ok(running) => {
                let time = self.station.service.time(&mut self.chance);
                let work = Work::Event {
                    offered: waiting.since,
                    time,
                    running,
                };
                (work, time)
            }
            Err(reason) => {
                self.observer.refused(now, waited, reason);
                (Work::Shed, self.station.shed_cost)
            }
        };
        let place = self.idle_places.pop().unwrap_or(self.works.len());
        if place == self.works.len() {
            self.works.push(None);
        }
        self.works[place] = Some(work);
        self.ends.push(Reverse((now.after(time), place)));
    }

    fn finish(&mut self, place: usize) {
        let now = self.sample.now;
        self.idle_places.push(place);
        let Some(Work::Event {
            offered,
            time,
            running,
        }) = self.works[place].take()
        else {
            return;
        };
        let response = now.since(offered);
        self.sample.completed += 1;
        self.sample.busy = self.sample.busy.after(time);
        self.chain.complete(running, &Done { now, response });
        self.observer.answered(now, response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Mean {
        responses: u64,
        total: f64,
    }

    impl Observer for Mean {
        fn answered(&mut self, _now: Nanos, response: Nanos) {
            self.responses += 1;
            self.total += response.as_secs_f64();
        }
    }

    fn mean_response(servers: u32, utilisation: f64) -> f64 {
        let station = Station::new(servers, Service::Exponential(Nanos::from_millis(1)));
        let load = [Phase {
            until: Nanos::from_secs(400),
            rate: station.capacity() * utilisation,
        }];
        let mut mean = Mean::default();
        station.run(&load, 3, &mut AdmissionChain::new(), &mut mean);
        mean.total / mean.responses as f64 * 1e3
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
    fn one_server_answers_as_theory_says() {
        // M/M/1: the mean response is that of the service over 1 - rho.
        for utilisation in [0.3, 0.5, 0.8] {
            let (found, theory) = (mean_response(1, utilisation), 1.0 / (1.0 - utilisation));
            assert!((found / theory - 1.0).abs() < 0.05, "{found} {theory}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
    fn two_servers_answer_as_theory_says() {
        // M/M/2: 1 / (1 - rho^2).
        let (found, theory) = (mean_response(2, 0.8), 1.0 / (1.0 - 0.64));
        assert!((found / theory - 1.0).abs() < 0.05, "{found} {theory}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of events, and nothing unsafe")]
    fn what_comes_in_is_accounted_for() {
        let station = Station::new(2, Service::Fixed(Nanos::from_micros(10)));
        let load = [Phase {
            until: Nanos::from_millis(50),
            rate: 2.0 * station.capacity(),
        }];
        let mut chain = AdmissionChain::new();
        let mut mean = Mean::default();
        station.run(&load, 5, &mut chain, &mut mean);
        let counts = chain.counts();
        assert_eq!(counts.completed, mean.responses);
        assert_eq!(counts.running(), 2);
        let all = counts.waiting() + counts.running() + counts.completed;
        assert_eq!(counts.admitted, all);
        assert!((9_900..=10_000).contains(&counts.completed), "{counts:?}");
    }
}
