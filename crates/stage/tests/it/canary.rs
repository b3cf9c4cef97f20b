//! Bugs that the law must catch.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mely_stage::{Manager, Snapshot, StageOptions, each};

use crate::{assert_accounted, runtime};

#[test]
fn the_law_sees_an_event_that_is_lost_or_counted_twice() {
    let rt = runtime();
    let stage = Manager::new(&rt).create("counted", StageOptions::new(), |_| each(|_: u32| ()));
    let stage = stage.expect("created");
    stage.sink().offer(7).expect("room");
    rt.wait_idle();
    let seen = stage.snapshot();
    assert_accounted(&seen);
    let bugs: [fn(&mut Snapshot); 5] = [
        |seen| seen.counts.handled = 0,
        |seen| seen.counts.ended += 1,
        |seen| seen.counts.withdrawn += 1,
        |seen| seen.queued += 1,
        |seen| seen.reserved += 1,
    ];
    for bug in bugs {
        let mut seen = seen.clone();
        bug(&mut seen);
        let checked = catch_unwind(AssertUnwindSafe(|| _ = assert_accounted(&seen)));
        assert!(checked.is_err(), "{seen:?}");
    }
}
