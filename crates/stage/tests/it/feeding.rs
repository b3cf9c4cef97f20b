//! Stages that feed others: held while those are full, split, in circles.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};

use mely_sched::GovernorOptions;
use mely_stage::{
    Batch, Circle, Control, Ending, Manager, Refusal, Sink, StageContext, StageOptions, each, split,
};

use crate::{LONG, assert_accounted, runtime};

/// A stage of one color whose handler waits before each event until it may go on.
fn gated(stages: &Manager, name: &str, capacity: usize) -> (Control<u32>, Sender<()>) {
    let (go, may_go) = channel::<()>();
    let may_go = Arc::new(Mutex::new(may_go));
    let options = StageOptions::new().colors(1).capacity(capacity);
    let stage = stages.create(name, options, move |_| {
        let may_go: Arc<Mutex<Receiver<()>>> = Arc::clone(&may_go);
        each(move |_: u32| _ = may_go.lock().expect("whole").recv())
    });
    (stage.expect("created"), go)
}

/// Waits until something that will be so is so.
fn until(is: impl Fn() -> bool) {
    while !is() {
        std::thread::yield_now();
    }
}

fn of_both_kinds() -> [StageOptions<u32>; 2] {
    let one = GovernorOptions {
        threads_max: 1,
        ..GovernorOptions::default()
    };
    [
        StageOptions::new().colors(1),
        StageOptions::new().threads(one),
    ]
}

#[test]
fn a_stage_is_not_scheduled_while_what_it_feeds_is_full() {
    for options in of_both_kinds() {
        let rt = runtime();
        let stages = Manager::new(&rt);
        let (down, go) = gated(&stages, "down", 4);
        // One is in hand, four wait.
        down.sink().offer(0).expect("room");
        until(|| down.snapshot().counts.running == 1);
        (1..5).for_each(|n| down.sink().offer(n).expect("room"));

        let calls = Arc::new(AtomicU64::new(0));
        let (counted, to) = (Arc::clone(&calls), down.sink());
        let up = stages.create("up", options.feeds(&down.sink()), move |_| {
            let (calls, to) = (Arc::clone(&counted), to.clone());
            move |batch: &mut Batch<'_, u32>, _: &mut StageContext<'_>| {
                calls.fetch_add(1, Relaxed);
                batch.for_each(|n| to.offer(n).expect("scheduled only when there is room"));
            }
        });
        let up = up.expect("created");
        (0..20).for_each(|n| up.sink().offer(n).expect("room"));
        until(|| up.snapshot().held == 1);
        rt_settles(&rt);
        assert_eq!((calls.load(Relaxed), up.snapshot().queued), (0, 20));
        up.set_capacity(20);
        let refused = up.sink().offer(20).expect_err("it is held");
        assert_eq!(refused.why, Refusal::Clogged);

        (0..25).for_each(|_| go.send(()).expect("waits"));
        up.destroy(Ending::Drain, LONG).expect("drained");
        down.destroy(Ending::Drain, LONG).expect("drained");
        assert_eq!(assert_accounted(&up.snapshot()).handled, 20);
        let counts = assert_accounted(&down.snapshot()).clone();
        assert_eq!((counts.handled, counts.refused()), (25, 0));
    }
}

/// Lets all that is posted so far run on the worker that is free.
fn rt_settles(rt: &mely::Runtime) {
    for _ in 0..100 {
        rt.new_color().call(|_, _| ()).wait().expect("runs");
    }
}

#[test]
fn a_held_stage_goes_on_when_the_next_one_ends_or_grows_or_is_drained() {
    for how in 0..3 {
        let rt = runtime();
        let stages = Manager::new(&rt);
        let (down, go) = gated(&stages, "down", 1);
        down.sink().offer(0).expect("room");
        until(|| down.snapshot().counts.running == 1);
        down.sink().offer(1).expect("room");
        let to = down.sink();
        let options = StageOptions::new().colors(1).feeds(&to);
        let up = stages.create("up", options, move |_| {
            let to = to.clone();
            each(move |n| _ = to.offer(n))
        });
        let up = up.expect("created");
        (0..3).for_each(|n| up.sink().offer(n).expect("room"));
        rt_settles(&rt);
        assert_eq!(up.snapshot().queued, 3);
        match how {
            0 => down.set_capacity(100),
            1 => drop(down.end(Ending::HandBack)),
            _ => down.set_capacity(0),
        }
        up.destroy(Ending::Drain, LONG).expect("drained");
        assert_eq!(assert_accounted(&up.snapshot()).handled, 3);
        drop(go);
        down.destroy(Ending::Drain, LONG).expect("drained");
        assert_accounted(&down.snapshot());
    }
}

#[test]
fn a_held_stage_can_be_destroyed_with_its_events_handed_back() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let (down, go) = gated(&stages, "down", 1);
    down.sink().offer(0).expect("room");
    until(|| down.snapshot().counts.running == 1);
    down.sink().offer(1).expect("room");
    for options in of_both_kinds() {
        let options = options.feeds(&down.sink());
        let up = stages.create("up", options, |_| each(|_: u32| ()));
        let up = up.expect("created");
        (0..3).for_each(|n| up.sink().offer(n).expect("room"));
        assert_eq!(
            up.destroy(Ending::HandBack, LONG).expect("ended"),
            [0, 1, 2]
        );
    }
    drop(go);
}

#[test]
fn a_circle_of_ways_is_not_declared() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let make = |name: &str| {
        let stage = stages.create(name, StageOptions::new(), |_| each(|_: u32| ()));
        stage.expect("created")
    };
    let (a, b, c) = (make("a"), make("b"), make("c"));
    assert_eq!(a.feed(&a.sink()), Err(Circle));
    assert_eq!(a.feed(&b.sink()), Ok(()));
    assert_eq!(b.feed(&c.sink()), Ok(()));
    assert_eq!(a.feed(&c.sink()), Ok(()));
    assert_eq!(c.feed(&a.sink()), Err(Circle));
    assert_eq!(c.feed(&b.sink()), Err(Circle));
}

/// Two stages each of which offers what it gets to the other, until it has gone so far.
fn ping_pong(rt: &mely::Runtime, is_declared: bool) -> [Control<u32>; 2] {
    let stages = Manager::new(rt);
    let other: Arc<OnceLock<Sink<u32>>> = Arc::default();
    let to = Arc::clone(&other);
    let options = || StageOptions::new().capacity(2).colors(1);
    let a = stages.create("a", options(), move |_| {
        let to = Arc::clone(&to);
        each(move |left: u32| {
            let to = to.get().expect("set");
            _ = left.checked_sub(1).map(|left| to.offer_or_shed(left));
        })
    });
    let a = a.expect("created");
    let to = a.sink();
    let options = match is_declared {
        true => options().feeds(&to),
        false => options(),
    };
    let b = stages.create("b", options, move |_| {
        let to = to.clone();
        each(move |left: u32| _ = left.checked_sub(1).map(|left| to.offer_or_shed(left)))
    });
    let b = b.expect("created");
    other.set(b.sink()).expect("unset");
    [a, b]
}

#[test]
fn two_full_stages_that_feed_each_other_go_on() {
    for is_declared in [false, true] {
        let rt = runtime();
        let both = ping_pong(&rt, is_declared);
        for _ in 0..200 {
            for stage in &both {
                _ = stage.sink().offer(100);
            }
        }
        rt.wait_idle();
        for stage in &both {
            let seen = stage.snapshot();
            assert_eq!((seen.queued, seen.counts.running), (0, 0));
            let counts = assert_accounted(&seen);
            assert_eq!(counts.handled, counts.accepted);
        }
    }
}

#[test]
fn a_pipeline_that_reserves_first_loses_nothing() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let down = stages.create("down", StageOptions::new().capacity(3), |_| {
        each(|_: u32| ())
    });
    let down = down.expect("created");
    let to = down.sink();
    let options = StageOptions::new().capacity(1_000).feeds(&to);
    let up = stages.create("up", options, move |_| {
        let to = to.clone();
        move |batch: &mut Batch<'_, u32>, _: &mut StageContext<'_>| {
            while let Ok(place) = to.reserve(&0) {
                match batch.next() {
                    Some(n) => place.fill(n),
                    None => break,
                }
            }
        }
    });
    let up = up.expect("created");
    (0..1_000).for_each(|n| up.sink().offer(n).expect("room"));
    up.destroy(Ending::Drain, LONG).expect("drained");
    down.destroy(Ending::Drain, LONG).expect("drained");
    assert_eq!(assert_accounted(&up.snapshot()).handled, 1_000);
    assert_eq!(assert_accounted(&down.snapshot()).handled, 1_000);
}

#[test]
fn a_split_is_taken_by_all_or_by_none() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let ((a, _go_a), (b, _go_b)) = (gated(&stages, "a", 2), gated(&stages, "b", 1));
    a.sink().offer(0).expect("room");
    b.sink().offer(0).expect("room");
    until(|| a.snapshot().counts.running + b.snapshot().counts.running == 2);
    let (to_a, to_b) = (a.sink(), b.sink());
    split(((&to_a, 1), (&to_b, 1))).expect("room in both");
    let refused = split(((&to_a, 2), (&to_b, 2))).expect_err("the second is full");
    assert_eq!((refused.part, refused.why), (1, Refusal::Full));
    assert_eq!(refused.offers.0.1, 2);
    assert_eq!((a.snapshot().queued, a.snapshot().reserved), (1, 0));
    let refused = split(vec![(&to_a, 2), (&to_a, 3)]).expect_err("room for one of them");
    assert_eq!(refused.part, 1);
    split(vec![(&to_a, 2)]).expect("room");
    assert_eq!(assert_accounted(&a.snapshot()).withdrawn, 2);
    assert_accounted(&b.snapshot());
}

#[test]
fn a_held_stage_that_nobody_refers_to_keeps_its_events() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let (down, go) = gated(&stages, "down", 1);
    down.sink().offer(0).expect("room");
    until(|| down.snapshot().counts.running == 1);
    down.sink().offer(1).expect("room");
    let to = down.sink();
    let options = StageOptions::new().colors(1).feeds(&to);
    // By a manager of its own, which goes, too.
    let up = Manager::new(&rt).create("up", options, move |_| {
        let to = to.clone();
        each(move |n| to.offer(n).expect("room"))
    });
    up.expect("created").sink().offer(7).expect("room");
    rt_settles(&rt);
    (0..3).for_each(|_| go.send(()).expect("waits"));
    until(|| down.snapshot().counts.handled == 3);
    assert_accounted(&down.snapshot());
}
