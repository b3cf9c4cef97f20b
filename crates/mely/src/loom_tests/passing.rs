//! Models of what a worker gives while a long event holds it, and of its outbox.

use std::sync::atomic::Ordering::SeqCst;

use super::*;
use crate::machine::sync::AtomicUsize;
use crate::queue::held;
use crate::shared::idle::Idle;

fn take_all(taker: &mut held::Taker<u32>) -> Vec<u32> {
    let claims = core::iter::from_fn(|| taker.claim(2, |_| true));
    claims.flatten().collect()
}

/// Elements come out of the queue once and in order, and one that is given while a
/// worker lies down is found by it, or the giver sees the sleeper.
#[test]
fn loom_held_is_taken_or_the_sleeper_seen() {
    loom::model(|| {
        let (held, giver, mut taker) = held::queue();
        let idle = Arc::new(Idle::new());
        let sleeper = {
            let idle = Arc::clone(&idle);
            thread::spawn(move || {
                idle.lie_down(1, false);
                held.touch();
                let taken = take_all(&mut taker);
                (taken, taker)
            })
        };
        giver.give(1);
        let seen_by_first = idle.hint().sleeping() > 0;
        giver.give(2);
        let seen_by_second = idle.hint().sleeping() > 0;
        let (mut taken, mut taker) = sleeper.join().unwrap();
        assert!(
            seen_by_first || taken.contains(&1),
            "1 sleeps beside its worker"
        );
        assert!(
            seen_by_second || taken.contains(&2),
            "2 sleeps beside its worker"
        );
        taken.extend(take_all(&mut taker));
        assert_eq!(taken, [1, 2]);
    });
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A color whose last reference is dropped while an outbox holds it lives until what
/// the outbox delivers has run, and ends once.
#[test]
fn loom_a_color_in_an_outbox_is_not_ended() {
    loom::model(|| {
        let shared = shared(1);
        let (drops, runs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let color = colored(&shared, 0, Counted(Arc::clone(&drops)));
        let other = color.clone();
        let dropper = thread::spawn(move || drop(other));
        let (ran, dropped) = (Arc::clone(&runs), Arc::clone(&drops));
        let event = color.new_event(move |_state, _cx| {
            assert_eq!(dropped.load(SeqCst), 0, "the state is gone");
            ran.fetch_add(1, SeqCst);
        });
        let passes = &shared.remotes[0].passes;
        passes.begin();
        let passing = color.color_ref().pass();
        drop(color);
        if let Some(mut owned) = passing.deliver(event) {
            while let Err(again) = {
                while let Some(event) = owned.pop(|_| ()) {
                    run_alone(event, &shared, &owned);
                }
                owned.release_anywhere()
            } {
                owned = again;
            }
        }
        passes.end();
        shared.end_waiting_colors();
        dropper.join().unwrap();
        shared.end_waiting_colors();
        assert_eq!(runs.load(SeqCst), 1);
        assert_eq!(drops.load(SeqCst), 1, "the color ends, and ends once");
        stop(&shared, Vec::new());
    });
}
