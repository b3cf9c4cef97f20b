//! Stages that end, in every way.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use mely::Runtime;
use mely_sched::GovernorOptions;
use mely_stage::{Ending, Manager, Refusal, Schedule, Shed, StageOptions, Unended, each};

use crate::{LONG, assert_accounted, runtime};

fn one_thread() -> GovernorOptions {
    GovernorOptions {
        threads_max: 1,
        ..GovernorOptions::default()
    }
}

fn both_kinds<E: Send + 'static>() -> [StageOptions<E>; 2] {
    [
        StageOptions::new().colors(3),
        StageOptions::new().threads(one_thread()),
    ]
}

/// Nobody comes for events of such a stage until it ends.
const NEVER: Schedule = Schedule::Delayed {
    events: usize::MAX,
    after: Duration::from_secs(100_000),
};

#[test]
fn a_stage_drains_or_hands_back() {
    for (ending, handled) in [(Ending::Drain, 20), (Ending::HandBack, 0)] {
        for options in both_kinds() {
            let rt = runtime();
            let stages = Manager::new(&rt);
            let options = options.schedule(NEVER);
            let stage = stages.create("ends", options, |_| each(|_: u32| ()));
            let stage = stage.expect("created");
            (0..20).for_each(|n| stage.sink().offer(n).expect("room"));
            let mut events = stage.destroy(ending, LONG).expect("ended");
            events.sort_unstable();
            let handed_back = if handled == 0 { 20 } else { 0 };
            assert_eq!(events, (0..handed_back).collect::<Vec<_>>());
            let seen = stage.snapshot();
            let counts = assert_accounted(&seen);
            assert_eq!((counts.handled, seen.has_ended), (handled, true));
            let refused = stage.sink().offer(7).expect_err("ended");
            assert_eq!((refused.event, refused.why), (7, Refusal::Closed));
            // Its name is free, and to end it again is nothing.
            assert!(stages.find::<u32>("ends").is_err());
            assert!(stage.destroy(ending, LONG).expect("ended").is_empty());
            let again = stages.create("ends", StageOptions::new(), |_| each(|_: String| ()));
            assert!(again.is_ok());
        }
    }
}

#[test]
fn a_handler_that_does_not_come_back_is_told_of_and_its_queue_handed_back() {
    for options in both_kinds() {
        let rt = runtime();
        let ((open, opened), (begin, begun)) = (channel::<()>(), channel());
        let opened = Arc::new(Mutex::new(opened));
        let options = options.key(|_| 0);
        let stage = Manager::new(&rt).create("stuck", options, move |_| {
            let (opened, begin) = (Arc::clone(&opened), begin.clone());
            each(move |n: u32| {
                if n == 0 {
                    begin.send(()).expect("heard");
                    _ = opened.lock().expect("whole").recv();
                }
            })
        });
        let stage = stage.expect("created");
        stage.sink().offer(0).expect("room");
        begun.recv_timeout(LONG).expect("begun");
        (1..5).for_each(|n| stage.sink().offer(n).expect("room"));
        let unfinished = stage.destroy(Ending::Drain, Duration::ZERO);
        let unfinished = unfinished.expect_err("it does not come back");
        assert_eq!(unfinished.events, [1, 2, 3, 4]);
        assert_eq!(unfinished.why, Unended::TimedOut { running: 1 });
        assert_accounted(&stage.snapshot());
        drop(open);
        stage.wait_ended(LONG).expect("it came back");
        let counts = assert_accounted(&stage.snapshot()).clone();
        assert_eq!((counts.handled, counts.handed_back), (1, 4));
    }
}

#[test]
fn what_a_drained_runtime_had_accepted_is_handled_or_reported() {
    for options in both_kinds() {
        let rt = runtime();
        let (tell, told) = channel();
        let tell = Mutex::new(tell);
        let options = options.capacity(10_000).on_shed(move |n: u32, why| {
            assert_eq!(why, Shed::Ended);
            tell.lock().expect("whole").send(n).expect("heard");
        });
        let stage = Manager::new(&rt).create("left", options, |_| each(|_: u32| ()));
        let stage = stage.expect("created");
        let sink = stage.sink();
        (0..5_000).for_each(|n| sink.offer(n).expect("room"));
        rt.shutdown(LONG).expect("drained");
        stage.wait_ended(LONG).expect("ended");
        let counts = assert_accounted(&stage.snapshot()).clone();
        assert_eq!(counts.handled + counts.ended, 5_000);
        assert_eq!(told.try_iter().count() as u64, counts.ended);
        assert_eq!(sink.offer(7).expect_err("ended").why, Refusal::Closed);
        assert_eq!(sink.reserve(&7).err(), Some(Refusal::Closed));
    }
}

#[test]
fn what_waits_in_a_runtime_that_is_dropped_is_reported() {
    for options in both_kinds() {
        let rt = runtime();
        let options = options.schedule(NEVER);
        let stage = Manager::new(&rt).create("left", options, |_| each(|_: u32| ()));
        let stage = stage.expect("created");
        (0..50).for_each(|n| stage.sink().offer(n).expect("room"));
        let place = stage.sink().reserve(&50).expect("room");
        drop(rt);
        stage.wait_ended(LONG).expect("ended");
        place.fill(50);
        let counts = assert_accounted(&stage.snapshot()).clone();
        assert_eq!(counts.accepted, 51);
        assert_eq!(counts.handled + counts.ended, 51);
        assert!(counts.ended > 0);
    }
}

#[test]
fn a_runtime_that_stops_at_once_leaves_nothing_unaccounted() {
    for _ in 0..20 {
        for options in both_kinds() {
            let rt = runtime();
            let stage = Manager::new(&rt).create("cut", options, |_| each(|_: u32| ()));
            let stage = stage.expect("created");
            let sink = stage.sink();
            let offerer = std::thread::spawn(move || {
                (0..500).filter(|n| sink.offer(*n).is_ok()).count() as u64
            });
            _ = rt.shutdown(Duration::ZERO);
            let accepted = offerer.join().expect("no panic");
            stage.wait_ended(LONG).expect("ended");
            let counts = assert_accounted(&stage.snapshot()).clone();
            assert_eq!(counts.accepted, accepted);
            assert_eq!(counts.handled + counts.ended, accepted);
        }
    }
}

#[test]
fn a_stage_of_a_runtime_that_has_ended_takes_nothing() {
    for options in both_kinds() {
        let rt = Runtime::builder().workers(1).build().expect("a worker");
        let stages = Manager::new(&rt);
        rt.shutdown(LONG).expect("drained");
        let stage = stages.create("late", options, |_| each(|_: u32| ()));
        let stage = stage.expect("created");
        for n in 0..10 {
            _ = stage.sink().offer(n);
        }
        let counts = assert_accounted(&stage.snapshot()).clone();
        assert_eq!(counts.offered, 10);
        drop(stage.end(Ending::HandBack));
    }
}

#[test]
fn handlers_are_dropped_where_they_ran_before_the_stage_is_over() {
    struct Tells(std::sync::mpsc::Sender<Option<std::thread::ThreadId>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let here = std::thread::current();
            let is_workers = mely::Handle::current().is_some();
            self.0
                .send((!is_workers).then(|| here.id()))
                .expect("heard");
        }
    }
    let rt = runtime();
    let (tell, told) = channel();
    let stage = Manager::new(&rt).create("tells", StageOptions::new().colors(2), move |_| {
        let tells = Tells(tell.clone());
        each(move |_: u32| _ = &tells)
    });
    let stage = stage.expect("created");
    (0..2).for_each(|n| stage.sink().offer(n).expect("room"));
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [None, None]);
}

struct Count(AtomicU64);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn who_awaits_an_end_no_more_is_forgotten() {
    let rt = runtime();
    let stage = Manager::new(&rt).create("long", StageOptions::new(), |_| each(|_: u32| ()));
    let stage = stage.expect("created");
    let mut wakers = Vec::new();
    for _ in 0..100 {
        let count = Arc::new(Count(AtomicU64::new(0)));
        wakers.push(Arc::downgrade(&count));
        let waker = Waker::from(count);
        let mut ended = std::pin::pin!(stage.ended());
        assert!(
            ended
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    let kept = wakers.iter().filter(|one| one.upgrade().is_some()).count();
    assert_eq!(kept, 0, "wakers are kept");
}
