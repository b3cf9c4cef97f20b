//! Many stages that feed each other.

use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mely_stage::{Batch, Circle, Ending, Manager, StageContext, StageOptions, each};

use crate::{LONG, assert_accounted, runtime};

#[test]
fn ways_that_part_and_meet_again_are_walked_once() {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let rt = runtime();
        let stages = Manager::new(&rt);
        let make = |name: &str| {
            stages
                .create(name, StageOptions::new().colors(1), |_| each(|_: u32| ()))
                .expect("created")
        };
        let mut below = [make("0a"), make("0b")];
        for layer in 1..32 {
            let here = [make(&format!("{layer}a")), make(&format!("{layer}b"))];
            for from in &here {
                for to in &below {
                    from.feed(&to.sink()).expect("no circle");
                }
            }
            below = here;
        }
        tell.send(()).expect("heard");
    });
    told.recv_timeout(Duration::from_secs(10)).expect("walked");
}

#[test]
fn a_long_chain_is_walked_and_dropped() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let options = || StageOptions::new().colors(1);
    let make = |name: usize, options| {
        let stage = stages.create(&name.to_string(), options, |_| each(|_: u32| ()));
        stage.expect("created")
    };
    let last = make(0, options());
    let first = (1..20_000).fold(last.clone(), |next, n| {
        make(n, options().feeds(&next.sink()))
    });
    assert_eq!(last.feed(&first.sink()), Err(Circle));
    drop(last);
    drop(stages);
    drop(first);
}

#[test]
fn a_long_chain_of_held_stages_ends_with_its_runtime() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let end = StageOptions::new().colors(1).capacity(1);
    let mut last = stages
        .create("end", end, |_| {
            |_: &mut Batch<'_, u32>, _: &mut StageContext<'_>| ()
        })
        .expect("created");
    last.sink().offer(1).expect("room");
    let mut all = vec![last.clone()];
    for n in 0..2_000 {
        let options = StageOptions::new()
            .colors(1)
            .capacity(1)
            .feeds(&last.sink());
        let stage = stages
            .create(&n.to_string(), options, |_| each(|_: u32| ()))
            .expect("created");
        stage.sink().offer(1).expect("room");
        while stage.snapshot().held == 0 {
            std::thread::yield_now();
        }
        last = stage;
        all.push(last.clone());
    }
    drop(rt);
    for stage in all {
        stage.wait_ended(LONG).expect("ended");
        assert_accounted(&stage.snapshot());
    }
}

#[test]
fn a_stage_that_has_ended_is_fed_no_more() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let head = stages
        .create("head", StageOptions::new(), |_| each(|_: u32| ()))
        .expect("created");
    let mut gone = Vec::new();
    for n in 0..20 {
        let token = Arc::new(());
        gone.push(Arc::downgrade(&token));
        let next = stages.create("next", StageOptions::new(), move |_| {
            let _token = &token;
            each(|_: u32| ())
        });
        let next = next.expect("created");
        head.feed(&next.sink()).expect("no circle");
        head.sink().offer(n).expect("room");
        next.destroy(Ending::Drain, LONG).expect("drained");
    }
    let alive = gone
        .iter()
        .filter(|token: &&Weak<()>| token.upgrade().is_some())
        .count();
    assert!(alive <= 2, "{alive} of 20 ended stages are kept");
}
