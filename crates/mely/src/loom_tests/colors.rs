//! Models of the last references to colors, and of destructors that post.

use super::*;
use crate::memory::pool::{Pool, Reserve};

/// Posts 1 and 2 to a color when it is dropped.
pub(super) struct PostsWhenDropped {
    color: Colored<Watched>,
    gate: Arc<Gate>,
}

impl PostsWhenDropped {
    pub(super) fn new(color: &Colored<Watched>, gate: &Arc<Gate>) -> Self {
        Self {
            color: color.clone(),
            gate: Arc::clone(gate),
        }
    }
}

impl Drop for PostsWhenDropped {
    fn drop(&mut self) {
        for value in [1, 2] {
            let gate = Arc::clone(&self.gate);
            self.color.post_or_shed(move |state, _cx| {
                assert_eq!(state.add(value), value as usize, "out of order");
                gate.pass();
            });
        }
    }
}

/// Two workers pass a color on while its last reference outside goes: both events find its
/// state, which ends once, after them.
#[test]
fn loom_a_color_that_two_pass_on_ends_once() {
    model_of_two(|| {
        let (shared, drops) = (shared(2), Drops::new());
        let passed_on = colored(&shared, 0, drops.counted());
        let gate = Gate::new();
        for home in [0, 1] {
            let (passed_on, gate) = (passed_on.clone(), Arc::clone(&gate));
            colored(&shared, home, ()).post_or_shed(move |(), _cx| {
                passed_on.post_or_shed(move |state, _cx| {
                    state.touched.add(1);
                    gate.pass();
                });
            });
        }
        let workers = vec![start(&shared, 0), start(&shared, 1)];
        drop(passed_on);
        gate.wait_for(2);
        stop(&shared, workers);
        assert_eq!(drops.count(), 1);
    });
}

/// The same without workers, and deeper: whoever opens the color runs it.
#[test]
fn loom_the_last_of_three_ends_a_color() {
    loom::model(|| {
        let (shared, drops) = (shared(2), Drops::new());
        let color = colored(&shared, 0, drops.counted());
        let deliver_and_drop = |color: Colored<Counted>, worker: &Worker| {
            let event = color.new_event(|state, _cx| {
                state.touched.add(1);
            });
            let owned = color.color_ref().deliver(event).ok().flatten();
            drop(color);
            if let Some(owned) = owned {
                run_to_the_end(worker, owned);
            }
        };
        let other = {
            let (color, shared) = (color.clone(), Arc::clone(&shared));
            thread::spawn(move || deliver_and_drop(color, &lone_worker(&shared, 1)))
        };
        let third = color.clone();
        let dropper = thread::spawn(move || drop(third));
        deliver_and_drop(color, &lone_worker(&shared, 0));
        other.join().unwrap();
        dropper.join().unwrap();
        assert_eq!(drops.count(), 1);
    });
}

/// The last reference goes while the worker falls asleep, and the state posts when it is
/// dropped, wherever that is: both posts are run, in order.
#[test]
fn loom_what_a_destructor_posts_is_run() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let (color, gate) = (colored(&shared, 0, Watched::new()), Gate::new());
        let ending = colored(&shared, 0, PostsWhenDropped::new(&color, &gate));
        ending.post_or_shed(|_, _cx| ());
        drop(ending);
        gate.wait_for(2);
        drop(color);
        stop(&shared, vec![worker]);
    });
}

/// Blocks that two cores keep and take by way of their reserve are neither lost nor
/// doubled.
#[test]
fn loom_pools_share_a_reserve() {
    loom::model(|| {
        let (drops, reserve) = (Drops::new(), Reserve::new(4));
        let keep_and_take = |reserve: &Arc<Reserve<Box<Counted>>>, drops: &Drops| {
            let pool = Pool::new(reserve);
            (0..9).for_each(|_| pool.keep(Box::new(drops.counted())));
            let taken = core::iter::from_fn(|| pool.take()).take(3);
            taken.for_each(|mut block| {
                block.touched.add(1);
            });
        };
        let other = {
            let (reserve, drops) = (Arc::clone(&reserve), drops.clone());
            thread::spawn(move || keep_and_take(&reserve, &drops))
        };
        keep_and_take(&reserve, &drops);
        reserve.clear();
        other.join().unwrap();
        reserve.clear();
        assert_eq!(drops.count(), 18);
    });
}
