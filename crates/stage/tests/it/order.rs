//! Which events are handled where, and in which order.

use std::sync::mpsc::channel;
use std::time::Duration;

use mely_sched::BatchingOptions;
use mely_stage::{Batch, Ending, Manager, Schedule, StageContext, StageOptions, each};

use crate::{LONG, assert_accounted, runtime};

#[test]
fn events_of_a_key_are_handled_in_order_and_by_one_instance() {
    let rt = runtime();
    let (tell, told) = channel();
    let options = StageOptions::new().capacity(100_000).colors(5);
    let stage = Manager::new(&rt).create(
        "keys",
        options.key(|(key, _): &(u64, u32)| *key),
        move |number| {
            let tell = tell.clone();
            each(move |(key, n)| tell.send((number, key, n)).expect("heard"))
        },
    );
    let stage = stage.expect("created");
    for n in 0..2_000 {
        for key in 0..7 {
            stage.sink().offer((key, n)).expect("room");
        }
    }
    assert!(
        stage
            .destroy(Ending::Drain, LONG)
            .expect("drained")
            .is_empty()
    );
    let mut next = [0; 7];
    for (number, key, n) in told.try_iter() {
        assert_eq!(number as u64, key % 5);
        assert_eq!(n, next[key as usize]);
        next[key as usize] += 1;
    }
    assert_eq!(next, [2_000; 7]);
    assert_eq!(assert_accounted(&stage.snapshot()).handled, 14_000);
}

#[test]
fn urgent_events_come_first_and_equal_ones_in_their_order() {
    let rt = runtime();
    let (tell, told) = channel();
    let ((open, opened), (begin, begun)) = (channel::<()>(), channel());
    let opened = std::sync::Mutex::new(Some(opened));
    let options = StageOptions::new()
        .colors(1)
        .urgency(|(urgency, _): &(i64, u32)| *urgency);
    let stage = Manager::new(&rt).create("urgent", options, move |_| {
        let (tell, begin) = (tell.clone(), begin.clone());
        let opened = opened.lock().expect("whole").take().expect("one");
        each(move |(urgency, n): (i64, u32)| {
            if n == 0 {
                begin.send(()).expect("heard");
                opened.recv().expect("opened");
            }
            tell.send((urgency, n)).expect("heard");
        })
    });
    let stage = stage.expect("created");
    stage.sink().offer((0, 0)).expect("room");
    begun.recv_timeout(LONG).expect("begun");
    for event in [(1, 1), (5, 2), (-3, 3), (5, 4), (1, 5)] {
        stage.sink().offer(event).expect("room");
    }
    open.send(()).expect("waits");
    stage.destroy(Ending::Drain, LONG).expect("drained");
    let order: Vec<_> = told.try_iter().collect();
    assert_eq!(order, [(0, 0), (5, 2), (5, 4), (1, 1), (1, 5), (-3, 3)]);
}

#[test]
fn delayed_events_are_handled_together_when_enough_have_come() {
    let rt = runtime();
    let (tell, told) = channel();
    let schedule = Schedule::Delayed {
        events: 10,
        after: LONG * 60,
    };
    let stage = Manager::new(&rt).create(
        "late",
        StageOptions::new().colors(1).schedule(schedule),
        move |_| {
            let tell = tell.clone();
            move |batch: &mut Batch<'_, u32>, _: &mut StageContext<'_>| {
                tell.send(batch.take_all()).expect("heard");
            }
        },
    );
    let stage = stage.expect("created");
    for n in 0..9 {
        stage.sink().offer(n).expect("room");
    }
    assert_eq!(stage.snapshot().queued, 9);
    stage.sink().offer(9).expect("room");
    let together = told.recv_timeout(LONG).expect("handled");
    assert_eq!(together, (0..10).collect::<Vec<_>>());
    // Few, and the time is never up: nobody comes until that changes.
    stage.sink().offer(10).expect("room");
    assert_eq!(stage.snapshot().queued, 1);
    stage.set_schedule(Schedule::Eager);
    assert_eq!(told.recv_timeout(LONG).expect("handled"), [10]);
    stage.destroy(Ending::Drain, LONG).expect("drained");
}

#[test]
fn delayed_events_are_handled_when_the_time_is_up() {
    let rt = runtime();
    let (tell, told) = channel();
    let schedule = Schedule::Delayed {
        events: 10,
        after: Duration::from_millis(1),
    };
    let stage = Manager::new(&rt).create(
        "late",
        StageOptions::new().colors(1).schedule(schedule),
        move |_| {
            let tell = tell.clone();
            each(move |n: u32| tell.send(n).expect("heard"))
        },
    );
    let stage = stage.expect("created");
    for n in 0..3 {
        stage.sink().offer(n).expect("room");
        assert_eq!(told.recv_timeout(LONG), Ok(n));
    }
}

#[test]
fn batches_are_no_larger_than_the_controller_says() {
    let rt = runtime();
    let batch = BatchingOptions {
        batch_min: 3,
        batch_max: 3,
        ..BatchingOptions::default()
    };
    let schedule = Schedule::Delayed {
        events: 30,
        after: LONG,
    };
    let options = StageOptions::new()
        .colors(1)
        .batch(batch)
        .schedule(schedule);
    let stage = Manager::new(&rt).create("three", options, |_| {
        |batch: &mut Batch<'_, u32>, _: &mut StageContext<'_>| {
            assert!(batch.len() <= 3);
            assert!(batch.take_all().len() <= 3);
            assert!(batch.is_empty());
        }
    });
    let stage = stage.expect("created");
    (0..30).for_each(|n| stage.sink().offer(n).expect("room"));
    stage.destroy(Ending::Drain, LONG).expect("drained");
    let seen = stage.snapshot();
    assert_eq!((seen.counts.handled, seen.counts.panics), (30, 0));
    assert_eq!((seen.batches.count(), seen.batches.sum()), (10, 30));
}
