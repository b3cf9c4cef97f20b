//! Several policies, all of which must admit.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{Admission, Counts, Deadline, Done, ExpectedDelay, Offer, Reason, Tag, Taken};
use crate::nanos::Nanos;

/// The share of a target for responses that an event may be expected to wait.
///
/// With more, waits that were not expected reach the deadline more often; with less, more is
/// refused of a load that could be borne (`examples/overload_step.rs`).
const EXPECTED_SHARE: f64 = 0.5;

/// The share of a target for responses that an event may have waited when it is run: the rest
/// is for the work, where that takes a twentieth of the target in the mean and is as
/// irregular as an exponential time, in all but a few of a thousand cases.
const WAITED_SHARE: f64 = 0.7;

/// Which policy of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolicyId(u32);

/// That an event was admitted; goes with it through the queue.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an admitted event is taken, or given back"]
pub struct Admitted {
    tag: Tag,
    /// How many policies had been added when it was admitted.
    added: u32,
}

/// That an event is run; goes with it until it has been.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an event that runs completes, or is cancelled"]
pub struct Running {
    tag: Tag,
    added: u32,
}

#[derive(Debug)]
struct Link {
    id: PolicyId,
    policy: Box<dyn Admission>,
    counts: Counts,
}

impl Link {
    /// Whether it was there when the event was admitted.
    fn knows(&self, added: u32) -> bool {
        self.id.0 < added
    }
}

/// The first panic of several policies, that is to go on when all of them have been told.
#[derive(Default)]
struct Panicked(Option<Box<dyn Any + Send>>);

impl Panicked {
    fn catch<R>(&mut self, call: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => Some(result),
            Err(payload) => {
                match self.0 {
                    None => self.0 = Some(payload),
                    // Its destructor may panic, too.
                    Some(_) => std::mem::forget(payload),
                }
                None
            }
        }
    }

    fn go_on(self) {
        if let Some(payload) = self.0 {
            resume_unwind(payload);
        }
    }
}

/// Policies in order, each asked only if those before it admit.
///
/// If a later one refuses, those before it get back what they gave. Policies may be changed,
/// added and removed at any time: each is told of the events that it admitted itself, and of
/// no others. A chain without policies admits everything.
///
/// A policy that panics costs the others nothing: the panic goes on when they have been told.
/// One that was asked is taken to have refused.
///
/// ```
/// use mely_sched::Nanos;
/// use mely_sched::admission::{
///     AdmissionChain, Codel, Done, Offer, Rate, Reason, Taken, Threshold, TokenBucket,
/// };
/// let mut chain = AdmissionChain::new()
///     .and(TokenBucket::new(Rate::per_second(100.0), 10))
///     .and(Threshold::new(1_000))
///     .and(Codel::default());
///
/// let admitted = chain.offer(&Offer::default()).unwrap();
/// let running = chain.take(admitted, &Taken::default()).unwrap();
/// chain.complete(running, &Done::default());
///
/// // What the threshold refuses has cost no token.
/// let full = Offer { queued: 1_000, ..Offer::default() };
/// assert_eq!(chain.offer(&full), Err(Reason::QueueLong));
/// assert_eq!(chain.policy::<TokenBucket>().unwrap().tokens(), 9);
///
/// chain.policy_mut::<Threshold>().unwrap().set_queued_max(2_000);
/// let _admitted = chain.offer(&full).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct AdmissionChain {
    links: Vec<Link>,
    added: u32,
    counts: Counts,
}

impl AdmissionChain {
    /// Admits everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps response times below a target, whatever the load and however long events take,
    /// as long as that is a small part of the target: refuses what is expected to wait for
    /// half of it ([`ExpectedDelay`]), and sheds what has waited for seven tenths of it
    /// ([`Deadline`]). What to do if nobody says otherwise (`docs/decisions/0018-admission.md`).
    ///
    /// ```
    /// use mely_sched::Nanos;
    /// use mely_sched::admission::{AdmissionChain, Deadline};
    /// let chain = AdmissionChain::within(Nanos::from_millis(20));
    /// assert_eq!(chain.policy::<Deadline>().unwrap().wait_max(), Nanos::from_millis(14));
    /// ```
    pub fn within(target: Nanos) -> Self {
        let share = |share: f64| Nanos::from_f64(target.as_f64() * share);
        Self::new()
            .and(ExpectedDelay::new(share(EXPECTED_SHARE)))
            .and(Deadline::new(share(WAITED_SHARE)))
    }

    /// The same chain and one more policy at its end.
    #[must_use]
    pub fn and(mut self, policy: impl Admission) -> Self {
        self.push(policy);
        self
    }

    /// Adds a policy at the end. It is told nothing of events that were admitted before.
    pub fn push(&mut self, policy: impl Admission) -> PolicyId {
        let id = PolicyId(self.added);
        self.added += 1;
        self.links.push(Link {
            id,
            policy: Box::new(policy),
            counts: Counts::default(),
        });
        id
    }

    /// Removes a policy; `None` if it is gone already.
    pub fn remove(&mut self, id: PolicyId) -> Option<Box<dyn Admission>> {
        let at = self.links.iter().position(|link| link.id == id)?;
        Some(self.links.remove(at).policy)
    }

    /// The policies in order, with what each has done.
    pub fn policies(&self) -> impl Iterator<Item = (PolicyId, &dyn Admission, &Counts)> {
        self.links
            .iter()
            .map(|link| (link.id, &*link.policy, &link.counts))
    }

    /// The first policy of a type, to be read.
    pub fn policy<P: Admission>(&self) -> Option<&P> {
        let mut links = self.links.iter();
        links.find_map(|link| (&*link.policy as &dyn Any).downcast_ref())
    }

    /// The first policy of a type, to be changed.
    pub fn policy_mut<P: Admission>(&mut self) -> Option<&mut P> {
        let mut links = self.links.iter_mut();
        links.find_map(|link| (&mut *link.policy as &mut dyn Any).downcast_mut())
    }

    /// What became of all events that were offered.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether an event may enter the queue.
    ///
    /// # Errors
    ///
    /// The reason of the first policy that refuses it.
    pub fn offer(&mut self, offer: &Offer) -> Result<Admitted, Reason> {
        for at in 0..self.links.len() {
            let link = &mut self.links[at];
            let mut panicked = Panicked::default();
            let asked = panicked.catch(|| link.policy.offer(offer));
            if let Err(reason) = asked.unwrap_or(Err(Reason::Custom)) {
                link.counts.count_refused(reason);
                self.counts.count_refused(reason);
                for link in &mut self.links[..at] {
                    link.counts.given_back += 1;
                    panicked.catch(|| link.policy.give_back(offer.tag));
                }
                panicked.go_on();
                return Err(reason);
            }
            link.counts.admitted += 1;
        }
        self.counts.admitted += 1;
        Ok(Admitted {
            tag: offer.tag,
            added: self.added,
        })
    }

    /// An event that was admitted leaves without having been taken: its place was gone, or
    /// the queue is dropped.
    pub fn give_back(&mut self, admitted: Admitted) {
        self.counts.given_back += 1;
        let mut panicked = Panicked::default();
        for link in self.links_of(admitted.added) {
            link.counts.given_back += 1;
            panicked.catch(|| link.policy.give_back(admitted.tag));
        }
        panicked.go_on();
    }

    /// Whether an event that was just taken out of the queue is still to be run. All policies
    /// learn how long it has waited, whichever refuses.
    ///
    /// # Errors
    ///
    /// The reason of the first policy that refuses it. The event is shed.
    pub fn take(&mut self, admitted: Admitted, taken: &Taken) -> Result<Running, Reason> {
        let Admitted { tag, added } = admitted;
        let mut refused = None;
        let mut panicked = Panicked::default();
        self.counts.taken += 1;
        for link in self.links_of(added) {
            link.counts.taken += 1;
            let asked = panicked.catch(|| link.policy.take(tag, taken));
            if let Err(reason) = asked.unwrap_or(Err(Reason::Custom)) {
                link.counts.count_refused(reason);
                refused = refused.or(Some(reason));
            }
        }
        let Some(reason) = refused else {
            return Ok(Running { tag, added });
        };
        self.counts.count_refused(reason);
        self.counts.shed += 1;
        for link in self.links_of(added) {
            link.counts.shed += 1;
            panicked.catch(|| link.policy.shed(tag));
        }
        panicked.go_on();
        Err(reason)
    }

    /// An event that was taken did not run to its end: it was dropped, or it panicked and its
    /// time says nothing.
    pub fn cancel(&mut self, running: Running) {
        self.counts.cancelled += 1;
        let mut panicked = Panicked::default();
        for link in self.links_of(running.added) {
            link.counts.cancelled += 1;
            panicked.catch(|| link.policy.cancel(running.tag));
        }
        panicked.go_on();
    }

    /// An event has been run.
    pub fn complete(&mut self, running: Running, done: &Done) {
        self.counts.completed += 1;
        let mut panicked = Panicked::default();
        for link in self.links_of(running.added) {
            link.counts.completed += 1;
            panicked.catch(|| link.policy.complete(running.tag, done));
        }
        panicked.go_on();
    }

    fn links_of(&mut self, added: u32) -> impl Iterator<Item = &mut Link> {
        let links = self.links.iter_mut();
        links.filter(move |link| link.knows(added))
    }
}
