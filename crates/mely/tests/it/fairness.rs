//! A color waits at most one batch of each other ready color on its core.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use mely::{Context, Handler, Policy, Runtime};

use crate::checkers::{Fairness, Faults};
use crate::support::{bounded, holds, settle};

/// Worth a steal by itself: such colors are offered.
static HEAVY: Handler = Handler::new("fairness::Heavy").cost_cycles(1_000_000);
static LIGHT: Handler = Handler::new("fairness::Light").cost_cycles(1);

struct Endless {
    fair: Arc<Mutex<Fairness>>,
    left: Arc<AtomicU64>,
    at: usize,
    handler: &'static Handler,
}

fn turn(endless: &mut Endless, cx: &mut Context<'_, Endless>) {
    // Judged only while every color has an event waiting.
    let left = endless.left.load(Relaxed);
    if left > 1_000 {
        let mut fair = endless.fair.lock().unwrap_or_else(PoisonError::into_inner);
        fair.ran(endless.at);
    }
    if left > 0 {
        endless.left.store(left - 1, Relaxed);
        cx.with_handler(endless.handler).post_or_shed(turn);
    }
}

fn endless_colors(policy: Policy, batch: u32, colors: usize) {
    bounded("fairness", move || {
        let rt = Runtime::builder()
            .workers(1)
            .policy(policy)
            .batch_threshold(batch)
            .build()
            .expect("a runtime");
        let faults = Arc::new(Faults::default());
        let fair = Arc::new(Mutex::new(Fairness::new(colors, batch, &faults)));
        let left = Arc::new(AtomicU64::new(20_000));
        let starter = rt.new_color();
        let handle = rt.clone();
        // All begin from one event: none is ahead.
        starter.post_or_shed(move |_, _| {
            for at in 0..colors {
                let handler = if at % 2 == 0 { &HEAVY } else { &LIGHT };
                let endless = Endless {
                    fair: Arc::clone(&fair),
                    left: Arc::clone(&left),
                    at,
                    handler,
                };
                let options = match at % 3 {
                    0 => handle.color_options().pin_to(0),
                    _ => handle.color_options(),
                };
                let color = options.colored(endless).expect("worker 0");
                color.with_handler(handler).post_or_shed(turn);
            }
        });
        settle(&rt);
        holds(faults.verdict());
    });
}

#[test]
fn a_color_waits_one_batch_of_each_other() {
    for policy in Policy::ALL {
        for (batch, colors) in [(1, 2), (1, 70), (3, 7), (10, 5), (10, 100)] {
            endless_colors(policy, batch, colors);
        }
    }
}

#[test]
fn one_busy_color_does_not_hold_timers_and_outsiders_up() {
    bounded("busy color", || {
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let stop = Arc::new(AtomicU64::new(0));
        fn spin(stop: &mut Arc<AtomicU64>, cx: &mut Context<'_, Arc<AtomicU64>>) {
            if stop.load(Relaxed) < 2 {
                cx.post_or_shed(spin);
            }
        }
        let busy = rt.colored(Arc::clone(&stop));
        busy.post_or_shed(spin);
        let (by_timer, by_post) = (Arc::clone(&stop), Arc::clone(&stop));
        let _timer = rt
            .new_color()
            .post_after(std::time::Duration::from_millis(1), move |_, _| {
                by_timer.fetch_add(1, Relaxed);
            });
        rt.new_color().post_or_shed(move |_, _| {
            by_post.fetch_add(1, Relaxed);
        });
        settle(&rt);
        assert_eq!(stop.load(Relaxed), 2);
    });
}
