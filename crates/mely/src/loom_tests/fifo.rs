//! Models of the policies with one queue of events for each core.

use super::*;

/// A worker that goes from one thread to another, which has waited for the first.
struct Sent(Worker);

// SAFETY: one thread at a time has it.
#[allow(unsafe_code)]
unsafe impl Send for Sent {}

impl Sent {
    fn steps(self, count: usize) -> Self {
        for _ in 0..count {
            self.0.step();
        }
        self
    }

    /// Steps until it finds nothing.
    fn run_out(&self) {
        while self.0.step() == Step::Ran {}
    }
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
            color.post_or_shed(move |state, _cx| {
                state.add(value);
            });
        };
        post(&colors[0], 1);
        post(&colors[1], 1);
        let steps = |index: usize, count: usize| {
            let worker = Sent(lone_worker(&shared, index));
            thread::spawn(move || worker.steps(count))
        };
        let last = colors[1].clone();
        // A thread of its own: from this one, which waits, loom turns to any of
        // them without counting a preemption.
        let poster = thread::spawn(move || post(&last, 2));
        let workers = [steps(0, 2), steps(1, 1)].map(|thread| thread.join().unwrap());
        poster.join().unwrap();
        let run_out = || workers.iter().for_each(Sent::run_out);
        run_out();
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        for color in &colors {
            let look = Arc::clone(&seen);
            color.post_or_shed(move |state, _cx| look.lock().unwrap().push(state.values()));
            // One of them is its home.
            run_out();
        }
        assert_eq!(*seen.lock().unwrap(), [vec![1], vec![1, 2]]);
        drop((colors, workers));
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
            color.post_or_shed(move |state, _cx| {
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
            color.post_or_shed(|state, _cx| {
                state.add(1);
            });
        });
        shared.enter(Phase::Stopped);
        worker.join().unwrap();
        poster.join().unwrap();
        assert!(shared.is_quiescent());
    });
}
