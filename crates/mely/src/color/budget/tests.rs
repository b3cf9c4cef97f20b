use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Wake;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Budget, BudgetError, Share, Take};

#[derive(Default)]
struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// One that waits, and what wakes it.
struct Waiter {
    number: usize,
    take: Take,
    wakes: Arc<Wakes>,
}

impl Waiter {
    fn poll(&mut self) -> Poll<Result<Share, BudgetError>> {
        // Each time another waker: the last one counts.
        self.wakes = Arc::default();
        let waker = Waker::from(Arc::clone(&self.wakes));
        Pin::new(&mut self.take).poll(&mut Context::from_waker(&waker))
    }

    fn is_woken(&self) -> bool {
        self.wakes.0.load(Relaxed) > 0
    }
}

/// What is done; numbers choose among what there is.
#[derive(Clone, Copy, Debug)]
enum Op {
    TryTake(usize),
    Wait(usize),
    Poll(usize),
    Leave(usize),
    GiveBack(usize),
    Split(usize, usize),
    Merge(usize, usize),
    SetLimit(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let (amount, any) = (0..12_usize, 0..64_usize);
    prop_oneof![
        amount.clone().prop_map(Op::TryTake),
        amount.clone().prop_map(Op::Wait),
        any.clone().prop_map(Op::Poll),
        any.clone().prop_map(Op::Leave),
        any.clone().prop_map(Op::GiveBack),
        (any.clone(), amount).prop_map(|(at, amount)| Op::Split(at, amount)),
        (any.clone(), any).prop_map(|(to, from)| Op::Merge(to, from)),
        (0..20_usize).prop_map(Op::SetLimit),
    ]
}

/// What has become of one that waited, as the specification has it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Waits,
    Came,
    Never { limit: usize },
    Left,
}

/// The specification: a list of all that ever waited, in their order.
struct Spec {
    limit: usize,
    used: usize,
    waited: Vec<(usize, Fate)>,
}

impl Spec {
    fn try_take(&mut self, asked: usize) -> Result<(), BudgetError> {
        let limit = self.limit;
        let left = limit.saturating_sub(self.used);
        let somebody_waits = self.waiting() > 0;
        if asked > limit {
            Err(BudgetError::TooLarge { asked, limit })
        } else if asked > left || (asked > 0 && somebody_waits) {
            Err(BudgetError::Full { asked, left })
        } else {
            self.used += asked;
            Ok(())
        }
    }

    fn waiting(&self) -> usize {
        let waits = |(_, fate): &&(usize, Fate)| *fate == Fate::Waits;
        self.waited.iter().filter(waits).count()
    }

    /// Whoever is first comes in as long as there is room.
    fn settle(&mut self) {
        for (amount, fate) in &mut self.waited {
            if *fate == Fate::Waits && *amount > self.limit {
                *fate = Fate::Never { limit: self.limit };
            }
        }
        let (limit, used) = (self.limit, &mut self.used);
        for (amount, fate) in &mut self.waited {
            if *fate == Fate::Waits {
                if *used + *amount > limit {
                    return;
                }
                *used += *amount;
                *fate = Fate::Came;
            }
        }
    }
}

/// The budget beside its specification.
struct Run {
    budget: Budget,
    spec: Spec,
    waiters: Vec<Waiter>,
    shares: Vec<Share>,
}

impl Run {
    fn new(limit: usize) -> Self {
        let (used, waited) = (0, Vec::new());
        Self {
            budget: Budget::new(limit),
            spec: Spec {
                limit,
                used,
                waited,
            },
            waiters: Vec::new(),
            shares: Vec::new(),
        }
    }

    fn wait(&mut self, amount: usize) {
        let mut waiter = Waiter {
            number: self.spec.waited.len(),
            take: self.budget.take(amount),
            wakes: Arc::default(),
        };
        match (waiter.poll(), self.spec.try_take(amount)) {
            (Poll::Ready(taken), expected) => {
                assert_eq!(taken.as_ref().map(|_| ()), expected.as_ref().map(|_| ()));
                self.shares.extend(taken.ok());
            }
            (Poll::Pending, expected) => {
                assert!(matches!(expected, Err(BudgetError::Full { .. })));
                self.spec.waited.push((amount, Fate::Waits));
                self.waiters.push(waiter);
            }
        }
    }

    fn poll(&mut self, at: usize) {
        let mut waiter = self.waiters.swap_remove(at);
        let (asked, fate) = self.spec.waited[waiter.number];
        match (waiter.poll(), fate) {
            (Poll::Pending, Fate::Waits) => self.waiters.push(waiter),
            (Poll::Ready(Ok(share)), Fate::Came) => {
                assert_eq!(share.amount(), asked);
                self.shares.push(share);
            }
            (Poll::Ready(Err(error)), Fate::Never { limit }) => {
                assert_eq!(error, BudgetError::TooLarge { asked, limit });
            }
            (poll, fate) => panic!("{poll:?}, where it was {fate:?}"),
        }
    }

    fn leave(&mut self, at: usize) {
        let waiter = self.waiters.swap_remove(at);
        let (amount, fate) = &mut self.spec.waited[waiter.number];
        if std::mem::replace(fate, Fate::Left) == Fate::Came {
            self.spec.used -= *amount;
        }
        drop(waiter);
    }

    fn split(&mut self, at: usize, amount: usize) {
        let share = &mut self.shares[at];
        let before = share.amount();
        match share.split(amount) {
            Some(part) => {
                assert_eq!((part.amount(), share.amount()), (amount, before - amount));
                self.shares.push(part);
            }
            None => assert!(amount > before && share.amount() == before),
        }
    }

    fn merge(&mut self, to: usize, from: usize) {
        let other = self.shares.swap_remove(from);
        if self.shares.is_empty() {
            self.shares.push(other);
        } else {
            let to = to % self.shares.len();
            let share = &mut self.shares[to];
            let both = share.amount() + other.amount();
            assert!(share.merge(other).is_ok() && share.amount() == both);
        }
    }

    fn step(&mut self, op: Op) {
        let waiter = |at: usize| at.checked_rem(self.waiters.len());
        let share = |at: usize| at.checked_rem(self.shares.len());
        match op {
            Op::TryTake(amount) => {
                let taken = self.budget.try_take(amount);
                let expected = self.spec.try_take(amount);
                assert_eq!(taken.as_ref().map(|_| ()), expected.as_ref().map(|_| ()));
                self.shares.extend(taken.ok());
            }
            Op::Wait(amount) => self.wait(amount),
            Op::Poll(at) => drop(waiter(at).map(|at| self.poll(at))),
            Op::Leave(at) => drop(waiter(at).map(|at| self.leave(at))),
            Op::GiveBack(at) => {
                if let Some(at) = share(at) {
                    self.spec.used -= self.shares.swap_remove(at).amount();
                }
            }
            Op::Split(at, amount) => drop(share(at).map(|at| self.split(at, amount))),
            Op::Merge(to, from) => drop(share(from).map(|from| self.merge(to, from))),
            Op::SetLimit(limit) => {
                self.spec.limit = limit;
                self.budget.set_limit(limit);
            }
        }
        self.spec.settle();
        self.check();
    }

    fn check(&self) {
        let budget = &self.budget;
        assert_eq!(budget.used(), self.spec.used);
        assert_eq!(budget.waiting(), self.spec.waiting());
        for waiter in &self.waiters {
            let (_, fate) = self.spec.waited[waiter.number];
            assert_eq!(waiter.is_woken(), fate != Fate::Waits, "{fate:?}");
        }
    }

    /// Whoever has or waits for something goes: all is given back.
    fn end(mut self) {
        self.waiters.clear();
        self.shares.clear();
        assert_eq!((self.budget.used(), self.budget.waiting()), (0, 0));
    }
}

proptest! {
    #[test]
    fn a_budget_is_what_its_specification_says(
        limit in 0..20_usize,
        ops in vec(op(), 0..100),
    ) {
        let mut run = Run::new(limit);
        for op in ops {
            run.step(op);
        }
        run.end();
    }
}

/// A waker without an equal: no clone wakes what it does.
#[test]
fn a_waker_that_is_like_none_of_its_clones_is_woken() {
    let budget = Budget::new(1);
    let share = budget.try_take(1).expect("it is there");
    let mut waiter = Waiter {
        number: 0,
        take: budget.take(1),
        wakes: Arc::default(),
    };
    for _ in 0..3 {
        assert!(waiter.poll().is_pending());
    }
    assert!(!waiter.is_woken());
    drop(share);
    assert!(waiter.is_woken());
    assert!(waiter.poll().is_ready());
    // It is over, and asks anew: what it had was given back by this test.
    assert!(waiter.poll().is_ready() && budget.used() == 0);
}
