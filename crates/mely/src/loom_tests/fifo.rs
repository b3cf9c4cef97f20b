//! Models of the policies with one queue of events for each core.

use super::*;

/// Steps a worker until it finds nothing.
fn run_out(shared: &Arc<Shared>, index: usize) {
    let worker = Worker::new(Arc::clone(shared), index, Box::new([]));
    while worker.step() == Step::Ran {}
}

/// A thread posts to a color while its core takes events and another core steals:
/// the color has one owner at a time, nothing is lost, and the poster's order
/// holds, wherever the color is.
#[test]
fn loom_fifo_post_against_steal() {
    loom::model(|| {
        let shared = shared_under(Policy::LibasyncSmp, 2);
        let colors = [0, 1].map(|_| colored(&shared, 0, Watched::new()));
        let post = |color: &Colored<Watched>, value: u32| {
            color.post(move |state, _cx| {
                state.add(value);
            });
        };
        post(&colors[0], 1);
        post(&colors[1], 1);
        let steps = |index: usize, count: usize| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let worker = Worker::new(shared, index, Box::new([]));
                for _ in 0..count {
                    worker.step();
                }
            })
        };
        let last = colors[1].clone();
        // A thread of its own: from this one, which waits, loom turns to any of
        // them without counting a preemption.
        let poster = thread::spawn(move || post(&last, 2));
        for thread in [poster, steps(0, 2), steps(1, 1)] {
            thread.join().unwrap();
        }
        run_out(&shared, 0);
        run_out(&shared, 1);
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        for color in &colors {
            let look = Arc::clone(&seen);
            color.post(move |state, _cx| look.lock().unwrap().push(state.values()));
            // One of them is its home.
            run_out(&shared, 0);
            run_out(&shared, 1);
        }
        assert_eq!(*seen.lock().unwrap(), [vec![1], vec![1, 2]]);
        drop(colors);
        stop(&shared, Vec::new());
    });
}

/// A worker that goes to sleep and a thread that posts: the worker always wakes.
#[test]
fn loom_fifo_post_wakes_a_sleeping_worker() {
    loom::model(|| {
        let shared = shared_under(Policy::LibasyncSmp, 1);
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let gate = Gate::new();
        for value in [1, 2] {
            let gate = Arc::clone(&gate);
            color.post(move |state, _cx| {
                state.add(value);
                gate.pass();
            });
        }
        gate.wait_for(2);
        drop(color);
        stop(&shared, vec![worker]);
    });
}

/// As under the default policy, but there is nothing to be offered: whoever posts
/// wakes the thief, or the thief finds the event.
#[test]
fn loom_fifo_work_behind_a_long_event_is_stolen() {
    model_of_two(|| work_behind_a_long_event(Policy::LibasyncSmp));
}

/// A shutdown at any moment leaves nothing behind.
#[test]
fn loom_fifo_stop_while_posting() {
    loom::model(|| {
        let shared = shared_under(Policy::LibasyncSmp, 1);
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let poster = thread::spawn(move || {
            color.post(|state, _cx| {
                state.add(1);
            });
        });
        shared.enter(Phase::Stopped);
        worker.join().unwrap();
        poster.join().unwrap();
        assert!(shared.is_quiescent());
    });
}
