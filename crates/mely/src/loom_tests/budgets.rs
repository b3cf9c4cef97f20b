//! Models of budgets: shares that are given back beside those who wait, come and go.

use core::pin::pin;
use core::task::{Context, Poll, Waker};

use super::*;
use crate::color::budget::{Budget, BudgetError};

/// Who waits while a share is given back gets it.
#[test]
fn loom_a_share_that_is_given_back_wakes_who_waits() {
    loom::model(|| {
        let budget = Budget::new(1);
        let share = budget.try_take(1).expect("it is there");
        let waiting = {
            let budget = budget.clone();
            thread::spawn(move || budget.blocking_take(1).map(|share| share.amount()))
        };
        drop(share);
        assert_eq!(waiting.join().unwrap(), Ok(1));
        assert_eq!((budget.used(), budget.waiting()), (0, 0));
    });
}

/// One that goes away while it is let in, or before, leaves its turn to the next.
#[test]
fn loom_who_leaves_the_line_gives_its_turn_to_the_next() {
    loom::model(|| {
        let budget = Budget::new(2);
        let share = budget.try_take(2).expect("it is there");
        let gate = Gate::new();
        let waker = Waker::from(gate);
        let mut first = Box::pin(budget.take(2));
        let polled = first.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        let second = {
            let budget = budget.clone();
            thread::spawn(move || budget.blocking_take(1).map(drop))
        };
        let giving = thread::spawn(move || drop(share));
        drop(first);
        assert_eq!(second.join().unwrap(), Ok(()));
        giving.join().unwrap();
        assert_eq!((budget.used(), budget.waiting()), (0, 0));
    });
}

/// A poll with another waker beside the share that comes: that one is woken, or sees it.
#[test]
fn loom_the_last_poll_of_a_budget_is_woken() {
    loom::model(|| {
        let budget = Budget::new(1);
        let share = budget.try_take(1).expect("it is there");
        let giving = thread::spawn(move || drop(share));
        let mut take = pin!(budget.take(1));
        let mut poll_by = |gate: &Arc<Gate>| {
            let waker = Waker::from(Arc::clone(gate));
            take.as_mut().poll(&mut Context::from_waker(&waker))
        };
        let gates = [Gate::new(), Gate::new()];
        let mut taken = poll_by(&gates[0]);
        if taken.is_pending() {
            taken = poll_by(&gates[1]);
        }
        if taken.is_pending() {
            gates[1].wait_for(1);
            taken = poll_by(&gates[1]);
        }
        assert!(matches!(taken, Poll::Ready(Ok(_))));
        giving.join().unwrap();
    });
}

/// A limit that is lowered while somebody waits for more tells him so.
#[test]
fn loom_who_waits_for_more_than_there_will_be_is_told() {
    loom::model(|| {
        let budget = Budget::new(2);
        let share = budget.try_take(1).expect("it is there");
        let lowering = {
            let budget = budget.clone();
            thread::spawn(move || budget.set_limit(1))
        };
        let (asked, limit) = (2, 1);
        let taken = budget.blocking_take(asked).map(drop);
        assert_eq!(taken, Err(BudgetError::TooLarge { asked, limit }));
        lowering.join().unwrap();
        drop(share);
        assert_eq!((budget.used(), budget.waiting()), (0, 0));
    });
}
