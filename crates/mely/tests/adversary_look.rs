//! A worker looks ahead into the inboxes of colors that another thread stops.
use mely::*;
use std::time::{Duration, Instant};

#[test]
fn look_ahead_into_a_stopped_inbox() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let begin = Instant::now();
    let (limit, colors, events) = if cfg!(miri) {
        (Duration::from_secs(60), 9, 3)
    } else {
        (Duration::from_secs(15), 24, 16)
    };
    let mut rounds = 0u64;
    while begin.elapsed() < limit {
        if cfg!(miri) && rounds >= 4 {
            break;
        }
        rounds += 1;
        let all: Vec<_> = (0..colors).map(|_| rt.fresh_color()).collect();
        for _ in 0..events {
            for c in &all {
                c.post(|_, _| ());
            }
        }
        for c in all.iter().rev() {
            c.stop(Pending::Drop);
        }
    }
    rt.settle();
    eprintln!("{rounds} rounds");
}
