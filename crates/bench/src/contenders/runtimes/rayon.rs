//! rayon: a key is an actor and a queue; whoever fills an empty queue spawns a job
//! that handles what is in it.
//!
//! Jobs are spawned first in, first out: with rayon's ordinary order a key that
//! posts to itself would never let the others run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Actor, Conditions, Keyed, ToSelf};
use crate::measure::Failure;

pub(crate) struct Rayon {
    pub(crate) pool: Arc<ThreadPool>,
    yields: bool,
}

impl Rayon {
    pub(crate) fn start(conditions: Conditions) -> Result<Self, Failure> {
        let builder = ThreadPoolBuilder::new().num_threads(conditions.workers);
        Ok(Self {
            pool: Arc::new(builder.build()?),
            yields: conditions.yields,
        })
    }

    fn make<A: Actor>(&self, actor: A, yields: bool) -> Arc<Key<A>> {
        Arc::new(Key {
            inbox: Mutex::new(Inbox {
                messages: VecDeque::new(),
                has_job: false,
            }),
            inside: Mutex::new(Inside {
                actor,
                taken: VecDeque::new(),
            }),
            pool: Arc::clone(&self.pool),
            yields,
        })
    }
}

pub(crate) struct Key<A: Actor> {
    inbox: Mutex<Inbox<A::Message>>,
    /// Locked by the key's job alone.
    inside: Mutex<Inside<A>>,
    pool: Arc<ThreadPool>,
    yields: bool,
}

struct Inbox<M> {
    messages: VecDeque<M>,
    /// A job for the key is spawned or running: it will see what is added.
    has_job: bool,
}

struct Inside<A: Actor> {
    actor: A,
    /// Taken from the inbox all at once, and not handled yet.
    taken: VecDeque<A::Message>,
}

impl<A: Actor> Key<A> {
    fn post(self: &Arc<Self>, message: A::Message) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.messages.push_back(message);
        if !std::mem::replace(&mut inbox.has_job, true) {
            drop(inbox);
            self.spawn();
        }
    }

    fn spawn(self: &Arc<Self>) {
        let key = Arc::clone(self);
        self.pool.spawn_fifo(move || key.run());
    }

    /// The key's job: handles what is there, and what that adds.
    fn run(self: &Arc<Self>) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let Inside { actor, taken } = &mut *inside;
        while self.take(taken) {
            while let Some(message) = taken.pop_front() {
                actor.handle(message, &mut OwnQueue(self));
                if self.yields {
                    drop(inside);
                    self.spawn();
                    return;
                }
            }
        }
    }

    /// Takes what is in the inbox, unless something is left of what was taken
    /// before: whether there is anything to handle.
    fn take(&self, taken: &mut VecDeque<A::Message>) -> bool {
        if !taken.is_empty() {
            return true;
        }
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut inbox.messages, taken);
        inbox.has_job = !taken.is_empty();
        inbox.has_job
    }
}

struct OwnQueue<'a, A: Actor>(&'a Arc<Key<A>>);

impl<A: Actor> ToSelf<A::Message> for OwnQueue<'_, A> {
    fn post(&mut self, message: A::Message) {
        self.0.post(message);
    }
}

impl Keyed for Rayon {
    type Key<A: Actor> = Arc<Key<A>>;

    fn key<A: Actor>(&self, actor: A) -> Arc<Key<A>> {
        self.make(actor, self.yields)
    }

    fn poster<A: Actor>(&self, actor: A) -> Result<Arc<Key<A>>, Failure> {
        Ok(self.make(actor, true))
    }

    fn post<A: Actor>(key: &Arc<Key<A>>, message: A::Message) {
        key.post(message);
    }
}
