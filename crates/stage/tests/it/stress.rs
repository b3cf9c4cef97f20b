//! All at once, at random, with a ledger.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mely::Handle;
use mely_sched::admission::AdmissionChain;
use mely_sched::{GovernorOptions, Nanos};
use mely_stage::{
    Batch, Ending, Manager, Refusal, Schedule, Shed, StageContext, StageOptions, each,
};

use crate::{LONG, assert_accounted, runtime};

struct Numbered {
    key: u64,
    number: u64,
    dropped: Arc<AtomicU64>,
}

impl Drop for Numbered {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Relaxed);
    }
}

fn stress(seed: u64) {
    let mut seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let (rt, other) = (runtime(), runtime());
    let dropped = Arc::new(AtomicU64::new(0));
    let (handled, told, made) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicU64::new(0)),
    );
    let hook = || {
        let told = Arc::clone(&told);
        move |_: Numbered, why| {
            if !matches!(why, Shed::Refused(_)) {
                told.fetch_add(1, Relaxed);
            }
        }
    };
    let kind = |options: StageOptions<Numbered>, n: u64| match n {
        0 => options.threads(GovernorOptions {
            period: Nanos::new(1),
            queued_max: 1,
            threads_max: 3,
            idle_periods: 1,
            ..GovernorOptions::default()
        }),
        n => options.colors(n as usize),
    };
    let sink_options = kind(StageOptions::new(), random(3))
        .capacity(4 + random(20) as usize)
        .key(|event: &Numbered| event.key)
        .on_shed(hook());
    let ends = Arc::clone(&handled);
    let last = Manager::new(&other)
        .create("last", sink_options, move |_| {
            let ends = Arc::clone(&ends);
            each(move |_: Numbered| _ = ends.fetch_add(1, Relaxed))
        })
        .expect("created");
    let n = 1 + random(3);
    let first_options = kind(StageOptions::new(), n)
        .capacity(1 + random(50) as usize)
        .key(|event: &Numbered| event.key)
        .feeds(&last.sink())
        .on_shed(hook());
    let (to_last, firsts) = (last.sink(), Arc::new(AtomicU64::new(0)));
    let (first_handled, lost) = (Arc::clone(&firsts), Arc::new(AtomicU64::new(0)));
    let losts = Arc::clone(&lost);
    let seen = Arc::new(Mutex::new(HashMap::<u64, u64>::new()));
    let numbers = Arc::clone(&seen);
    let panic_at = random(500);
    let first = Manager::new(&rt)
        .create("first", first_options, move |_| {
            let (to_last, firsts) = (to_last.clone(), Arc::clone(&first_handled));
            let (numbers, losts) = (Arc::clone(&numbers), Arc::clone(&losts));
            move |batch: &mut Batch<'_, Numbered>, _: &mut StageContext<'_>| {
                let unknown = Numbered {
                    key: 0,
                    number: 0,
                    dropped: Arc::default(),
                };
                loop {
                    let place = match to_last.reserve(&unknown) {
                        Ok(place) => Some(place),
                        Err(Refusal::Closed) => None,
                        Err(_) => break,
                    };
                    let Some(event) = batch.next() else { break };
                    let mut numbers = numbers.lock().expect("whole");
                    let before = numbers.entry(event.key).or_insert(0);
                    assert!(*before < event.number, "order of a key");
                    *before = event.number;
                    drop(numbers);
                    if event.number == panic_at {
                        std::panic::resume_unwind(Box::new("in a handler"));
                    }
                    firsts.fetch_add(1, Relaxed);
                    match place {
                        Some(place) => place.fill(event),
                        None => _ = losts.fetch_add(1, Relaxed),
                    }
                }
            }
        })
        .expect("created");
    let accepted = Arc::new(AtomicU64::new(0));
    let offering: Vec<_> = (0..3_u64)
        .map(|key| {
            let (sink, made, accepted) = (first.sink(), Arc::clone(&made), Arc::clone(&accepted));
            let (dropped, rt) = (Arc::clone(&dropped), Handle::clone(&rt));
            let how = random(3);
            std::thread::spawn(move || {
                for number in 1..=1_000 {
                    made.fetch_add(1, Relaxed);
                    let event = Numbered {
                        key,
                        number,
                        dropped: Arc::clone(&dropped),
                    };
                    let is_in = match how {
                        0 => sink.offer(event).is_ok(),
                        1 => match sink.reserve(&event) {
                            Ok(place) if number % 7 > 0 => {
                                place.fill(event);
                                true
                            }
                            _ => false,
                        },
                        _ => {
                            let offer = sink.offer_when_room(event);
                            match rt.new_color().spawn(offer).wait() {
                                Ok(offered) => offered.is_ok(),
                                // Unknown: the runtime has ended meanwhile.
                                Err(_) => return,
                            }
                        }
                    };
                    accepted.fetch_add(u64::from(is_in), Relaxed);
                }
            })
        })
        .collect();
    for _ in 0..random(200) {
        match random(8) {
            0 => first.set_capacity(random(40) as usize),
            1 => last.set_capacity(random(20) as usize),
            2 => first.set_admission(AdmissionChain::within(Nanos::from_micros(random(2_000)))),
            3 => first.set_schedule(Schedule::Delayed {
                events: random(60) as usize,
                after: Duration::from_micros(random(3_000)),
            }),
            4 => first.set_schedule(Schedule::Eager),
            5 => last.set_admission(AdmissionChain::new()),
            6 => std::thread::yield_now(),
            _ => {
                let room = first.sink().room();
                drop(rt.new_color().spawn(room));
            }
        }
        assert_accounted(&first.snapshot());
        assert_accounted(&last.snapshot());
    }
    let mut back = 0;
    let mut rts = (Some(rt), Some(other));
    match random(6) {
        0 => drop(rts.0.take()),
        1 => drop(rts.1.take()),
        2 => back += last.destroy(Ending::HandBack, LONG).expect("ended").len(),
        3 => back += first.destroy(Ending::HandBack, LONG).expect("ended").len(),
        4 => drop(rts.0.take().expect("there").shutdown(LONG)),
        _ => last.end(Ending::Drain).clear(),
    }
    first.set_capacity(100);
    last.set_capacity(100);
    last.set_schedule(Schedule::Eager);
    for one in offering {
        one.join().expect("no panic");
    }
    back += first.destroy(Ending::Drain, LONG).expect("ended").len();
    back += last.destroy(Ending::Drain, LONG).expect("ended").len();
    let (a, b) = (first.snapshot(), last.snapshot());
    assert!(a.has_ended && b.has_ended);
    let (a, b) = (assert_accounted(&a).clone(), assert_accounted(&b).clone());
    assert_eq!(a.running + b.running, 0);
    assert_eq!(a.handled, firsts.load(Relaxed));
    assert_eq!(b.accepted, firsts.load(Relaxed) - lost.load(Relaxed));
    assert_eq!(b.handled, handled.load(Relaxed));
    assert_eq!(a.handed_back + b.handed_back, back as u64);
    let shed = a.expired() + b.expired() + a.ended + b.ended;
    assert_eq!(told.load(Relaxed), shed);
    drop(rts);
    assert_eq!(
        dropped.load(Relaxed),
        made.load(Relaxed),
        "events are dropped once"
    );
}

#[test]
fn nothing_is_lost_or_doubled_or_out_of_order() {
    let begun = std::time::Instant::now();
    let seconds = std::env::var("SECONDS_OF_STRESS").map_or(3, |s| s.parse().expect("a number"));
    let mut seed = std::env::var("SEED").map_or(1, |s| s.parse().expect("a number"));
    while begun.elapsed() < Duration::from_secs(seconds) {
        stress(seed);
        seed += 1;
    }
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
