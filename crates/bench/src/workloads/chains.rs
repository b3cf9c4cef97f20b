//! P: 1000 keys, each posting 1000 events to itself, one after the other.
//!
//! What a runtime costs when nothing is to be balanced and nothing crosses cores.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mely::{Colored, Context, Policy};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Failure, Run, mely_runtime, tokio_runtime};
use crate::Outcome;
use crate::rounds::Rounds;

const KEYS: usize = 1000;
const EVENTS_PER_KEY: u32 = 1000;
const EVENTS: u64 = KEYS as u64 * EVENTS_PER_KEY as u64;

/// What the keys of a run share: who ends last begins the next round.
struct Chains<Key> {
    keys: OnceLock<Box<[Key]>>,
    going: AtomicUsize,
    rounds: Arc<Rounds>,
}

impl<Key> Chains<Key> {
    fn new(rounds: Arc<Rounds>) -> Arc<Self> {
        Arc::new(Self {
            keys: OnceLock::new(),
            going: AtomicUsize::new(0),
            rounds,
        })
    }

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

/// The state of a color.
struct Link {
    left: u32,
    /// Taken away at the end: the colors would keep each other for ever.
    chains: Option<Arc<Chains<Colored<Link>>>>,
}

impl Link {
    fn start(&mut self, cx: &mut Context<'_, Self>) {
        self.left = EVENTS_PER_KEY;
        self.step(cx);
    }

    fn step(&mut self, cx: &mut Context<'_, Self>) {
        self.left -= 1;
        if self.left > 0 {
            cx.post(Self::step);
        } else if let Some(chains) = &self.chains
            && chains.ended()
        {
            chains.begin(|color| color.post(Self::start));
        }
    }
}

/// Each key is a color.
pub(super) fn mely(policy: Policy, run: &Run) -> Result<Outcome, Failure> {
    let rt = mely_runtime(policy, run)?;
    let (rounds, outcome) = Rounds::new(run.time);
    let chains = Chains::new(rounds);
    chains.keys.get_or_init(|| {
        let link = || Link {
            left: 0,
            chains: Some(Arc::clone(&chains)),
        };
        (0..KEYS).map(|_| rt.colored(link())).collect()
    });
    chains.begin(|color| color.post(Link::start));
    let outcome = outcome.recv()?;
    for color in chains.keys() {
        color.post(|link, _| link.chains = None);
    }
    rt.settle();
    Ok(outcome)
}

/// Each key is a task that sends through its own channel to itself.
pub(super) fn tokio(run: &Run) -> Result<Outcome, Failure> {
    let rt = tokio_runtime(run)?;
    let (rounds, outcome) = Rounds::new(run.time);
    let chains: Arc<Chains<UnboundedSender<u32>>> = Chains::new(rounds);
    chains.keys.get_or_init(|| {
        let key = |_| {
            let (to_self, mut messages) = unbounded_channel();
            let (sender, chains) = (to_self.clone(), Arc::clone(&chains));
            rt.spawn(async move {
                while let Some(left) = messages.recv().await {
                    if left > 1 {
                        // The receiver is here: it is not closed.
                        to_self.send(left - 1).ok();
                    } else if chains.ended() {
                        chains.begin(|key| _ = key.send(EVENTS_PER_KEY));
                    }
                }
            });
            sender
        };
        (0..KEYS).map(key).collect()
    });
    chains.begin(|key| _ = key.send(EVENTS_PER_KEY));
    Ok(outcome.recv()?)
}

/// Each key is a queue of one thread alone.
pub(super) fn floor(run: &Run) -> Result<Outcome, Failure> {
    let (rounds, outcome) = Rounds::new(run.time);
    super::in_step(
        run.workers,
        |thread| {
            let mut messages = VecDeque::new();
            for _key in (thread..KEYS).step_by(run.workers) {
                messages.push_back(EVENTS_PER_KEY);
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
