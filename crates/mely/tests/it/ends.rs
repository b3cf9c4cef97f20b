//! What ends with a color, by whom, and when.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mely::{Pending, PostError};

use crate::checkers::conserved;
use crate::support::{Gate, OpenOnDrop, bounded, holds, runtime, settle};

/// Notes the name of the thread that drops it.
struct DroppedOn(Arc<Mutex<Vec<String>>>);

impl Drop for DroppedOn {
    fn drop(&mut self) {
        let name = std::thread::current().name().unwrap_or("?").to_owned();
        self.0.lock().expect("no panic under it").push(name);
    }
}

/// Who stops a color that is being run leaves what is pending to the worker that has it.
#[test]
fn what_is_pending_is_dropped_by_the_owner() {
    bounded("owner", || {
        let (rt, dropped) = (runtime(1), Arc::new(Mutex::new(Vec::new())));
        let color = rt.colored(0);
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let (begin, wait) = (begun.clone(), release.0.clone());
        color.post(move |_, _| {
            begin.arrive();
            wait.pass("the color is stopped");
        });
        begun.pass("it begins");
        for _ in 0..3 {
            let captured = DroppedOn(Arc::clone(&dropped));
            color.post(move |n, _| {
                let _captured = &captured;
                *n += 1;
            });
        }
        color.stop(Pending::Drop);
        assert!(dropped.lock().expect("no panic under it").is_empty());
        let refused = color.try_post(|_, _| ()).unwrap_err();
        assert!(matches!(refused, PostError::Closed(_)));
        drop(release);
        settle(&rt);
        let dropped = dropped.lock().expect("no panic under it");
        assert_eq!(*dropped, ["mely-0"; 3]);
        assert_eq!(rt.metrics().events.shed, 4);
        holds(conserved(&rt.metrics().events));
    });
}

/// A worker looks ahead into the inboxes of colors that another thread stops.
#[test]
fn inboxes_are_looked_into_while_their_colors_are_stopped() {
    bounded("look ahead", || {
        let (rt, end) = (runtime(1), Instant::now() + Duration::from_millis(200));
        let (colors, events) = if cfg!(miri) { (9, 3) } else { (24, 16) };
        for round in 0_u32.. {
            if Instant::now() > end || (cfg!(miri) && round > 3) {
                break;
            }
            let all: Vec<_> = (0..colors).map(|_| rt.fresh_color()).collect();
            for _ in 0..events {
                all.iter().for_each(|color| color.post(|_, _| ()));
            }
            all.iter().rev().for_each(|color| color.stop(Pending::Drop));
        }
        settle(&rt);
        holds(conserved(&rt.metrics().events));
    });
}
