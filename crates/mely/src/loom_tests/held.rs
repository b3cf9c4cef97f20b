//! Models of what a worker gives while a long event holds it.

use super::*;
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
