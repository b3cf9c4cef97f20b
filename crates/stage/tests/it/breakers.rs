//! Handlers, destructors, hooks and key functions that panic or call the stage.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};

use mely_sched::GovernorOptions;
use mely_sched::admission::{Admission, AdmissionChain, Offer, Reason, Tag, Taken};
use mely_stage::{
    Batch, Ending, Manager, Refusal, Schedule, Shed, Sink, Stage, StageContext, StageOptions,
    Unended, each,
};

use crate::{LONG, assert_accounted, runtime};

fn panics(what: &'static str) -> ! {
    std::panic::resume_unwind(Box::new(what))
}

/// Of colors, and of a thread.
fn both_kinds<E: Send + 'static>() -> [StageOptions<E>; 2] {
    let one = GovernorOptions {
        threads_max: 1,
        ..GovernorOptions::default()
    };
    [
        StageOptions::new().colors(1),
        StageOptions::new().threads(one),
    ]
}

struct PanicsAt(u32, Arc<Mutex<Vec<String>>>);

impl PanicsAt {
    fn note(&self, what: impl Into<String>) {
        self.1.lock().expect("whole").push(what.into());
    }
}

impl Stage<u32> for PanicsAt {
    fn init(&mut self, _cx: &mut StageContext<'_>) {
        self.note("init");
    }

    fn handle(&mut self, batch: &mut Batch<'_, u32>, _cx: &mut StageContext<'_>) {
        for n in batch {
            self.note(n.to_string());
            if n == self.0 {
                panics("in a handler");
            }
        }
    }
}

impl Drop for PanicsAt {
    fn drop(&mut self) {
        self.note("drop");
        panics("in the destructor of a handler");
    }
}

#[test]
fn a_panic_loses_one_event_and_the_instance() {
    for options in both_kinds() {
        let rt = runtime();
        let notes = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&notes);
        let stage =
            Manager::new(&rt).create("panics", options, move |_| PanicsAt(1, Arc::clone(&theirs)));
        let stage = stage.expect("created");
        (0..4).for_each(|n| stage.sink().offer(n).expect("room"));
        stage.destroy(Ending::Drain, LONG).expect("drained");
        let counts = assert_accounted(&stage.snapshot()).clone();
        assert_eq!((counts.handled, counts.panicked, counts.panics), (3, 1, 1));
        let notes = notes.lock().expect("whole").join(" ");
        assert_eq!(notes, "init 0 1 drop init 2 3 drop");
    }
}

#[test]
fn a_stage_whose_handler_cannot_be_made_ends_and_reports() {
    for options in both_kinds() {
        let rt = runtime();
        let (tell, told) = channel();
        let tell = Mutex::new(tell);
        let options = options.on_shed(move |n: u32, why| {
            tell.lock().expect("whole").send((n, why)).expect("heard");
        });
        let stage = Manager::new(&rt).create("unmade", options, |_| {
            let panics: fn(u32) = |_| ();
            if true {
                self::panics("while it is made");
            }
            each(panics)
        });
        let stage = stage.expect("created");
        stage.sink().offer(7).expect("room");
        assert_eq!(told.recv_timeout(LONG), Ok((7, Shed::NoHandler)));
        stage.wait_ended(LONG).expect("ended");
        let refused = stage.sink().offer(8).expect_err("ended");
        assert_eq!((refused.event, refused.why), (8, Refusal::Closed));
        assert_eq!(assert_accounted(&stage.snapshot()).no_handler, 1);
    }
}

/// Offers another event when it is dropped.
struct Offers {
    to: Sink<Offers>,
    left: u32,
}

impl Drop for Offers {
    fn drop(&mut self) {
        if self.left > 0 {
            let left = self.left - 1;
            let event = Offers {
                to: self.to.clone(),
                left,
            };
            if let Err(refused) = self.to.offer(event) {
                let mut event = refused.event;
                event.left = 0;
            }
        }
    }
}

#[test]
fn destructors_of_events_may_offer_to_their_own_stage() {
    for options in both_kinds() {
        let rt = runtime();
        let stage = Manager::new(&rt).create("drops", options, |_| each(drop::<Offers>));
        let stage = stage.expect("created");
        let to = stage.sink();
        to.offer(Offers {
            to: to.clone(),
            left: 100,
        })
        .expect("room");
        while stage.snapshot().counts.handled < 101 {
            std::thread::yield_now();
        }
        stage.destroy(Ending::Drain, LONG).expect("drained");
        assert_eq!(assert_accounted(&stage.snapshot()).handled, 101);
    }
}

#[test]
fn destructors_of_shed_and_handed_back_events_may_offer_too() {
    let rt = runtime();
    let expired = AdmissionChain::new().and(Expires);
    let options = StageOptions::new().colors(1).admission(expired);
    let stage = Manager::new(&rt).create("drops", options, |_| each(drop::<Offers>));
    let stage = stage.expect("created");
    let to = stage.sink();
    let left = 50;
    let event = Offers {
        to: to.clone(),
        left,
    };
    to.offer(event).expect("room");
    while stage.snapshot().counts.expired() < 51 {
        std::thread::yield_now();
    }
    drop(stage.destroy(Ending::HandBack, LONG).expect("ended"));
    assert_accounted(&stage.snapshot());
}

#[derive(Debug)]
struct Expires;

impl Admission for Expires {
    fn offer(&mut self, _offer: &Offer) -> Result<(), Reason> {
        Ok(())
    }

    fn take(&mut self, _tag: Tag, _taken: &Taken) -> Result<(), Reason> {
        Err(Reason::Custom)
    }
}

#[derive(Debug)]
struct Panics;

impl Admission for Panics {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        match offer.queued {
            0 => Ok(()),
            _ => panics("in a policy"),
        }
    }

    fn take(&mut self, _tag: Tag, _taken: &Taken) -> Result<(), Reason> {
        panics("in a policy")
    }
}

#[test]
fn policies_that_panic_refuse_and_hooks_that_panic_are_forgotten() {
    let rt = runtime();
    let chain = AdmissionChain::new().and(Panics);
    let options = StageOptions::new().colors(1).admission(chain);
    let options = options.on_shed(|_: u32, _| panics("in a hook"));
    let stage = Manager::new(&rt).create("panics", options, |_| each(|_| ()));
    let stage = stage.expect("created");
    let sink = stage.sink();
    let place = sink.reserve(&0).expect("the first");
    let refused = sink.offer(1).expect_err("a policy panics");
    assert_eq!(refused.why, Refusal::Admission(Reason::Custom));
    place.fill(0);
    stage.destroy(Ending::Drain, LONG).expect("drained");
    let seen = stage.snapshot();
    assert_eq!(assert_accounted(&seen).expired_for(Reason::Custom), 1);
    assert_eq!(seen.shed(), [("custom", 1)]);
}

#[test]
fn a_key_function_that_panics_costs_its_event_only() {
    let rt = runtime();
    let options = StageOptions::new().key(|n: &u64| if *n == 1 { panics("a key") } else { *n });
    let stage = Manager::new(&rt).create("keys", options, |_| each(|_| ()));
    let stage = stage.expect("created");
    let sink = stage.sink();
    let offered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sink.offer(1)));
    assert!(offered.is_err());
    sink.offer(2).expect("room");
    stage.destroy(Ending::Drain, LONG).expect("drained");
    let counts = assert_accounted(&stage.snapshot()).clone();
    assert_eq!((counts.offered, counts.handled), (1, 1));
}

type Control = mely_stage::Control<u32>;

fn destroys_itself(options: StageOptions<u32>, ending: Ending) -> (Control, Receiver<Vec<u32>>) {
    let rt = runtime();
    let (tell, told): (Sender<Vec<u32>>, _) = channel();
    let own: Arc<OnceLock<Control>> = Arc::default();
    let theirs = Arc::clone(&own);
    let stage = Manager::new(&rt).create("self", options, move |_| {
        let (tell, own) = (tell.clone(), Arc::clone(&theirs));
        each(move |n: u32| {
            if n == 0 {
                let unfinished = own
                    .get()
                    .expect("set")
                    .destroy(ending, LONG)
                    .expect_err("inside");
                assert_eq!(unfinished.why, Unended::InsideHandler);
                tell.send(unfinished.events).expect("heard");
            }
        })
    });
    let stage = stage.expect("created");
    own.set(stage.clone()).expect("unset");
    let sink = stage.sink();
    let schedule = Schedule::Delayed {
        events: 5,
        after: LONG,
    };
    stage.set_schedule(schedule);
    (0..5).for_each(|n| sink.offer(n).expect("room"));
    stage.wait_ended(LONG).expect("ended");
    (stage, told)
}

#[test]
fn a_stage_may_be_destroyed_inside_its_own_handler() {
    for options in both_kinds() {
        let (stage, told) = destroys_itself(options, Ending::Drain);
        assert!(told.recv().expect("told").is_empty());
        assert_eq!(assert_accounted(&stage.snapshot()).handled, 5);
    }
    for options in both_kinds() {
        let (stage, told) = destroys_itself(options, Ending::HandBack);
        assert_eq!(told.recv().expect("told"), [1, 2, 3, 4]);
        let counts = assert_accounted(&stage.snapshot()).clone();
        assert_eq!((counts.handled, counts.handed_back), (1, 4));
    }
}

#[test]
fn a_handler_that_takes_nothing_does_so_until_it_takes_something() {
    for options in both_kinds() {
        let rt = runtime();
        let stage = Manager::new(&rt).create("slow", options, |_| {
            let mut calls = 0;
            move |batch: &mut Batch<'_, u32>, _: &mut StageContext<'_>| {
                calls += 1;
                if calls > 3 {
                    batch.for_each(drop);
                }
            }
        });
        let stage = stage.expect("created");
        (0..5).for_each(|n| stage.sink().offer(n).expect("room"));
        stage.destroy(Ending::Drain, LONG).expect("drained");
        assert_eq!(assert_accounted(&stage.snapshot()).handled, 5);
    }
}

struct PanicsTwice;

impl Stage<u32> for PanicsTwice {
    fn init(&mut self, _cx: &mut StageContext<'_>) {
        panics("in init");
    }
    fn handle(&mut self, _: &mut Batch<'_, u32>, _cx: &mut StageContext<'_>) {}
}

impl Drop for PanicsTwice {
    fn drop(&mut self) {
        panics("in drop");
    }
}

#[test]
fn a_handler_may_panic_in_init_and_in_drop() {
    let rt = runtime();
    let stage = Manager::new(&rt).create("twice", StageOptions::new(), |_| PanicsTwice);
    let stage = stage.expect("created");
    stage.sink().offer(7).expect("room");
    stage.wait_ended(LONG).expect("ended");
    assert_eq!(assert_accounted(&stage.snapshot()).no_handler, 1);
}

/// Counts how often it was made, and had nothing to do.
struct Counts(Arc<AtomicU64>, Arc<AtomicU64>);

impl Stage<u32> for Counts {
    fn init(&mut self, _cx: &mut StageContext<'_>) {
        self.0.fetch_add(1, Relaxed);
    }
    fn handle(&mut self, batch: &mut Batch<'_, u32>, _cx: &mut StageContext<'_>) {
        if batch.take_all().is_empty() {
            self.1.fetch_add(1, Relaxed);
        }
    }
}

#[test]
fn a_handler_that_has_nothing_to_do_is_not_made() {
    let rt = runtime();
    let (inits, empties) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let both = (Arc::clone(&inits), Arc::clone(&empties));
    let stage = Manager::new(&rt)
        .create("unused", StageOptions::new().colors(8), move |_| {
            Counts(Arc::clone(&both.0), Arc::clone(&both.1))
        })
        .expect("created");
    stage.sink().offer(7).expect("room");
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert_eq!((inits.load(Relaxed), empties.load(Relaxed)), (1, 0));
}
