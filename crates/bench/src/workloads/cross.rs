//! X: 1000 keys; each event posts one to a random other key; 8000 are in flight.
//!
//! What it costs to get from core to core, with nothing to do when there.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use mely::{Colored, Policy};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Failure, Run, mely_runtime, tokio_runtime};
use crate::random::Random;
use crate::rounds::measure_steady;
use crate::{Outcome, tally};

const KEYS: u32 = 1000;
const IN_FLIGHT: u32 = 8000;

/// All keys of a run.
struct Keys<Key> {
    keys: OnceLock<Box<[Key]>>,
    stop: AtomicBool,
}

impl<Key> Keys<Key> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            keys: OnceLock::new(),
            stop: AtomicBool::new(false),
        })
    }

    fn get(&self) -> &[Key] {
        self.keys.get().map_or(&[], |keys| keys)
    }

    fn stopped(&self) -> bool {
        // Relaxed: it does not matter how many events still see it open.
        self.stop.load(Ordering::Relaxed)
    }

    fn put_in_flight(&self, put: impl Fn(&Key)) {
        self.get()
            .iter()
            .cycle()
            .take(IN_FLIGHT as usize)
            .for_each(put);
    }
}

/// A random key, but not `own`.
#[inline]
fn other(random: &mut Random, own: u32) -> usize {
    let target = random.below(KEYS - 1);
    (target + u32::from(target >= own)) as usize
}

/// The state of a color.
struct Hopper {
    own: u32,
    random: Random,
    /// Taken away at the end: the colors would keep each other for ever.
    keys: Option<Arc<Keys<Colored<Hopper>>>>,
}

impl Hopper {
    fn hop(&mut self) {
        tally::count();
        if let Some(keys) = &self.keys
            && !keys.stopped()
        {
            keys.get()[other(&mut self.random, self.own)].post(|hopper, _| hopper.hop());
        }
    }
}

/// Each key is a color.
pub(super) fn mely(policy: Policy, run: &Run) -> Result<Outcome, Failure> {
    let rt = mely_runtime(policy, run)?;
    let keys = Keys::new();
    keys.keys.get_or_init(|| {
        let hopper = |own| Hopper {
            own,
            random: Random::new(u64::from(own)),
            keys: Some(Arc::clone(&keys)),
        };
        (0..KEYS).map(|own| rt.colored(hopper(own))).collect()
    });
    keys.put_in_flight(|color| color.post(|hopper, _| hopper.hop()));
    let outcome = measure_steady(run.time, tally::total);
    keys.stop.store(true, Ordering::Relaxed);
    rt.settle();
    for color in keys.get() {
        color.post(|hopper, _| hopper.keys = None);
    }
    rt.settle();
    Ok(outcome)
}

/// Each key is a task with a channel.
pub(super) fn tokio(run: &Run) -> Result<Outcome, Failure> {
    let rt = tokio_runtime(run)?;
    let keys: Arc<Keys<UnboundedSender<()>>> = Keys::new();
    keys.keys.get_or_init(|| {
        let key = |own| {
            let (sender, mut messages) = unbounded_channel();
            let keys = Arc::clone(&keys);
            let mut random = Random::new(u64::from(own));
            rt.spawn(async move {
                while let Some(()) = messages.recv().await {
                    tally::count();
                    if keys.stopped() {
                        break;
                    }
                    // Closed only at the end.
                    keys.get()[other(&mut random, own)].send(()).ok();
                }
            });
            sender
        };
        (0..KEYS).map(key).collect()
    });
    keys.put_in_flight(|key| _ = key.send(()));
    let outcome = measure_steady(run.time, tally::total);
    keys.stop.store(true, Ordering::Relaxed);
    Ok(outcome)
}

/// Each thread sends the numbers of its own keys through one queue of its own.
pub(super) fn floor(run: &Run) -> Result<Outcome, Failure> {
    let stop = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        for thread in 0..run.workers {
            let stop = &stop;
            scope.spawn(move || {
                let mut random: Vec<_> = (0..u64::from(KEYS)).map(Random::new).collect();
                let mut messages: VecDeque<u32> = (thread..IN_FLIGHT as usize)
                    .step_by(run.workers)
                    .map(|message| message as u32 % KEYS)
                    .collect();
                while let Some(own) = messages.pop_front() {
                    tally::count();
                    // Relaxed: as in `Keys::stopped`.
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let target = other(&mut random[own as usize], own);
                    messages.push_back(black_box(target as u32));
                }
            });
        }
        let outcome = measure_steady(run.time, tally::total);
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    Ok(outcome)
}
