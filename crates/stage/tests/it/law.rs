//! Nothing accepted is lost, whatever happens: random programs, and a ledger of each event.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use mely_sched::admission::{
    Admission, AdmissionChain, Class, Deadline, Done, EarlyDrop, Offer, Reason, Tag, Threshold,
};
use mely_sched::{GovernorOptions, Nanos};
use mely_stage::{Control, Ending, Manager, Schedule, Sink, Snapshot, StageOptions, each, split};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{LONG, assert_accounted, runtime};

#[derive(Debug, Default)]
struct Ledger {
    made: AtomicU64,
    handled: AtomicU64,
    told: AtomicU64,
    dropped: AtomicU64,
    /// What a policy has admitted, and has seen the end of.
    admitted: AtomicU64,
    over: AtomicU64,
}

/// A policy that admits everything, and hears of the end of each event once.
#[derive(Debug)]
struct Audits(Arc<Ledger>);

impl Audits {
    fn over(&self) {
        self.0.over.fetch_add(1, Relaxed);
    }
}

impl Admission for Audits {
    fn offer(&mut self, _offer: &Offer) -> Result<(), Reason> {
        self.0.admitted.fetch_add(1, Relaxed);
        Ok(())
    }

    fn give_back(&mut self, _tag: Tag) {
        self.over();
    }

    fn shed(&mut self, _tag: Tag) {
        self.over();
    }

    fn cancel(&mut self, _tag: Tag) {
        self.over();
    }

    fn complete(&mut self, _tag: Tag, _done: &Done) {
        self.over();
    }
}

/// An event that is counted wherever it ends.
struct Event {
    panics: bool,
    ledger: Arc<Ledger>,
}

impl Event {
    fn new(panics: bool, ledger: &Arc<Ledger>) -> Self {
        ledger.made.fetch_add(1, Relaxed);
        Self {
            panics,
            ledger: Arc::clone(ledger),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.ledger.dropped.fetch_add(1, Relaxed);
    }
}

#[derive(Clone, Debug)]
enum Act {
    Offer { panics: bool },
    Reserve { fill: bool },
    Split,
    Capacity(usize),
    Admission(u64),
    Schedule(usize),
    Pause,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        20 => Just(Act::Offer { panics: false }),
        2 => Just(Act::Offer { panics: true }),
        3 => any::<bool>().prop_map(|fill| Act::Reserve { fill }),
        3 => Just(Act::Split),
        2 => (0_usize..20).prop_map(Act::Capacity),
        1 => (1_u64..20).prop_map(Act::Admission),
        1 => (0_usize..4).prop_map(Act::Schedule),
        3 => Just(Act::Pause),
    ];
    vec(act, 0..120)
}

#[derive(Clone, Copy, Debug)]
enum End {
    Destroyed(Ending),
    DestroyedAtOnce(Ending),
    Shutdown,
    Stopped,
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Destroyed(Ending::Drain)),
        Just(End::Destroyed(Ending::HandBack)),
        Just(End::DestroyedAtOnce(Ending::Drain)),
        Just(End::Shutdown),
        Just(End::Stopped),
    ]
}

fn stage(stages: &Manager, name: &str, has_threads: bool, ledger: &Arc<Ledger>) -> Control<Event> {
    let tells = Arc::clone(ledger);
    let options = StageOptions::new().capacity(10);
    let options = match has_threads {
        true => options.threads(GovernorOptions {
            period: Nanos::from_micros(50),
            queued_max: 3,
            threads_max: 3,
            idle_periods: 1,
            ..GovernorOptions::default()
        }),
        false => options.colors(3),
    };
    let audited = AdmissionChain::new().and(Audits(Arc::clone(ledger)));
    let options = options
        .admission(audited)
        .tag(|event: &Event| Tag {
            class: Class::new(u8::from(event.panics)),
            ..Tag::default()
        })
        .urgency(|event| i64::from(event.panics))
        .on_shed(move |event: Event, _| {
            tells.told.fetch_add(1, Relaxed);
            drop(event);
        });
    let stage = stages.create(name, options, |_| {
        each(|event: Event| {
            if event.panics {
                std::panic::resume_unwind(Box::new("planted"));
            }
            event.ledger.handled.fetch_add(1, Relaxed);
        })
    });
    stage.expect("created")
}

fn play(acts: &[Act], of: &Control<Event>, other: &Sink<Event>, ledger: &Arc<Ledger>) {
    let sink = of.sink();
    for act in acts {
        match *act {
            Act::Offer { panics } => drop(sink.offer(Event::new(panics, ledger))),
            Act::Reserve { fill } => {
                let event = Event::new(false, ledger);
                if let Ok(place) = sink.reserve(&event)
                    && fill
                {
                    place.fill(event);
                }
            }
            Act::Split => {
                let [a, b] = [(), ()].map(|()| Event::new(false, ledger));
                drop(split(((&sink, a), (other, b))));
            }
            Act::Capacity(events) => of.set_capacity(events),
            Act::Admission(queued) => {
                let chain = AdmissionChain::new().and(Audits(Arc::clone(ledger)));
                let chain = chain.and(EarlyDrop::default()).and(Threshold::new(queued));
                of.set_admission(chain.and(Deadline::new(Nanos::from_micros(20))));
            }
            Act::Schedule(0) => of.set_schedule(Schedule::Eager),
            Act::Schedule(events) => of.set_schedule(Schedule::Delayed {
                events,
                after: Duration::from_micros(100),
            }),
            Act::Pause => std::thread::yield_now(),
        }
    }
}

fn check(seen: [Snapshot; 2], handed_back: u64, ledger: &Ledger) {
    let mut told = 0;
    let mut handled = 0;
    let mut given = 0;
    for seen in seen {
        let counts = assert_accounted(&seen);
        assert_eq!((seen.queued, counts.running), (0, 0), "{seen:?}");
        told += counts.expired() + counts.ended + counts.no_handler;
        handled += counts.handled;
        given += counts.handed_back;
    }
    assert_eq!(ledger.handled.load(Relaxed), handled);
    assert_eq!(ledger.told.load(Relaxed), told);
    assert_eq!(handed_back, given);
    assert_eq!(ledger.admitted.load(Relaxed), ledger.over.load(Relaxed));
    assert_eq!(ledger.dropped.load(Relaxed), ledger.made.load(Relaxed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_event_is_handled_or_told_of(
        ours in acts(), theirs in acts(),
        (first, second) in (any::<bool>(), any::<bool>()),
        end in ends(),
        feeds in any::<bool>(),
    ) {
        let rt = runtime();
        let stages = Manager::new(&rt);
        let ledger = Arc::new(Ledger::default());
        let a = stage(&stages, "a", first, &ledger);
        let b = stage(&stages, "b", second, &ledger);
        if feeds {
            a.feed(&b.sink()).expect("no circle");
        }
        let playing = {
            let (b, to, ledger) = (b.clone(), a.sink(), Arc::clone(&ledger));
            std::thread::spawn(move || play(&theirs, &b, &to, &ledger))
        };
        play(&ours, &a, &b.sink(), &ledger);
        let mut back = Vec::new();
        match end {
            End::Destroyed(ending) => {
                playing.join().expect("no panic");
                back.extend(a.destroy(ending, LONG).expect("ended"));
                back.extend(b.destroy(ending, LONG).expect("ended"));
            }
            End::DestroyedAtOnce(ending) => {
                for stage in [&a, &b] {
                    let events = stage.destroy(ending, Duration::ZERO);
                    back.extend(events.unwrap_or_else(|unfinished| unfinished.events));
                }
                playing.join().expect("no panic");
            }
            End::Shutdown => {
                _ = rt.shutdown(LONG);
                playing.join().expect("no panic");
            }
            End::Stopped => {
                _ = rt.shutdown(Duration::ZERO);
                playing.join().expect("no panic");
            }
        }
        for stage in [&a, &b] {
            stage.wait_ended(LONG).expect("ended");
        }
        let handed_back = back.len() as u64;
        drop(back);
        check([a.snapshot(), b.snapshot()], handed_back, &ledger);
    }
}
