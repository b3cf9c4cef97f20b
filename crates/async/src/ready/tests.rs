use super::*;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Wake;

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn counting() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (Arc::clone(&count), Waker::from(count))
}

const READ: Readiness = Readiness {
    readable: true,
    writable: false,
    closed: false,
};

#[test]
fn an_edge_between_look_and_clear_is_not_lost() {
    let ready = Ready::unknown();
    let seen = ready.seen();
    ready.come(READ);
    assert!(!ready.clear(seen, Way::Read));
    assert!(ready.seen().is(Way::Read));
    let seen = ready.seen();
    assert!(ready.clear(seen, Way::Read));
    assert!(!ready.seen().is(Way::Read) && ready.seen().is(Way::Write));
}

#[test]
fn what_the_other_way_clears_is_no_edge() {
    let ready = Ready::unknown();
    let seen = ready.seen();
    assert!(ready.clear(seen, Way::Write));
    assert!(ready.clear(seen, Way::Read));
}

#[test]
fn who_enlists_after_the_edge_does_not_wait() {
    let ready = Ready::unknown();
    let (count, waker) = counting();
    assert!(ready.clear(ready.seen(), Way::Read));
    ready.come(READ);
    assert!(!ready.enlist(Way::Read, Waiter::Poller, &waker));
    assert_eq!(count.0.load(Relaxed), 0);
}

#[test]
fn an_edge_wakes_those_that_it_is_for_once() {
    let ready = Ready::unknown();
    let ((reads, reader), (writes, writer)) = (counting(), counting());
    ready.clear(ready.seen(), Way::Read);
    ready.clear(ready.seen(), Way::Write);
    assert!(ready.enlist(Way::Read, Waiter::Poller, &reader));
    assert!(ready.enlist(Way::Read, ready.number(), &reader));
    assert!(ready.enlist(Way::Write, Waiter::Poller, &writer));
    ready.come(READ);
    ready.come(READ);
    assert_eq!((reads.0.load(Relaxed), writes.0.load(Relaxed)), (2, 0));
    ready.wake_waiters();
    assert_eq!(writes.0.load(Relaxed), 1);
}

#[test]
fn of_a_poller_the_last_waker_counts() {
    let ready = Ready::unknown();
    let ((old, before), (new, after)) = (counting(), counting());
    ready.clear(ready.seen(), Way::Read);
    assert!(ready.enlist(Way::Read, Waiter::Poller, &before));
    assert!(ready.enlist(Way::Read, Waiter::Poller, &after));
    drop((before, after));
    assert_eq!(Arc::strong_count(&old), 1);
    ready.come(READ);
    assert_eq!((old.0.load(Relaxed), new.0.load(Relaxed)), (0, 1));
}

#[test]
fn who_is_struck_is_not_woken_nor_kept() {
    let ready = Ready::unknown();
    let (count, waker) = counting();
    ready.clear(ready.seen(), Way::Read);
    let number = ready.number();
    assert!(ready.enlist(Way::Read, number, &waker));
    let (_other, other) = counting();
    assert!(ready.others_wait(Way::Read, Waiter::Poller, &other));
    assert!(!ready.others_wait(Way::Read, Waiter::Poller, &waker));
    assert!(!ready.others_wait(Way::Read, number, &other));
    ready.strike(Way::Read, number);
    ready.come(READ);
    drop(waker);
    assert_eq!((count.0.load(Relaxed), Arc::strong_count(&count)), (0, 1));
}
