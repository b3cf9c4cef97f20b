//! What a panic does to its color when nobody has chosen.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mely::{CallError, Handle, OnPanic, Policy, PostError, Runtime};

use crate::checkers::conserved;
use crate::support::{Gate, bounded, eventually, holds, panicked, settle, silent_panic};

const LATE: Duration = Duration::from_secs(3_600);

fn everywhere(name: &'static str, check: fn(&Handle)) {
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        for workers in [1, 2] {
            bounded(name, move || {
                let rt = Runtime::builder().workers(workers).policy(policy).build();
                let rt = rt.expect("a runtime");
                check(&rt);
                settle(&rt);
                holds(conserved(&rt.metrics().events));
            });
        }
    }
}

#[test]
fn a_state_that_a_panic_may_have_torn_is_served_to_nobody() {
    everywhere("torn", |rt| {
        let token = Arc::new(());
        let color = rt.colored((0, Arc::clone(&token)));
        let (held, waiting) = (Arc::clone(&token), Arc::clone(&token));
        let timer = color.post_after(LATE, move |_, _| drop(held));
        let task = color.spawn(std::future::poll_fn(move |_| {
            let _held = &waiting;
            Poll::<()>::Pending
        }));
        let gate = Gate::default();
        let passing = gate.clone();
        let failed = color.call(move |state, _| -> u8 {
            passing.pass("what comes after it is posted");
            state.0 += 1;
            silent_panic()
        });
        let behind: Vec<_> = (0..3).map(|_| color.call(|state, _| state.0)).collect();
        gate.arrive();
        assert_eq!(failed.wait(), panicked());
        for reply in behind {
            assert_eq!(reply.wait(), Err(CallError::Poisoned), "it was accepted");
        }
        eventually("all that the color had goes", || {
            Arc::strong_count(&token) == 1
        });
        assert!(!timer.is_pending());
        assert!(task.wait().is_err());
        assert!(matches!(color.post(|_, _| ()), Err(PostError::Poisoned(_))));
        assert!(matches!(
            color.with_handler(&crate::panics::FAULTY).post(|_, _| ()),
            Err(PostError::Poisoned(_))
        ));
        assert_eq!(
            color.try_blocking_with(|state| state.0),
            Err(CallError::Poisoned)
        );
        let other = rt.new_color();
        let inside = other.call(move |(), _| color.post(|_, _| ()).is_ok());
        assert_eq!(inside.wait(), Ok(false));
    });
}

#[test]
fn a_color_without_state_has_nothing_torn() {
    everywhere("no state", |rt| {
        let alone = rt.new_color();
        let group = rt.group();
        let member = group.adopt(rt.new_color(), ());
        for color in [alone, member, rt.numbered_color(3), rt.numbered_color(0)] {
            let failed = color.call(|(), _| -> () { silent_panic() });
            assert_eq!(failed.wait(), panicked());
            assert_eq!(color.call(|(), _| 5).wait(), Ok(5));
        }
    });
}

#[test]
fn a_state_that_came_later_counts() {
    everywhere("attached", |rt| {
        let color = rt.new_color();
        let names = color.attach(String::from("one"));
        let failed = color.call(|(), _| -> () { silent_panic() });
        assert_eq!(failed.wait(), panicked());
        assert_eq!(
            names.try_blocking_with(|text| text.len()),
            Err(CallError::Poisoned)
        );
        let goes_on = rt.color_options().on_panic(OnPanic::Continue);
        let goes_on = goes_on.colored(1).expect("no home was chosen");
        let failed = goes_on.call(|_, _| -> () { silent_panic() });
        assert_eq!(failed.wait(), panicked());
        assert_eq!(goes_on.blocking_with(|n| *n), 1);
    });
}

/// A handler that has stopped its color and then panics: it was stopped, for that reason.
#[test]
fn a_panic_after_a_stop_does_no_more() {
    everywhere("both", |rt| {
        let color = rt.colored(1);
        let failed = color.call(|_, cx| -> () {
            cx.color().stop(mely::Pending::Drop);
            silent_panic()
        });
        assert_eq!(failed.wait(), panicked());
        assert!(color.post(|_, _| ()).is_err());
    });
}
