use super::*;
use core::cell::Cell;
use mely_sched::Link;

#[derive(Debug, PartialEq, Eq)]
struct Number(Box<NumberTarget>);

#[derive(Debug, PartialEq, Eq)]
struct NumberTarget {
    link: Link<NumberTarget>,
    value: u64,
}

fn number(value: u64) -> Number {
    Number(Box::new(NumberTarget {
        link: Cell::new(None),
        value,
    }))
}

// SAFETY: plain data, reached by its owner alone.
unsafe impl Send for Number {}

// SAFETY: a box leaked and taken back; the link is a plain field of it.
unsafe impl Linked for Number {
    type Target = NumberTarget;

    fn into_raw(self) -> NonNull<NumberTarget> {
        NonNull::from(Box::leak(self.0))
    }

    unsafe fn from_raw(raw: NonNull<NumberTarget>) -> Self {
        // SAFETY: `raw` was leaked by `into_raw`.
        Self(unsafe { Box::from_raw(raw.as_ptr()) })
    }

    unsafe fn link<'a>(raw: NonNull<NumberTarget>) -> &'a Link<NumberTarget> {
        // SAFETY: the caller vouches that `raw` is live; only the link is reached.
        unsafe { &(*raw.as_ptr()).link }
    }
}

fn values(list: &List<Number>) -> Vec<u64> {
    std::iter::from_fn(|| list.pop_front())
        .map(|n| n.0.value)
        .collect()
}

#[test]
fn inbox_walks_through_its_states() {
    let inbox = Inbox::new_closed();
    assert!(inbox.is_closed() && inbox.close().is_err());
    assert_eq!(inbox.push(number(1)), Pushed::Opened);
    assert_eq!(inbox.push(number(2)), Pushed::Queued);
    assert_eq!(inbox.close(), Err(Left::Elements));
    assert!(inbox.has_elements() && !inbox.open());
    assert_eq!(values(&inbox.take()), [1, 2]);
    assert!(inbox.take().is_empty() && inbox.close().is_ok());
    assert!(inbox.open() && !inbox.open());
    assert_eq!(inbox.push(number(3)), Pushed::Queued);
}

#[test]
fn inbox_that_is_barred_keeps_what_it_has_for_its_owner() {
    let inbox = Inbox::new_open();
    assert_eq!(inbox.push(number(1)), Pushed::Queued);
    assert_eq!(inbox.push(number(2)), Pushed::Queued);
    assert!(!inbox.is_barred() && !inbox.bar() && !inbox.bar());
    assert_eq!(inbox.push(number(3)), Pushed::Barred(number(3)));
    assert!(inbox.is_barred() && inbox.has_elements() && !inbox.is_quiet());
    assert!(inbox.take().is_empty() && !inbox.open());
    inbox.look(0, |_| panic!("it is not run"));
    assert_eq!(inbox.close(), Err(Left::Elements));
    assert_eq!(values(&inbox.shut_down()), [1, 2]);
    assert_eq!(inbox.close(), Err(Left::Barred));
    assert_eq!(inbox.push(number(4)), Pushed::Barred(number(4)));
    assert!(!inbox.has_elements() && !inbox.is_quiet() && inbox.shut_down().is_empty());
    // Closed, it is the caller's.
    let closed = Inbox::<Number>::new_closed();
    assert!(closed.bar() && !closed.bar() && !closed.open());
    assert_eq!(closed.close(), Err(Left::Barred));
}

#[test]
fn inbox_takes_from_a_closed_one_leave_it_closed() {
    let inbox = Inbox::<Number>::new_closed();
    assert!(inbox.take().is_empty() && inbox.is_closed());
}

#[test]
fn inbox_of_two_pushers_keeps_the_order_of_each() {
    const EACH: u64 = if cfg!(miri) { 30 } else { 20_000 };
    let inbox = Inbox::new_closed();
    let mut seen = [0, EACH];
    std::thread::scope(|scope| {
        for base in [0, EACH] {
            let inbox = &inbox;
            scope.spawn(move || (base..base + EACH).for_each(|v| drop(inbox.push(number(v)))));
        }
        while seen != [EACH, 2 * EACH] {
            for value in values(&inbox.take()) {
                let next = &mut seen[usize::from(value >= EACH)];
                assert_eq!(value, *next);
                *next += 1;
            }
            std::hint::spin_loop();
        }
    });
}
