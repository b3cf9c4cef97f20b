//! Budgets: what waits is bounded, and given back however it ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use mely::{Budget, BudgetError, Pending, PostError, Share, Take};

use crate::support::{Gate, WAIT, bounded, runtime, settle, silent_panic};

/// Adds up what is in flight, and how much that was at the most.
#[derive(Default)]
struct InFlight {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl InFlight {
    fn enter(&self, amount: usize) {
        // Relaxed: sums, looked at when all threads have ended.
        let now = self.now.fetch_add(amount, Relaxed) + amount;
        self.most.fetch_max(now, Relaxed);
    }

    fn leave(&self, amount: usize) {
        self.now.fetch_sub(amount, Relaxed);
    }
}

#[test]
fn no_more_is_in_flight_than_the_budget_has() {
    const LIMIT: usize = 100;
    bounded("bytes in flight", || {
        let rt = runtime(2);
        let budget = Budget::new(LIMIT);
        let in_flight = Arc::new(InFlight::default());
        let colors: Vec<_> = (0..4).map(|_| rt.colored(0_usize)).collect();
        let posters: Vec<_> = (0..2)
            .map(|poster| {
                let (budget, in_flight) = (budget.clone(), Arc::clone(&in_flight));
                let colors = colors.clone();
                thread::spawn(move || {
                    for at in 0..2_000 {
                        let amount = (at * 7 + poster) % LIMIT + 1;
                        let share = budget.blocking_take(amount).expect("it will be there");
                        in_flight.enter(amount);
                        let there = Arc::clone(&in_flight);
                        let posted = colors[at % 4].post(move |sum, _| {
                            *sum += share.amount();
                            there.leave(share.amount());
                            drop(share);
                        });
                        posted.expect("it takes events");
                    }
                })
            })
            .collect();
        posters
            .into_iter()
            .for_each(|p| p.join().expect("no panic"));
        settle(&rt);
        assert!((2..=LIMIT).contains(&in_flight.most.load(Relaxed)));
        assert_eq!((budget.used(), budget.waiting()), (0, 0));
        let sums: usize = colors
            .iter()
            .map(|color| color.blocking_with(|sum| *sum))
            .sum();
        let weigh = |at: usize, poster| (at * 7 + poster) % LIMIT + 1;
        let sent = |poster| (0..2_000).map(|at| weigh(at, poster)).sum::<usize>();
        assert_eq!(sums, sent(0) + sent(1));
    });
}

#[test]
fn a_share_comes_back_from_an_event_that_does_not_run() {
    bounded("shares of events", || {
        let budget = Budget::new(10);
        let take = || budget.try_take(1).expect("there is room");
        let (rt, gate) = (runtime(1), Gate::default());
        let (holds, held) = (gate.clone(), Gate::default());
        let began = held.clone();
        let holds = rt.new_color().post(move |(), _| {
            began.arrive();
            holds.pass("the test opens it");
        });
        holds.expect("it takes events");
        held.pass("the worker is held");

        let full = rt.color_options().capacity(0).new_color().expect("a color");
        let share = take();
        full.post_or_shed(move |(), _| drop(share));
        assert_eq!(budget.used(), 0, "it was shed");

        let share = take();
        let refused = full.post(move |(), _| drop(share));
        assert_eq!(budget.used(), 1, "the error has it");
        drop(refused);
        assert_eq!(budget.used(), 0);

        let (stopped, share) = (rt.new_color(), take());
        stopped
            .post(move |(), _| drop(share))
            .expect("it takes events");
        stopped.stop(Pending::Drop);
        let (abandoned, share) = (rt.new_color(), take());
        let timer = abandoned.post_after(WAIT, move |(), _| drop(share));
        assert_eq!(budget.used(), 2);
        assert!(timer.cancel());
        assert_eq!(budget.used(), 1);
        let share = take();
        abandoned
            .post(move |(), _| drop(share))
            .expect("it takes events");

        // It is asked to end while its only worker is held.
        assert!(mely::Handle::shutdown(&rt, Duration::ZERO));
        while !matches!(full.post(|(), _| ()), Err(PostError::Closed(_))) {
            thread::yield_now();
        }
        gate.arrive();
        drop(rt);
        assert_eq!(budget.used(), 0);
    });
}

#[test]
fn a_share_comes_back_from_an_event_that_panics() {
    bounded("a share and a panic", || {
        let (rt, budget) = (runtime(1), Budget::new(10));
        let share = budget.try_take(10).expect("there is room");
        let waits = rt.new_color().spawn(budget.take(3));
        let failed = rt.new_color().call(move |(), _| {
            let _share = share;
            silent_panic()
        });
        assert!(failed.wait().is_err());
        assert_eq!(waits.wait().expect("it ends").expect("room").amount(), 3);
        assert_eq!(budget.used(), 0);
    });
}

#[test]
fn nobody_blocks_a_worker_for_a_share() {
    bounded("blocking inside", || {
        let (rt, budget) = (runtime(1), Budget::new(10));
        let there = budget.clone();
        let in_event = rt
            .new_color()
            .call(move |(), _| there.blocking_take(1).map(drop));
        assert_eq!(in_event.wait(), Ok(Err(BudgetError::InsideHandler)));
        let there = budget.clone();
        let in_task = rt
            .new_color()
            .spawn(async move { there.blocking_take(1).map(drop) });
        assert_eq!(in_task.wait(), Ok(Err(BudgetError::InsideHandler)));
        let error = BudgetError::TooLarge {
            asked: 11,
            limit: 10,
        };
        assert_eq!(budget.blocking_take(11).map(drop), Err(error));
    });
}

#[test]
fn tasks_get_their_shares_in_turn() {
    bounded("the line", || {
        let (rt, budget) = (runtime(2), Budget::new(2));
        let all = budget.try_take(2).expect("it is there");
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let amount = 1 + number % 2;
                let (there, order) = (budget.clone(), Arc::clone(&order));
                let color = rt.new_color();
                let task = color.clone().spawn(async move {
                    let share = there.take(amount).await.expect("it is not too large");
                    order.lock().expect("no panic").push(number);
                    // It is given back elsewhere.
                    color.call(move |(), _| drop(share)).await
                });
                // Each enters the line before the next.
                while budget.waiting() <= number {
                    thread::yield_now();
                }
                task
            })
            .collect();
        // One in the middle goes, the first as well.
        let mut tasks: Vec<_> = tasks.into_iter().map(Some).collect();
        for gone in [0, 51] {
            assert!(tasks[gone].take().expect("it is there").cancel());
        }
        drop(all);
        for task in tasks.into_iter().flatten() {
            assert_eq!(task.wait(), Ok(Ok(())));
        }
        let order = std::mem::take(&mut *order.lock().expect("no panic"));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted.len(), 98);
        // Two small ones may be in at once, and come to their turns in any order.
        let is_near = |(at, &number): (usize, &usize)| number.abs_diff(sorted[at]) <= 2;
        assert!(order.iter().enumerate().all(is_near), "{order:?}");
        assert_eq!((budget.used(), budget.waiting()), (0, 0));
    });
}

/// Panics whenever it can.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        silent_panic();
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            silent_panic();
        }
    }
}

fn poll(take: &mut Take, waker: &Waker) -> Poll<Result<Share, BudgetError>> {
    std::pin::Pin::new(take).poll(&mut Context::from_waker(waker))
}

#[test]
fn a_waker_that_panics_keeps_no_share_from_others() {
    let budget = Budget::new(2);
    let share = budget.try_take(2).expect("it is there");
    let mut bad: Vec<_> = (0..3).map(|_| budget.take(1)).collect();
    for take in &mut bad {
        let bomb = Waker::from(Arc::new(Bomb));
        assert!(poll(take, &bomb).is_pending());
        // The waker's own reference goes without an explosion: the line has another.
        drop(bomb);
    }
    let mut good = budget.take(1);
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    assert!(poll(&mut good, &waker).is_pending());
    drop(share);
    assert_eq!((budget.used(), budget.waiting()), (2, 2));
    // One has its share, one waits: both go.
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(bad)));
    assert!(dropped.is_ok(), "no destructor lets a panic out");
    assert_eq!(wakes.0.load(Relaxed), 1);
    assert!(matches!(poll(&mut good, &waker), Poll::Ready(Ok(_))));
    assert_eq!((budget.used(), budget.waiting()), (0, 0));
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A waker that asks the budget, and a destructor that does.
struct Asks {
    budget: Budget,
    kept: Mutex<Option<Share>>,
}

impl Wake for Asks {
    fn wake(self: Arc<Self>) {
        let taken = self.budget.try_take(1).ok();
        *self.kept.lock().expect("no panic") = taken;
        self.budget.set_limit(self.budget.limit() + 1);
    }
}

impl Drop for Asks {
    fn drop(&mut self) {
        let _ = self.budget.try_take(1);
        self.budget.set_limit(self.budget.limit());
    }
}

#[test]
fn wakers_and_destructors_may_use_the_budget() {
    bounded("reentrance", || {
        let budget = Budget::new(1);
        let share = budget.try_take(1).expect("it is there");
        let asks = || {
            Waker::from(Arc::new(Asks {
                budget: budget.clone(),
                kept: Mutex::new(None),
            }))
        };
        let mut takes: Vec<_> = (0..3).map(|_| budget.take(1)).collect();
        for take in &mut takes {
            for _ in 0..2 {
                assert!(poll(take, &asks()).is_pending());
            }
        }
        drop(share);
        // Each that was let in has raised the limit for the next.
        for take in &mut takes {
            assert!(matches!(poll(take, &asks()), Poll::Ready(Ok(_))));
        }
        drop(takes);
        assert_eq!((budget.used(), budget.waiting()), (0, 0));
    });
}

#[test]
fn a_share_in_a_state_is_given_back_with_it() {
    bounded("a share in a state", || {
        let budget = Budget::new(10);
        let rt = runtime(1);
        let session = rt.colored(budget.try_take(6).expect("there is room"));
        assert_eq!(session.blocking_with(|share| share.amount()), 6);
        assert_eq!(budget.used(), 6);
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        assert_eq!(budget.used(), 0);
        drop(session);
    });
}
