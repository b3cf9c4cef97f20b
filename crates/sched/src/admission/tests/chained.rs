//! Chains under programs of offers, takes, changes and clocks of all kinds.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// What somebody does with a chain.
#[derive(Clone, Copy, Debug)]
enum Act {
    Offer {
        queued: u64,
        class: u8,
        client: u32,
        chance: u64,
    },
    GiveBack(usize),
    Take(usize, u64),
    Complete(usize, u64),
    Cancel(usize),
    Push(u8, u64),
    Remove(usize),
    Set(u64, f64),
    Pass(i64),
}

fn act() -> impl Strategy<Value = Act> {
    let number = prop_oneof![4 => 0_u64..50, 1 => any::<u64>()];
    let offer = (number.clone(), 0_u8..9, 0_u32..6, any::<u64>());
    prop_oneof![
        8 => offer.prop_map(|(queued, class, client, chance)| Act::Offer { queued, class, client, chance }),
        1 => any::<usize>().prop_map(Act::GiveBack),
        6 => (any::<usize>(), 0_u64..30_000_000).prop_map(|(at, waited)| Act::Take(at, waited)),
        1 => (any::<usize>(), any::<u64>()).prop_map(|(at, waited)| Act::Take(at, waited)),
        5 => (any::<usize>(), any::<u64>()).prop_map(|(at, time)| Act::Complete(at, time)),
        1 => any::<usize>().prop_map(Act::Cancel),
        1 => (0_u8..12, number.clone()).prop_map(|(kind, number)| Act::Push(kind, number)),
        1 => any::<usize>().prop_map(Act::Remove),
        1 => (number, any::<f64>()).prop_map(|(number, share)| Act::Set(number, share)),
        4 => clock_step().prop_map(Act::Pass),
    ]
}

/// Refuses by chance, and knows what it was told.
#[derive(Debug, Default)]
struct Moody {
    waiting: u64,
    running: u64,
}

impl Admission for Moody {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        if offer.chance.is_multiple_of(3) {
            return Err(Reason::Custom);
        }
        self.waiting += 1;
        Ok(())
    }

    fn give_back(&mut self, _tag: Tag) {
        self.waiting -= 1;
    }

    fn take(&mut self, _tag: Tag, taken: &Taken) -> Result<(), Reason> {
        self.waiting -= 1;
        self.running += 1;
        match taken.waited.get() % 5 {
            0 => Err(Reason::Custom),
            _ => Ok(()),
        }
    }

    fn shed(&mut self, _tag: Tag) {
        self.running -= 1;
    }

    fn cancel(&mut self, _tag: Tag) {
        self.running -= 1;
    }

    fn complete(&mut self, _tag: Tag, _done: &Done) {
        self.running -= 1;
    }
}

fn credits(number: u64) -> Credits {
    let mut credits = Credits::new(CreditsOptions {
        pool_initial: number as f64,
        ..CreditsOptions::new(CODEL_TARGET, Nanos::from_millis(1))
    });
    for _ in 0..4 {
        credits.add_client();
    }
    credits
}

fn push(chain: &mut AdmissionChain, kind: u8, number: u64) -> PolicyId {
    let time = Nanos::from_micros(number);
    match kind {
        0 => chain.push(Threshold::new(number)),
        1 => chain.push(TokenBucket::new(Rate::per_second(number as f64), number)),
        2 => chain.push(ClassFilter::new().with(Class::new(2), number)),
        3 => chain.push(Priority::new(number, 3)),
        4 => chain.push(EarlyDrop::default()),
        5 => chain.push(Deadline::new(time)),
        6 => chain.push(Codel::default()),
        7 => chain.push(ResponseTime::new(ResponseTimeOptions::new(time))),
        8 => chain.push(Gradient::default()),
        9 => chain.push(credits(number)),
        10 => chain.push(ExpectedDelay::new(time)),
        _ => chain.push(Moody::default()),
    }
}

/// Sets whatever of the first policies of each type can be set.
fn set(chain: &mut AdmissionChain, number: u64, share: f64, now: Nanos) {
    let time = Nanos::new(number);
    if let Some(policy) = chain.policy_mut::<Threshold>() {
        policy.set_queued_max(number);
    }
    if let Some(policy) = chain.policy_mut::<TokenBucket>() {
        policy.set_rate(Rate::per_second(share), now);
        policy.set_burst(number);
    }
    if let Some(policy) = chain.policy_mut::<ClassFilter>() {
        policy.set_waiting_max(Class::new((number % 8) as u8), number);
    }
    if let Some(policy) = chain.policy_mut::<Priority>() {
        policy.set_room(number);
        policy.set_classes((number % 256) as u8);
    }
    if let Some(policy) = chain.policy_mut::<EarlyDrop>() {
        policy.set_options(EarlyDropOptions {
            queued_min: share,
            queued_max: share,
            share_max: share,
            weight: share,
        });
    }
    if let Some(policy) = chain.policy_mut::<Deadline>() {
        policy.set_wait_max(time);
    }
    if let Some(policy) = chain.policy_mut::<ExpectedDelay>() {
        policy.set_wait_max(time);
    }
    if let Some(policy) = chain.policy_mut::<Codel>() {
        policy.set_target(time);
        policy.set_interval(time);
    }
    if let Some(policy) = chain.policy_mut::<ResponseTime>() {
        let options = ResponseTimeOptions {
            target: time,
            rate_max: share,
            error_low: share,
            ..policy.options()
        };
        policy.set_options(options, now);
    }
    if let Some(policy) = chain.policy_mut::<Gradient>() {
        policy.set_options(GradientOptions {
            limit_min: share,
            limit_max: number as f64,
            ..policy.options()
        });
    }
    if let Some(policy) = chain.policy_mut::<Credits>() {
        policy.set_options(CreditsOptions {
            target: time,
            increase: share,
            pool_max: number as f64,
            ..policy.options()
        });
        policy.remove_client(ClientId((number % 5) as u32));
        policy.set_demand(ClientId((number % 4) as u32), number);
        policy.grant();
    }
}

/// What each policy says of itself beside what the chain has counted of it.
fn check(chain: &AdmissionChain) -> Result<(), TestCaseError> {
    for (_, policy, counts) in chain.policies() {
        let (waiting, in_flight) = (counts.waiting(), counts.waiting() + counts.running());
        let policy = policy as &dyn Any;
        if let Some(filter) = policy.downcast_ref::<ClassFilter>() {
            let all = (0..8).map(|class| filter.waiting(Class::new(class)));
            prop_assert_eq!(all.sum::<u64>(), waiting);
        } else if let Some(gradient) = policy.downcast_ref::<Gradient>() {
            prop_assert_eq!(gradient.in_flight(), in_flight);
        } else if let Some(credits) = policy.downcast_ref::<Credits>() {
            let unspent: u64 = (0..6).map(|client| credits.credits(ClientId(client))).sum();
            prop_assert_eq!(credits.issued(), unspent + in_flight);
        } else if let Some(bucket) = policy.downcast_ref::<TokenBucket>() {
            prop_assert!(bucket.tokens() <= bucket.burst());
        } else if let Some(moody) = policy.downcast_ref::<Moody>() {
            prop_assert_eq!((moody.waiting, moody.running), (waiting, counts.running()));
        }
    }
    Ok(())
}

/// A chain with what was admitted by it.
#[derive(Default)]
struct World {
    chain: AdmissionChain,
    policies: Vec<PolicyId>,
    queue: Vec<Admitted>,
    running: Vec<Running>,
    now: u64,
}

impl World {
    fn act(&mut self, act: Act) {
        let now = Nanos::new(self.now);
        match act {
            Act::Offer {
                queued,
                class,
                client,
                chance,
            } => {
                let tag = Tag {
                    class: Class::new(class),
                    client: ClientId(client),
                };
                self.queue.extend(self.chain.offer(&Offer {
                    now,
                    queued,
                    tag,
                    chance,
                }));
            }
            Act::GiveBack(at) if !self.queue.is_empty() => {
                let admitted = self.queue.swap_remove(at % self.queue.len());
                self.chain.give_back(admitted);
            }
            Act::Take(at, waited) if !self.queue.is_empty() => {
                let admitted = self.queue.swap_remove(at % self.queue.len());
                let taken = Taken {
                    now,
                    waited: Nanos::new(waited),
                };
                self.running.extend(self.chain.take(admitted, &taken));
            }
            Act::Complete(at, time) if !self.running.is_empty() => {
                let running = self.running.swap_remove(at % self.running.len());
                let response = Nanos::new(time);
                self.chain.complete(running, &Done { now, response });
            }
            Act::Cancel(at) if !self.running.is_empty() => {
                let running = self.running.swap_remove(at % self.running.len());
                self.chain.cancel(running);
            }
            Act::Push(kind, number) => self.policies.push(push(&mut self.chain, kind, number)),
            Act::Remove(at) if !self.policies.is_empty() => {
                let id = self.policies.swap_remove(at % self.policies.len());
                assert!(self.chain.remove(id).is_some());
                assert!(self.chain.remove(id).is_none());
            }
            Act::Set(number, share) => set(&mut self.chain, number, share, now),
            Act::Pass(step) => self.now = self.now.saturating_add_signed(step),
            Act::GiveBack(_)
            | Act::Take(..)
            | Act::Complete(..)
            | Act::Cancel(_)
            | Act::Remove(_) => {}
        }
    }

    fn end(&mut self) {
        while !self.queue.is_empty() {
            self.act(Act::GiveBack(0));
        }
        while !self.running.is_empty() {
            self.act(Act::Complete(0, 1));
        }
    }
}

proptest! {
    #[test]
    fn a_chain_forgets_nothing_whatever_is_done_with_it(
        kinds in vec((0_u8..12, 0_u64..50), 0..6), acts in vec(act(), 0..ACTS),
    ) {
        let mut world = World::default();
        for (kind, number) in kinds {
            world.act(Act::Push(kind, number));
        }
        for act in acts {
            world.act(act);
            check(&world.chain)?;
            let counts = world.chain.counts();
            prop_assert_eq!(counts.waiting(), world.queue.len() as u64);
            prop_assert_eq!(counts.running(), world.running.len() as u64);
        }
        world.end();
        check(&world.chain)?;
        for (_, policy, counts) in world.chain.policies() {
            prop_assert_eq!((counts.waiting(), counts.running()), (0, 0));
            if let Some(gradient) = (policy as &dyn Any).downcast_ref::<Gradient>() {
                prop_assert_eq!(gradient.in_flight(), 0);
            }
        }
    }

    #[test]
    fn what_a_later_policy_refuses_has_cost_the_earlier_nothing(
        offers in vec((any::<u64>(), 0_u8..8), 1..100), burst in 1_u64..200,
    ) {
        let mut chain = AdmissionChain::new()
            .and(TokenBucket::new(Rate::ZERO, burst))
            .and(Gradient::new(GradientOptions { limit_initial: 1e6, limit_max: 1e6, ..GradientOptions::default() }))
            .and(ClassFilter::new())
            .and(Moody::default());
        let mut admitted = Vec::new();
        for (chance, class) in offers {
            let offer = Offer { chance, ..of_class(0, class) };
            let has_token = (admitted.len() as u64) < burst;
            match chain.offer(&offer) {
                Ok(event) => admitted.push(event),
                Err(reason) => prop_assert_eq!(reason, if has_token { Reason::Custom } else { Reason::NoToken }),
            }
            let events = admitted.len() as u64;
            prop_assert_eq!(chain.policy::<TokenBucket>().unwrap().tokens(), burst - events);
            prop_assert_eq!(chain.policy::<Gradient>().unwrap().in_flight(), events);
            check(&chain)?;
        }
    }
}

#[test]
fn a_policy_hears_nothing_of_events_that_others_admitted() {
    let mut chain = AdmissionChain::new();
    let before = chain.offer(&waiting(0)).unwrap();
    chain.push(Gradient::default());
    let after = chain.offer(&waiting(0)).unwrap();
    for admitted in [before, after] {
        let running = chain.take(admitted, &taken(0, 0)).unwrap();
        chain.complete(running, &Done::default());
    }
    let (_, _, counts) = chain.policies().next().unwrap();
    assert_eq!((counts.admitted, counts.completed), (1, 1));
    assert_eq!(chain.counts().completed, 2);
}

#[test]
fn all_policies_learn_of_a_wait_that_one_refuses() {
    let mut chain = AdmissionChain::new()
        .and(Deadline::new(Nanos::from_millis(1)))
        .and(Codel::default());
    for event in 0..100 {
        let admitted = chain.offer(&waiting(0)).unwrap();
        let taken = taken(event * 10_000_000, 20_000_000);
        assert_eq!(chain.take(admitted, &taken), Err(Reason::TooOld));
    }
    assert!(chain.policy::<Codel>().unwrap().is_overloaded());
}
