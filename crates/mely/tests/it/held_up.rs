//! A worker that does not come: what waits behind it is done by the others.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mely::net::UnixStream;
use mely::{Color, Handler, Policy, Runtime};

use crate::support::{Gate, OpenOnDrop, WAIT, bounded, echo, eventually};

static BLOCKS: Handler = Handler::new("held_up::Blocks");
static READY: Handler = Handler::new("held_up::Ready");

/// A runtime of two, of which the first is held, by a handler that was short before, until
/// the gate opens.
fn held(policy: Policy) -> (Runtime, OpenOnDrop) {
    let builder = Runtime::builder().workers(2).policy(policy);
    let rt = builder.build().expect("a runtime");
    let blocker = at_first(&rt);
    for _ in 0..2_000 {
        blocker.with_handler(&BLOCKS).post_or_shed(|(), _| ());
    }
    rt.wait_idle();
    let (began, goes_on) = (Gate::default(), Gate::default());
    let (begins, waits) = (began.clone(), goes_on.clone());
    let pinned = rt.color_options().pin_to(0).new_color().expect("a worker");
    pinned.with_handler(&BLOCKS).post_or_shed(move |(), _| {
        begins.arrive();
        assert!(waits.wait_for(1, 2 * WAIT), "the test lets it go on");
    });
    began.pass("the first worker is held");
    (rt, OpenOnDrop(goes_on))
}

fn at_first(rt: &Runtime) -> Color {
    rt.color_options()
        .start_on(0)
        .new_color()
        .expect("a worker")
}

#[test]
fn timers_fire_in_order_behind_a_handler_that_blocks() {
    bounded("timers behind a handler", || {
        let (rt, open) = held(Policy::Adaptive);
        let color = rt
            .color_options()
            .start_on(0)
            .colored(Vec::new())
            .expect("a worker");
        let fired = Gate::default();
        for n in [3, 1, 2] {
            let fired = fired.clone();
            color.post_after(Duration::from_millis(n), move |seen, _| {
                seen.push(n);
                fired.arrive();
            });
        }
        assert!(
            fired.wait_for(3, WAIT),
            "timers wait for a handler that blocks"
        );
        assert_eq!(color.blocking_with(std::mem::take), [1, 2, 3]);
        drop(open);
    });
}

#[test]
fn sockets_are_served_behind_a_handler_that_blocks() {
    bounded("sockets behind a handler", || {
        let builder = Runtime::builder().workers(2);
        let rt = builder.build().expect("a runtime");
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let connection = rt
            .color_options()
            .start_on(0)
            .colored(None)
            .expect("a worker");
        let mut stream = UnixStream::new(ours).expect("non-blocking");
        let target = connection.clone();
        connection.blocking_with(move |slot: &mut Option<UnixStream>| {
            let watched = stream.watch(&target, &READY, |slot, _, _| echo(slot));
            watched.expect("a watch");
            *slot = Some(stream);
        });
        let (began, goes_on) = (Gate::default(), Gate::default());
        let open = OpenOnDrop(goes_on.clone());
        let (begins, waits) = (began.clone(), goes_on);
        let pinned = rt.color_options().pin_to(0).new_color().expect("a worker");
        pinned.post_or_shed(move |(), _| {
            begins.arrive();
            assert!(waits.wait_for(1, 2 * WAIT), "the test lets it go on");
        });
        began.pass("the first worker is held");
        for _ in 0..3 {
            (&theirs).write_all(b"hello").expect("room for it");
            let mut answer = [0; 5];
            (&theirs).read_exact(&mut answer).expect("an answer");
            assert_eq!(&answer, b"hello");
        }
        drop(open);
    });
}

#[test]
fn colors_that_were_sent_to_a_held_worker_run_elsewhere_in_order() {
    for policy in [Policy::Adaptive, Policy::Mely, Policy::MelyBase] {
        bounded("colors behind a handler", move || {
            let (rt, open) = held(policy);
            let colors: Vec<_> = (0..50).map(|_| at_first(&rt).attach(Vec::new())).collect();
            let run = Arc::new(AtomicU32::new(0));
            for n in 0..10 {
                for color in &colors {
                    let run = Arc::clone(&run);
                    color.post_or_shed(move |seen, _| {
                        seen.push(n);
                        run.fetch_add(1, SeqCst);
                    });
                }
            }
            eventually("events behind a held worker run", || {
                run.load(SeqCst) == 500
            });
            for color in &colors {
                assert!(color.blocking_with(std::mem::take).into_iter().eq(0..10));
            }
            // A thief may have come before.
            let workers = &rt.metrics().workers;
            assert!(workers[0].takeovers + workers[1].steals > 0);
            drop(open);
        });
    }
}

/// One handler makes many colors ready on its own worker, behind one that blocks: they are
/// private to the worker, which has not thought them worth a steal.
#[test]
fn colors_private_to_a_held_worker_run_elsewhere_in_order() {
    for policy in [Policy::Adaptive, Policy::Mely, Policy::MelyBase] {
        bounded("private colors behind a handler", move || {
            let rt = Runtime::builder().workers(2).policy(policy).build();
            let rt = rt.expect("a runtime");
            let pin = || rt.color_options().pin_to(0).new_color().expect("a worker");
            let (starter, blocker) = (pin(), pin());
            for _ in 0..2_000 {
                blocker.with_handler(&BLOCKS).post_or_shed(|(), _| ());
            }
            let colors: Vec<_> = (0..500).map(|_| at_first(&rt).attach(Vec::new())).collect();
            rt.wait_idle();
            let run = Arc::new(AtomicU32::new(0));
            let (began, goes_on) = (Gate::default(), Gate::default());
            let (begins, waits, runs) = (began.clone(), goes_on.clone(), Arc::clone(&run));
            let open = OpenOnDrop(goes_on);
            let targets = colors.clone();
            starter.post_or_shed(move |(), _| {
                blocker.with_handler(&BLOCKS).post_or_shed(move |(), _| {
                    begins.arrive();
                    assert!(waits.wait_for(1, 2 * WAIT), "the test lets it go on");
                });
                for n in 0..4 {
                    for color in &targets {
                        let run = Arc::clone(&runs);
                        color.post_or_shed(move |seen: &mut Vec<u32>, _| {
                            seen.push(n);
                            run.fetch_add(1, SeqCst);
                        });
                    }
                }
            });
            began.pass("the first worker is held");
            eventually("events behind a held worker run", || {
                run.load(SeqCst) == 2_000
            });
            for color in &colors {
                assert!(color.blocking_with(std::mem::take).into_iter().eq(0..4));
            }
            drop(open);
        });
    }
}

#[test]
fn a_pinned_color_waits_for_its_worker() {
    bounded("a pinned color behind a handler", || {
        let (rt, open) = held(Policy::Adaptive);
        let pinned = rt.color_options().pin_to(0).new_color().expect("a worker");
        let ran_on = pinned.call(|(), cx| cx.worker());
        // Something that may move, sent later, runs before.
        assert_eq!(at_first(&rt).call(|(), cx| cx.worker()).wait(), Ok(1));
        drop(open);
        assert_eq!(ran_on.wait(), Ok(0));
    });
}
