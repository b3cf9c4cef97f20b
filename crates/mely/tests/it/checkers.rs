//! What must always hold, as small values that watch a history and judge it. Each
//! has a planted fault that it must catch.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mely::Events;

/// The first faults that a checker saw.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<String>>);

impl Faults {
    pub(crate) fn add(&self, fault: String) {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.len() < 10 {
            faults.push(fault);
        }
    }

    pub(crate) fn verdict(&self) -> Result<(), Vec<String>> {
        let faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match faults.is_empty() {
            true => Ok(()),
            false => Err(faults.clone()),
        }
    }
}

/// One event of a color at a time.
#[derive(Debug)]
pub(crate) struct Serial {
    inside: AtomicBool,
    faults: Arc<Faults>,
}

/// An event of the color is being run, until this is dropped.
pub(crate) struct Inside<'a>(&'a Serial);

impl Serial {
    pub(crate) fn new(faults: &Arc<Faults>) -> Self {
        Self {
            inside: AtomicBool::new(false),
            faults: Arc::clone(faults),
        }
    }

    pub(crate) fn enter(&self) -> Inside<'_> {
        // Relaxed on purpose: the checker must not order what it watches, or a race
        // detector would see no race in the state beside it.
        if self.inside.swap(true, Relaxed) {
            self.faults.add("two events of a color at once".to_owned());
        }
        Inside(self)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.store(false, Relaxed);
    }
}

/// Events that one thread posts to a color run in that order. Lives in the state of
/// the color: it is as serial as the color is.
#[derive(Debug)]
pub(crate) struct ProducerOrder {
    last: Vec<u64>,
    faults: Arc<Faults>,
}

/// Where an event stands among those of the thread that posted it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) producer: usize,
    pub(crate) sequence: u64,
}

impl ProducerOrder {
    pub(crate) fn new(faults: &Arc<Faults>) -> Self {
        Self {
            last: Vec::new(),
            faults: Arc::clone(faults),
        }
    }

    pub(crate) fn ran(&mut self, stamp: Stamp) {
        let Stamp { producer, sequence } = stamp;
        if self.last.len() <= producer {
            self.last.resize(producer + 1, 0);
        }
        let last = std::mem::replace(&mut self.last[producer], sequence);
        if sequence <= last {
            let fault = format!("producer {producer}: event {sequence} ran after {last}");
            self.faults.add(fault);
        }
    }
}

/// Gives the events of one thread their numbers.
#[derive(Debug)]
pub(crate) struct Producer {
    id: usize,
    next: AtomicU64,
}

impl Producer {
    pub(crate) fn new(id: usize) -> Self {
        Self {
            id,
            next: AtomicU64::new(1),
        }
    }

    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            producer: self.id,
            sequence: self.next.fetch_add(1, Relaxed),
        }
    }
}

const RAN: u8 = 1;
const DROPPED: u8 = 16;

/// Every event is run once or dropped once.
#[derive(Debug)]
pub(crate) struct ExactlyOnce {
    outcomes: Box<[AtomicU8]>,
    next: AtomicUsize,
}

/// An event that is to be run or dropped; travels in its closure.
#[derive(Debug)]
pub(crate) struct Token {
    id: usize,
    outcome: u8,
    checker: Arc<ExactlyOnce>,
}

impl ExactlyOnce {
    pub(crate) fn new(events_max: usize) -> Arc<Self> {
        Arc::new(Self {
            outcomes: (0..events_max).map(|_| AtomicU8::new(0)).collect(),
            next: AtomicUsize::new(0),
        })
    }

    /// A new event; `None` when there have been as many as there may be.
    pub(crate) fn token(self: &Arc<Self>) -> Option<Token> {
        let id = self.next.fetch_add(1, Relaxed);
        (id < self.outcomes.len()).then(|| Token {
            id,
            outcome: DROPPED,
            checker: Arc::clone(self),
        })
    }

    fn count(&self, id: usize, outcome: u8) {
        self.outcomes[id].fetch_add(outcome, AcqRel);
    }

    fn outcomes(&self) -> impl Iterator<Item = u8> {
        let made = self.next.load(Acquire).min(self.outcomes.len());
        self.outcomes[..made].iter().map(|o| o.load(Acquire))
    }

    /// How many events were run.
    pub(crate) fn ran(&self) -> u64 {
        self.outcomes().map(|o| u64::from(o % DROPPED)).sum()
    }

    /// How many events were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.outcomes().map(|o| u64::from(o / DROPPED)).sum()
    }

    /// Whether an event was dropped and not run.
    pub(crate) fn was_dropped(&self, id: usize) -> bool {
        self.outcomes[id].load(Acquire) == DROPPED
    }

    /// Every event has come to exactly one end.
    pub(crate) fn verdict(&self) -> Result<(), Vec<String>> {
        let faults = Faults::default();
        for (id, outcome) in self.outcomes().enumerate() {
            match outcome {
                RAN | DROPPED => {}
                0 => faults.add(format!("event {id} was lost")),
                _ => faults.add(format!("event {id} ended more than once: {outcome:#x}")),
            }
        }
        faults.verdict()
    }
}

impl Token {
    pub(crate) fn id(&self) -> usize {
        self.id
    }

    /// The event is being run.
    pub(crate) fn ran(mut self) {
        self.outcome = RAN;
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.checker.count(self.id, self.outcome);
    }
}

/// Nothing that was posted is unaccounted for once nothing is pending.
pub(crate) fn conserved(events: &Events) -> Result<(), String> {
    let done = events.run + events.shed + events.cancelled + events.abandoned;
    match events.posted == done {
        true => Ok(()),
        false => Err(format!("posted is not run + shed + …: {events:?}")),
    }
}

/// What is waited for comes without any further stimulus.
pub(crate) fn comes(limit: Duration, mut done: impl FnMut() -> bool) -> Result<(), String> {
    let end = Instant::now() + limit;
    while !done() {
        if Instant::now() > end {
            return Err(format!("still waiting after {limit:?}"));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// A color that is ready waits at most one batch of each other color of its core.
#[derive(Debug)]
pub(crate) struct Fairness {
    waited: Vec<u64>,
    bound: u64,
    faults: Arc<Faults>,
}

impl Fairness {
    pub(crate) fn new(colors: usize, batch: u32, faults: &Arc<Faults>) -> Self {
        Self {
            waited: vec![0; colors],
            bound: (colors as u64 - 1) * u64::from(batch),
            faults: Arc::clone(faults),
        }
    }

    /// An event of `color` runs, and all other colors are ready.
    pub(crate) fn ran(&mut self, color: usize) {
        for (other, waited) in self.waited.iter_mut().enumerate() {
            if other == color {
                *waited = 0;
                continue;
            }
            *waited += 1;
            if *waited > self.bound {
                let fault = format!("color {other} waited {waited} events of others");
                self.faults.add(fault);
            }
        }
    }
}

mod planted {
    use super::*;

    #[test]
    fn two_at_once_are_caught() {
        let faults = Arc::default();
        let serial = Serial::new(&faults);
        drop(serial.enter());
        drop(serial.enter());
        assert_eq!(faults.verdict(), Ok(()));
        // A scheduler that lets two workers have one color.
        let both_in = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _inside = serial.enter();
                    both_in.wait();
                });
            }
        });
        assert!(faults.verdict().is_err());
    }

    #[test]
    fn a_wrong_order_is_caught() {
        let faults = Arc::default();
        let (ada, bob) = (Producer::new(0), Producer::new(1));
        let mut order = ProducerOrder::new(&faults);
        let history = [ada.stamp(), bob.stamp(), ada.stamp(), bob.stamp()];
        // Any interleaving of two producers is good.
        for at in [1, 0, 2, 3] {
            order.ran(history[at]);
        }
        assert_eq!(faults.verdict(), Ok(()));
        // A scheduler that takes the newest first.
        let mut order = ProducerOrder::new(&faults);
        for stamp in history.into_iter().rev() {
            order.ran(stamp);
        }
        assert_eq!(faults.verdict().map_err(|f| f.len()), Err(2));
    }

    #[test]
    fn a_lost_event_is_caught() {
        let once = ExactlyOnce::new(4);
        if let Some(token) = once.token() {
            token.ran();
        }
        drop(once.token());
        holds_once(&once, 1, 1);
        std::mem::forget(once.token());
        assert!(once.verdict().is_err());
    }

    #[test]
    fn an_event_that_runs_twice_is_caught() {
        let once = ExactlyOnce::new(1);
        let Some(token) = once.token() else {
            unreachable!("there is room for one")
        };
        let copy = Token {
            id: token.id,
            outcome: DROPPED,
            checker: Arc::clone(&once),
        };
        token.ran();
        holds_once(&once, 1, 0);
        copy.ran();
        assert!(once.verdict().is_err());
        assert!(once.token().is_none());
    }

    #[test]
    fn an_event_that_runs_and_is_dropped_is_caught() {
        let once = ExactlyOnce::new(1);
        let Some(token) = once.token() else {
            unreachable!("there is room for one")
        };
        once.count(token.id, RAN);
        drop(token);
        assert!(once.verdict().is_err());
    }

    fn holds_once(once: &ExactlyOnce, ran: u64, dropped: u64) {
        assert_eq!(once.verdict(), Ok(()));
        assert_eq!((once.ran(), once.dropped()), (ran, dropped));
    }

    #[test]
    fn an_unaccounted_event_is_caught() {
        let mut events = Events {
            posted: 10,
            run: 6,
            shed: 1,
            cancelled: 2,
            abandoned: 1,
        };
        assert_eq!(conserved(&events), Ok(()));
        events.run += 1;
        assert!(conserved(&events).is_err());
        events.posted += 2;
        assert!(conserved(&events).is_err());
    }

    #[test]
    fn work_that_nobody_comes_for_is_caught() {
        // A scheduler whose only worker sleeps beside its queue.
        let queue = Mutex::new(vec![1, 2, 3]);
        let empty = || {
            queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_empty()
        };
        assert!(comes(Duration::from_millis(5), empty).is_err());
        queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
        assert_eq!(comes(Duration::from_millis(5), empty), Ok(()));
    }

    #[test]
    fn a_gate_that_nobody_opens_is_caught() {
        let gate = crate::support::Gate::default();
        assert!(!gate.wait_for(1, Duration::from_millis(5)));
        gate.arrive();
        assert!(gate.wait_for(1, Duration::from_millis(5)));
    }

    #[test]
    fn a_starving_color_is_caught() {
        let faults = Arc::default();
        let mut fair = Fairness::new(3, 2, &faults);
        for color in [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2] {
            fair.ran(color);
        }
        assert_eq!(faults.verdict(), Ok(()));
        // A scheduler that never comes to the third color.
        for color in [0, 0, 1, 1, 0, 0] {
            fair.ran(color);
        }
        assert!(faults.verdict().is_err());
    }
}
