//! P: 1000 keys, each posting 1000 events to itself, one after the other; and Py,
//! where a key lets the others run after each event.
//!
//! What a runtime costs when nothing is to be balanced and nothing crosses cores. In
//! Py every event pays for a turn of its key.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::wait_for_end;
use crate::contenders::runtimes::{Actor, Keyed, ToSelf};
use crate::measure::rounds::Rounds;
use crate::measure::{Failure, Outcome, Run};

pub(super) const KEYS: usize = 1000;
const EVENTS_PER_KEY: u32 = 1000;
const EVENTS: u64 = KEYS as u64 * EVENTS_PER_KEY as u64;

/// What the keys of a run share: who ends last begins the next round.
struct Chains<Key> {
    keys: OnceLock<Box<[Key]>>,
    going: AtomicUsize,
    rounds: Arc<Rounds>,
}

impl<Key> Chains<Key> {
    fn keys(&self) -> &[Key] {
        self.keys.get().map_or(&[], |keys| keys)
    }

    /// Begins a round: `start` gives a key its first event.
    fn begin(&self, start: impl FnMut(&Key)) {
        // Relaxed: the posts that follow carry it to the other threads.
        self.going.store(KEYS, Ordering::Relaxed);
        self.keys().iter().for_each(start);
    }

    /// A key has run its last event of the round: whether the next round begins.
    fn ended(&self) -> bool {
        // AcqRel: the round ends after all of it.
        self.going.fetch_sub(1, Ordering::AcqRel) == 1 && self.rounds.another(EVENTS)
    }
}

type LinkChains<R> = Chains<<R as Keyed>::Key<Link<R>>>;

/// A key. Its messages are how many events it still has to run in the round; none is
/// the end.
struct Link<R: Keyed + 'static> {
    /// Taken away at the end: the keys would keep each other for ever.
    chains: Option<Arc<LinkChains<R>>>,
}

impl<R: Keyed + 'static> Link<R> {
    fn last_of_round(&self) {
        if let Some(chains) = &self.chains
            && chains.ended()
        {
            chains.begin(|key| R::post(key, EVENTS_PER_KEY));
        }
    }
}

impl<R: Keyed + 'static> Actor for Link<R> {
    type Message = u32;

    #[inline]
    fn handle(&mut self, left: u32, to_self: &mut impl ToSelf<u32>) {
        match left {
            2.. => to_self.post(left - 1),
            1 => self.last_of_round(),
            0 => self.chains = None,
        }
    }
}

pub(crate) fn keyed<R: Keyed + 'static>(runtime: &R, run: &Run) -> Result<Outcome, Failure> {
    let (rounds, outcome) = Rounds::new(run.time);
    let chains = Arc::new(Chains {
        keys: OnceLock::new(),
        going: AtomicUsize::new(0),
        rounds,
    });
    chains.keys.get_or_init(|| {
        let link = |_| {
            runtime.key(Link::<R> {
                chains: Some(Arc::clone(&chains)),
            })
        };
        (0..KEYS).map(link).collect()
    });
    chains.begin(|key| R::post(key, EVENTS_PER_KEY));
    let outcome = outcome.recv()?;
    chains.keys().iter().for_each(|key| R::post(key, 0));
    wait_for_end(&chains)?;
    chains.keys().iter().for_each(R::close);
    Ok(outcome)
}

/// Each thread runs its share of the keys from one queue, with so many of them in
/// turn.
pub(super) fn floor(run: &Run, in_turn: usize) -> Result<Outcome, Failure> {
    let (rounds, outcome) = Rounds::new(run.time);
    super::in_step(
        run.workers,
        |thread| {
            let mut messages = VecDeque::new();
            let mut keys = (thread..KEYS).step_by(run.workers).peekable();
            while keys.peek().is_some() {
                messages.extend(keys.by_ref().take(in_turn).map(|_| EVENTS_PER_KEY));
                while let Some(left) = black_box(&mut messages).pop_front() {
                    if left > 1 {
                        messages.push_back(left - 1);
                    }
                }
            }
        },
        || rounds.another(EVENTS),
    );
    Ok(outcome.recv()?)
}
