//! Models of the end of a runtime: the last worker takes away what is left, once.

use super::*;

/// A worker that a handler holds works on its state while the other one ends: nothing is
/// taken away before both have ended, and then all of it, a color in its own state too.
#[test]
fn loom_what_a_held_worker_works_on_stays() {
    model_of_two(|| {
        let (shared, drops) = (shared(2), Drops::new());
        let workers = vec![start(&shared, 0), start(&shared, 1)];
        let (color, gate) = (colored(&shared, 0, drops.counted()), Gate::new());
        let circle = color.attach((color.clone(), drops.counted()));
        let begun = Arc::clone(&gate);
        color.post_or_shed(move |state, _cx| {
            begun.pass();
            begun.wait_for(2);
            state.touched.add(1);
        });
        drop((color, circle));
        gate.wait_for(1);
        shared.enter(Phase::Stopped);
        gate.pass();
        stop(&shared, workers);
        assert_eq!(drops.count(), 2);
    });
}

/// States that are given to a color beside the end, and a color that ends beside it: each
/// state is dropped once.
#[test]
fn loom_states_end_once() {
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        let early = colored(&shared, 0, drops.counted());
        let ending = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.worker_ends())
        };
        let adopting = {
            let (drops, early) = (drops.clone(), early.clone());
            thread::spawn(move || drop(early.attach(drops.counted())))
        };
        let late = colored(&shared, 0, drops.counted());
        drop((early, late));
        adopting.join().unwrap();
        ending.join().unwrap();
        assert_eq!(drops.count(), 3);
    });
}

/// What two workers have done something to until they ended.
struct Both(Arc<Watched>, Drops);

impl Drop for Both {
    fn drop(&mut self) {
        self.0.end();
        self.1.0.fetch_add(1, SeqCst);
    }
}

/// Two workers end at once: one of them, the last, ends what is left, after all that both
/// did.
#[test]
fn loom_the_last_worker_ends_what_is_left() {
    loom::model(|| {
        let (shared, drops) = (shared(2), Drops::new());
        let watched = Arc::new(Watched::new());
        let color = colored(&shared, 0, Both(Arc::clone(&watched), drops.clone()));
        let own = color.attach(color.clone());
        drop((color, own));
        let ending = {
            let (shared, watched) = (Arc::clone(&shared), Arc::clone(&watched));
            thread::spawn(move || {
                watched.look();
                shared.worker_ends();
            })
        };
        watched.look();
        shared.worker_ends();
        ending.join().unwrap();
        assert_eq!(drops.count(), 1);
    });
}
