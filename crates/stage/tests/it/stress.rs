//! All at once, at random, with a ledger.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mely::{Handle, Runtime};
use mely_sched::admission::AdmissionChain;
use mely_sched::{GovernorOptions, Nanos};
use mely_stage::{
    Batch, Control, Ending, Manager, Refusal, Schedule, Shed, Sink, StageContext, StageOptions,
    each,
};

use crate::{LONG, assert_accounted, runtime};

/// How many events each thread offers.
const OFFERS: u64 = 1_000;

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn size(&mut self, bound: u64) -> usize {
        self.below(bound) as usize
    }
}

/// What the program itself knows of its events.
#[derive(Default)]
struct Ledger {
    made: AtomicU64,
    dropped: AtomicU64,
    first_handled: AtomicU64,
    last_handled: AtomicU64,
    /// Handled by the first stage when the last one had ended.
    stranded: AtomicU64,
    /// Told to the hooks of the stages.
    told: AtomicU64,
    /// The last number of each key.
    seen: Mutex<HashMap<u64, u64>>,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

struct Numbered {
    key: u64,
    number: u64,
    ledger: Arc<Ledger>,
}

impl Numbered {
    fn new(key: u64, number: u64, ledger: &Arc<Ledger>) -> Self {
        count(&ledger.made);
        Self {
            key,
            number,
            ledger: Arc::clone(ledger),
        }
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        count(&self.ledger.dropped);
    }
}

/// Options of a stage with threads, for 0, or with so many colors.
fn options_of(colors: usize, capacity: usize, ledger: &Arc<Ledger>) -> StageOptions<Numbered> {
    let told = Arc::clone(ledger);
    let options = match colors {
        0 => StageOptions::new().threads(GovernorOptions {
            period: Nanos::new(1),
            queued_max: 1,
            threads_max: 3,
            idle_periods: 1,
            ..GovernorOptions::default()
        }),
        colors => StageOptions::new().colors(colors),
    };
    options
        .capacity(capacity)
        .key(|event: &Numbered| event.key)
        .on_shed(move |_: Numbered, why| {
            if !matches!(why, Shed::Refused(_)) {
                count(&told.told);
            }
        })
}

fn last_stage(rt: &Handle, random: &mut Random, ledger: &Arc<Ledger>) -> Control<Numbered> {
    let options = options_of(random.size(3), 4 + random.size(20), ledger);
    let ledger = Arc::clone(ledger);
    let make = move |_| {
        let ledger = Arc::clone(&ledger);
        each(move |_: Numbered| count(&ledger.last_handled))
    };
    Manager::new(rt)
        .create("last", options, make)
        .expect("created")
}

/// Hands on what it takes, in the order of each key; one of its events panics.
fn first_stage(
    rt: &Handle,
    random: &mut Random,
    last: &Sink<Numbered>,
    ledger: &Arc<Ledger>,
) -> Control<Numbered> {
    let options = options_of(1 + random.size(3), 1 + random.size(50), ledger).feeds(last);
    let (last, ledger, panic_at) = (last.clone(), Arc::clone(ledger), random.below(500));
    let make = move |_| {
        let (last, ledger) = (last.clone(), Arc::clone(&ledger));
        move |batch: &mut Batch<'_, Numbered>, _: &mut StageContext<'_>| {
            hand_on(batch, &last, &ledger, panic_at);
        }
    };
    Manager::new(rt)
        .create("first", options, make)
        .expect("created")
}

fn hand_on(
    batch: &mut Batch<'_, Numbered>,
    last: &Sink<Numbered>,
    ledger: &Arc<Ledger>,
    panic_at: u64,
) {
    let like = Numbered::new(0, 0, ledger);
    loop {
        let place = match last.reserve(&like) {
            Ok(place) => Some(place),
            Err(Refusal::Closed) => None,
            Err(_) => return,
        };
        let Some(event) = batch.next() else { return };
        let before = ledger
            .seen
            .lock()
            .expect("whole")
            .insert(event.key, event.number);
        assert!(before < Some(event.number), "order of a key");
        if event.number == panic_at {
            std::panic::resume_unwind(Box::new("in a handler"));
        }
        count(&ledger.first_handled);
        match place {
            Some(place) => place.fill(event),
            None => count(&ledger.stranded),
        }
    }
}

/// Offers the events of a key, in one of three ways.
fn offer_all(sink: &Sink<Numbered>, key: u64, way: u64, rt: &Handle, ledger: &Arc<Ledger>) {
    for number in 1..=OFFERS {
        let event = Numbered::new(key, number, ledger);
        match way {
            0 => drop(sink.offer(event)),
            1 => match sink.reserve(&event) {
                Ok(place) if number % 7 > 0 => place.fill(event),
                unused => drop(unused),
            },
            _ => {
                let offer = sink.offer_when_room(event);
                // What its runtime has dropped at its end is in the ledger of the stages.
                let Ok(_) = rt.new_color().spawn(offer).wait() else {
                    return;
                };
            }
        }
    }
}

fn change_at_random(
    rt: &Handle,
    random: &mut Random,
    first: &Control<Numbered>,
    last: &Control<Numbered>,
) {
    for _ in 0..random.below(200) {
        match random.below(8) {
            0 => first.set_capacity(random.size(40)),
            1 => last.set_capacity(random.size(20)),
            2 => {
                let within = Nanos::from_micros(random.below(2_000));
                first.set_admission(AdmissionChain::within(within));
            }
            3 => first.set_schedule(Schedule::Delayed {
                events: random.size(60),
                after: Duration::from_micros(random.below(3_000)),
            }),
            4 => first.set_schedule(Schedule::Eager),
            5 => last.set_admission(AdmissionChain::new()),
            6 => thread::yield_now(),
            _ => drop(rt.new_color().spawn(first.sink().room())),
        }
        assert_accounted(&first.snapshot());
        assert_accounted(&last.snapshot());
    }
}

/// Ends one of the runtimes or stages while all goes on; how many events came back.
fn end_one(
    random: &mut Random,
    runtimes: (Runtime, Runtime),
    first: &Control<Numbered>,
    last: &Control<Numbered>,
) -> (usize, [Option<Runtime>; 2]) {
    let (one, other) = runtimes;
    match random.below(6) {
        0 => {
            drop(one);
            (0, [None, Some(other)])
        }
        1 => {
            drop(other);
            (0, [Some(one), None])
        }
        2 => {
            let back = last.destroy(Ending::HandBack, LONG).expect("ended");
            (back.len(), [Some(one), Some(other)])
        }
        3 => {
            let back = first.destroy(Ending::HandBack, LONG).expect("ended");
            (back.len(), [Some(one), Some(other)])
        }
        4 => {
            drop(one.shutdown(LONG));
            (0, [None, Some(other)])
        }
        _ => {
            last.end(Ending::Drain).clear();
            (0, [Some(one), Some(other)])
        }
    }
}

fn check(first: &Control<Numbered>, last: &Control<Numbered>, back: usize, ledger: &Ledger) {
    let (first, last) = (first.snapshot(), last.snapshot());
    assert!(first.has_ended && last.has_ended);
    let (first, last) = (assert_accounted(&first), assert_accounted(&last));
    assert_eq!(first.running + last.running, 0);
    let handed_on = ledger.first_handled.load(Relaxed);
    assert_eq!(first.handled, handed_on);
    assert_eq!(last.accepted, handed_on - ledger.stranded.load(Relaxed));
    assert_eq!(last.handled, ledger.last_handled.load(Relaxed));
    assert_eq!(first.handed_back + last.handed_back, back as u64);
    let shed = first.expired() + last.expired() + first.ended + last.ended;
    assert_eq!(ledger.told.load(Relaxed), shed);
}

fn stress(seed: u64) {
    let random = &mut Random::new(seed);
    let ledger = Arc::new(Ledger::default());
    let (rt, other) = (runtime(), runtime());
    let last = last_stage(&other, random, &ledger);
    let first = first_stage(&rt, random, &last.sink(), &ledger);
    let offering: Vec<JoinHandle<()>> = (0..3)
        .map(|key| {
            let (sink, rt) = (first.sink(), Handle::clone(&rt));
            let (ledger, way) = (Arc::clone(&ledger), random.below(3));
            thread::spawn(move || offer_all(&sink, key, way, &rt, &ledger))
        })
        .collect();
    change_at_random(&rt, random, &first, &last);
    let (mut back, runtimes) = end_one(random, (rt, other), &first, &last);
    for stage in [&first, &last] {
        stage.set_capacity(100);
    }
    last.set_schedule(Schedule::Eager);
    for one in offering {
        one.join().expect("no panic");
    }
    for stage in [&first, &last] {
        back += stage.destroy(Ending::Drain, LONG).expect("ended").len();
    }
    check(&first, &last, back, &ledger);
    drop(runtimes);
    let (made, dropped) = (ledger.made.load(Relaxed), ledger.dropped.load(Relaxed));
    assert_eq!(made, dropped, "events are dropped once");
}

/// By default few seeds; `SEED=1000 SEEDS=10000` tries many others.
#[test]
fn nothing_is_lost_or_doubled_or_out_of_order() {
    let number = |name, default| std::env::var(name).map_or(default, |s| s.parse().expect(name));
    let from: u64 = number("SEED", 1);
    (from..from + number("SEEDS", 100)).for_each(stress);
}

#[test]
fn a_runtime_dropped_inside_its_stage() {
    let rt = runtime();
    let manager = Manager::new(&rt);
    let (tell, told) = channel();
    let slot = Arc::new(Mutex::new(Some(rt)));
    let inside = Arc::clone(&slot);
    let stage = manager
        .create("drops", StageOptions::new(), move |_| {
            let (inside, tell) = (Arc::clone(&inside), tell.clone());
            each(move |_: u32| {
                drop(inside.lock().expect("whole").take());
                tell.send(()).expect("heard");
            })
        })
        .expect("created");
    (0..100).for_each(|n| _ = stage.sink().offer(n));
    told.recv_timeout(LONG).expect("handled");
    stage.wait_ended(LONG).expect("ended");
    assert_accounted(&stage.snapshot());
}
