//! Models of what does not keep a color alive, and of what takes events back.

use super::*;
use crate::shared::Posted;

/// Somebody makes a counted reference of a weak one while the last one goes, with or without
/// an owner: he finds the color and what he posts is run, or it has ended; its state goes
/// once.
#[test]
fn loom_a_weak_reference_finds_a_color_that_lives() {
    for owned in [false, true] {
        loom::model(move || {
            let (shared, drops) = (shared(2), Drops::new());
            let worker = lone_worker(&shared, 0);
            let color = colored(&shared, 0, drops.counted());
            let weak = color.downgrade();
            let owner = owned.then(|| {
                let event = color.new_event(|_, _cx| ());
                let owner = color.color_ref().deliver(event).ok().flatten();
                let owner = owner.expect("the color is idle");
                owner.pop(|_| ()).expect("the event");
                owner
            });
            let finding = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let Some(found) = weak.upgrade() else { return };
                    let event = found.new_event(|state, _cx| {
                        state.touched.add(1);
                    });
                    if let Ok(Some(owner)) = found.color_ref().deliver(event) {
                        run_to_the_end(&lone_worker(&shared, 1), owner);
                    }
                })
            };
            drop(color);
            if let Some(owner) = owner {
                run_to_the_end(&worker, owner);
            }
            finding.join().unwrap();
            assert_eq!(drops.count(), 1);
        });
    }
}

/// Who takes a call back in time knows that it has not run, and will not.
#[test]
fn loom_a_call_is_run_or_taken_back() {
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let captured = drops.counted();
        let reply = color.call(move |list, _cx| {
            list.add(1);
            drop(captured);
        });
        let taken_back = reply.cancel();
        let (seen, gate) = (Arc::new(std::sync::Mutex::new(Vec::new())), Gate::new());
        let (look, passing) = (Arc::clone(&seen), Arc::clone(&gate));
        color.post_or_shed(move |list, _cx| {
            *look.lock().unwrap() = list.values();
            passing.pass();
        });
        gate.wait_for(1);
        let expected = if taken_back { vec![] } else { vec![1] };
        assert_eq!((seen.lock().unwrap().clone(), drops.count()), (expected, 1));
        drop(color);
        stop(&shared, vec![worker]);
    });
}

/// A color is stopped from outside while it is run and posted to: each event is run, dropped
/// or given back, and its state goes once, when the last event is over.
#[test]
fn loom_a_color_that_is_stopped_ends_its_state_once() {
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, drops.counted());
        let touch = |color: &Colored<Counted>| {
            let posted = color.post(|state, _cx| {
                state.touched.add(1);
            });
            posted.is_ok()
        };
        let other = color.clone();
        let posting = thread::spawn(move || touch(&other));
        color.stop(crate::color::Pending::Drop);
        posting.join().unwrap();
        assert!(!touch(&color));
        shared.enter(Phase::Draining);
        stop(&shared, vec![worker]);
        assert_eq!(drops.count(), 1, "before the last handle goes");
        drop(color);
        assert_eq!(drops.count(), 1);
    });
}

/// A color is stopped while somebody else owns it, looks ahead into its inbox and runs it:
/// what is in the inbox is dropped by its owner, and by nobody else.
#[test]
fn loom_what_is_in_a_color_that_is_stopped_its_owner_drops() {
    struct DroppedOn(thread::ThreadId, Counted);
    impl Drop for DroppedOn {
        fn drop(&mut self) {
            assert_eq!(thread::current().id(), self.0, "dropped by its owner");
            self.1.touched.add(1);
        }
    }
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        let (worker, here) = (lone_worker(&shared, 0), thread::current().id());
        let color = colored(&shared, 0, Watched::new());
        let post = |color: &Colored<Watched>, value| {
            let captured = DroppedOn(here, drops.counted());
            let event = new_event(color, move |state| {
                state.add(value);
                drop(captured);
            });
            color.color_ref().deliver(event).ok().flatten()
        };
        let owner = post(&color, 1).expect("the color is idle");
        assert!(post(&color, 2).is_none());
        let other = color.clone();
        let stopping = thread::spawn(move || other.stop(crate::color::Pending::Drop));
        owner.prefetch_inbox(1);
        run_to_the_end(&worker, owner);
        stopping.join().unwrap();
        assert_eq!(drops.count(), 2);
        drop(color);
    });
}

/// The same where events wait in one queue: the worker that has taken one from it runs it or
/// finds the color stopped.
#[test]
fn loom_an_event_of_a_color_that_is_stopped_is_given_back() {
    loom::model(|| {
        let (shared, drops) = (shared(1), Drops::new());
        let worker = lone_worker(&shared, 0);
        let color = colored(&shared, 0, drops.counted());
        let event = color.new_event(|state, _cx| {
            state.touched.add(1);
        });
        let posted = Posted::new(color.color_ref().clone(), event);
        let other = color.clone();
        let stopping = thread::spawn(move || other.stop(crate::color::Pending::Drop));
        if let Ok(owner) = posted.claim() {
            run_to_the_end(&worker, owner);
        }
        stopping.join().unwrap();
        assert_eq!(drops.count(), 1, "before the last handle goes");
        drop(color);
    });
}
