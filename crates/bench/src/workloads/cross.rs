//! X: 1000 keys; each event posts one to a random other key; 8000 are in flight.
//!
//! What it costs to get from core to core, with nothing to do when there.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::wait_for_end;
use crate::contenders::runtimes::{Actor, Keyed, ToSelf};
use crate::measure::random::Random;
use crate::measure::rounds::measure_steady;
use crate::measure::tally;
use crate::measure::{Failure, Outcome, Run};

const KEYS: u32 = 1000;
const IN_FLIGHT: u32 = 8000;

/// All keys of a run.
struct Keys<Key> {
    keys: OnceLock<Box<[Key]>>,
    stop: AtomicBool,
}

impl<Key> Keys<Key> {
    fn get(&self) -> &[Key] {
        self.keys.get().map_or(&[], |keys| keys)
    }

    fn stopped(&self) -> bool {
        // Relaxed: it does not matter how many events still see it open.
        self.stop.load(Ordering::Relaxed)
    }
}

/// A random key, but not `own`.
#[inline]
fn other(random: &mut Random, own: u32) -> usize {
    let target = random.below(KEYS - 1);
    (target + u32::from(target >= own)) as usize
}

type HopperKeys<R> = Keys<<R as Keyed>::Key<Hopper<R>>>;

/// A key.
struct Hopper<R: Keyed + 'static> {
    own: u32,
    random: Random,
    /// Taken away at the end: the keys would keep each other for ever.
    keys: Option<Arc<HopperKeys<R>>>,
}

impl<R: Keyed + 'static> Actor for Hopper<R> {
    type Message = ();

    #[inline]
    fn handle(&mut self, (): (), _to_self: &mut impl ToSelf<()>) {
        tally::count();
        if let Some(keys) = &self.keys
            && !keys.stopped()
        {
            R::post(&keys.get()[other(&mut self.random, self.own)], ());
        } else {
            self.let_go();
        }
    }
}

impl<R: Keyed + 'static> Hopper<R> {
    #[cold]
    fn let_go(&mut self) {
        self.keys = None;
    }
}

pub(super) fn keyed<R: Keyed + 'static>(runtime: &R, run: &Run) -> Result<Outcome, Failure> {
    let keys = Arc::new(Keys {
        keys: OnceLock::new(),
        stop: AtomicBool::new(false),
    });
    keys.keys.get_or_init(|| {
        let hopper = |own| {
            runtime.key(Hopper::<R> {
                own,
                random: Random::new(u64::from(own)),
                keys: Some(Arc::clone(&keys)),
            })
        };
        (0..KEYS).map(hopper).collect()
    });
    let all_in_turn = keys.get().iter().cycle();
    all_in_turn
        .take(IN_FLIGHT as usize)
        .for_each(|key| R::post(key, ()));
    let outcome = measure_steady(run.time, tally::total);
    keys.stop.store(true, Ordering::Relaxed);
    keys.get().iter().for_each(|key| R::post(key, ()));
    wait_for_end(&keys)?;
    keys.get().iter().for_each(R::close);
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
