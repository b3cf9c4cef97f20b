//! Posts that must not be lost, late, or out of order.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use mely::{Colored, Context, Handler, Runtime};

use crate::support::{Gate, Stress, alone, bounded, runtime};

static SHORT: Handler = Handler::new("sound::ShortPost");

type Log = Vec<u64>;

/// Posts to the log when it is dropped.
struct Last(Colored<Log>, Arc<AtomicU64>);

impl Drop for Last {
    fn drop(&mut self) {
        let number = self.1.fetch_add(1, SeqCst);
        self.0.post_or_shed(move |log, _| log.push(number));
    }
}

/// One worker, so each post is made by one thread.
#[test]
fn what_a_destructor_posts_keeps_its_place() {
    bounded("the order of a destructor's posts", || {
        let rt = runtime(1);
        let (log, starter) = (rt.colored(Log::new()), rt.new_color());
        let next = Arc::new(AtomicU64::new(0));
        for round in 0..3_000 {
            let (log, handle, next) = (log.clone(), (*rt).clone(), Arc::clone(&next));
            starter.post_or_shed(move |(), _| {
                let ends = handle.colored(Some(Last(log.clone(), Arc::clone(&next))));
                ends.with_handler(&SHORT).post_or_shed(|_, _| ());
                drop(ends);
                log.with_handler(&SHORT).post_or_shed(move |_, cx| {
                    let number = next.fetch_add(1, SeqCst);
                    cx.with_handler(&SHORT)
                        .post_or_shed(move |log, _| log.push(number));
                });
            });
            if round % 7 == 0 {
                rt.wait_idle();
            }
        }
        rt.wait_idle();
        let log = log.blocking_with(std::mem::take);
        assert!(log.is_sorted(), "posted later, ran earlier");
        assert_eq!(log.len(), 6_000);
    });
}

#[test]
fn what_a_handler_has_posted_is_seen_by_whoever_it_tells() {
    bounded("posts that are seen", || {
        let rt = runtime(2);
        let (from, to) = (rt.new_color(), rt.colored(0u64));
        let told = Arc::new(AtomicU64::new(0));
        for round in 1..=Stress::get().pick(500, 5_000, 50_000) {
            let (there, tell) = (to.clone(), Arc::clone(&told));
            from.with_handler(&SHORT).post_or_shed(move |(), _| {
                there.with_handler(&SHORT).post_or_shed(|n, _| *n += 1);
                tell.store(round, SeqCst);
            });
            while told.load(SeqCst) != round {
                std::hint::spin_loop();
            }
            assert_eq!(to.blocking_with(|n| *n), round);
        }
    });
}

#[test]
fn an_event_for_an_idle_core_runs_while_its_poster_waits_for_it() {
    bounded("an answer from an idle core", || {
        let rt = runtime(2);
        let at = |worker| {
            rt.color_options()
                .pin_to(worker)
                .new_color()
                .expect("a worker")
        };
        let (from, to, answered) = (at(0), at(1), Gate::default());
        for round in 1..=2_000 {
            let (to, answered) = (to.clone(), answered.clone());
            let call = from.with_handler(&SHORT).call(move |(), _| {
                let answer = answered.clone();
                to.with_handler(&SHORT)
                    .post_or_shed(move |(), _| answer.arrive());
                // Only the last one waits: those before are what makes it a short one.
                round < 2_000 || answered.wait_for(round, crate::support::WAIT)
            });
            assert_eq!(call.wait(), Ok(true));
        }
    });
}

static POSTED: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);
static PENDING: AtomicU64 = AtomicU64::new(0);
static RAN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
static BUSY: AtomicBool = AtomicBool::new(true);

struct Canary(u64);

impl Drop for Canary {
    fn drop(&mut self) {
        ENDED.store(self.0, SeqCst);
        let pending = PENDING.load(SeqCst) == self.0 && RAN.load(SeqCst) != self.0;
        if pending {
            eprintln!("a state was dropped with an event pending");
            std::process::abort();
        }
    }
}

fn comes(what: &AtomicU64, round: u64, limit: Duration) -> bool {
    let end = Instant::now() + limit;
    while what.load(SeqCst) != round {
        if Instant::now() > end {
            return false;
        }
        std::hint::spin_loop();
    }
    true
}

fn busy(_: &mut (), cx: &mut Context<'_>) {
    if BUSY.load(SeqCst) {
        cx.with_handler(&SHORT).post_or_shed(busy);
    }
}

/// A color is posted to by one worker, passed on by that event to another worker, which
/// posts to it too, while the last reference outside goes.
#[test]
fn a_color_that_is_posted_to_by_two_workers_lives() {
    alone(
        "sound::posts::a_color_that_is_posted_to_by_two_workers_lives",
        || {
            let builder = Runtime::builder().workers(9);
            let rt = builder.build().expect("a runtime");
            let at = |worker| {
                rt.color_options()
                    .pin_to(worker)
                    .new_color()
                    .expect("a worker")
            };
            let (keeps_busy, source, relay) = (at(0), at(1), at(0));
            let fills: Vec<_> = (2..9).map(at).collect();
            keeps_busy.with_handler(&SHORT).post_or_shed(busy);
            let end = Instant::now() + Duration::from_secs(20);
            for round in 1..=Stress::get().pick(50, 400, 10_000) {
                if Instant::now() > end {
                    break;
                }
                for _ in 0..60 {
                    source.with_handler(&SHORT).post_or_shed(|(), _| ());
                    relay.with_handler(&SHORT).post_or_shed(|(), _| ());
                    (0..50).for_each(|_| std::hint::spin_loop());
                }
                let options = rt.color_options().pin_to(0);
                let color = options.colored(Canary(round)).expect("a worker");
                let (first, relay, fills) = (color.clone(), relay.clone(), fills.clone());
                source.with_handler(&SHORT).post_or_shed(move |(), _| {
                    first
                        .with_handler(&SHORT)
                        .post_or_shed(move |_, cx| pass_on(&relay, cx.colored(), round));
                    drop(first);
                    fills
                        .iter()
                        .for_each(|fill| fill.with_handler(&SHORT).post_or_shed(|(), _| ()));
                    POSTED.store(round, SeqCst);
                    comes(&DROPPED, round, Duration::from_millis(5));
                });
                comes(&POSTED, round, Duration::from_secs(1));
                drop(color);
                DROPPED.store(round, SeqCst);
                comes(&ENDED, round, Duration::from_secs(1));
            }
            BUSY.store(false, SeqCst);
            rt.wait_idle();
        },
    );
}

fn pass_on(relay: &Colored<()>, me: Colored<Canary>, round: u64) {
    relay.with_handler(&SHORT).post_or_shed(move |(), _| {
        me.with_handler(&SHORT)
            .post_or_shed(move |_, _| RAN.store(round, SeqCst));
        PENDING.store(round, SeqCst);
        drop(me);
        comes(&ENDED, round, Duration::from_micros(200));
    });
}
