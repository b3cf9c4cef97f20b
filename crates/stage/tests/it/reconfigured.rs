//! Stages that are changed while events are offered and handled.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use mely_sched::BatchingOptions;
use mely_sched::Nanos;
use mely_sched::admission::{AdmissionChain, Deadline, Reason, Threshold};
use mely_stage::{Ending, Manager, Refusal, Schedule, Shed, StageOptions, each};

use crate::{LONG, assert_accounted, runtime};

#[test]
fn settings_may_change_while_offers_race() {
    let rt = runtime();
    let stage = Manager::new(&rt).create("raced", StageOptions::new(), |_| each(|_: u32| ()));
    let stage = stage.expect("created");
    let is_over = Arc::new(AtomicBool::new(false));
    let offering: Vec<_> = (0..2)
        .map(|_| {
            let (sink, is_over) = (stage.sink(), Arc::clone(&is_over));
            std::thread::spawn(move || {
                let mut accepted = 0;
                while !is_over.load(Relaxed) {
                    accepted += u64::from(sink.offer_or_shed(7));
                }
                accepted
            })
        })
        .collect();
    for round in 0..300_usize {
        stage.set_capacity(round % 7 * 10);
        let pushed = stage.push_policy(Threshold::new(round as u64 % 5));
        stage.set_batch(BatchingOptions {
            batch_max: round as u32 % 9,
            batch_min: 0,
            ..BatchingOptions::default()
        });
        stage.set_schedule(match round % 3 {
            0 => Schedule::Eager,
            events => Schedule::Delayed {
                events,
                after: std::time::Duration::from_micros(10),
            },
        });
        assert!(!stage.set_threads(mely_sched::GovernorOptions::default()));
        if round % 2 == 0 {
            assert!(stage.remove_policy(pushed));
            assert!(!stage.remove_policy(pushed));
        } else {
            stage.set_admission(AdmissionChain::within(Nanos::from_micros(round as u64)));
        }
        assert_accounted(&stage.snapshot());
    }
    is_over.store(true, Relaxed);
    let accepted: u64 = offering
        .into_iter()
        .map(|one| one.join().expect("no panic"))
        .sum();
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert_eq!(assert_accounted(&stage.snapshot()).accepted, accepted);
}

#[test]
fn an_event_is_judged_by_the_policies_that_admitted_it() {
    let rt = runtime();
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let options = StageOptions::new().colors(1).schedule(Schedule::Delayed {
        events: 3,
        after: LONG * 1000,
    });
    // What has waited at all has waited too long.
    let options = options
        .admission(AdmissionChain::new().and(Deadline::new(Nanos::ZERO)))
        .on_shed(move |n: u32, why| tell.lock().expect("whole").send((n, why)).expect("heard"));
    let stage = Manager::new(&rt).create("judged", options, |_| each(|_| ()));
    let stage = stage.expect("created");
    let sink = stage.sink();
    sink.offer(1).expect("room");
    stage.set_admission(AdmissionChain::new().and(Threshold::new(2)));
    sink.offer(2).expect("room");
    let refused = sink.offer(3).expect_err("two wait");
    assert_eq!(refused.why, Refusal::Admission(Reason::QueueLong));
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert_eq!(
        told.try_iter().collect::<Vec<_>>(),
        [(1, Shed::Expired(Reason::TooOld))]
    );
    assert_eq!(assert_accounted(&stage.snapshot()).handled, 1);
}
