//! Models of `with`: a section that borrows from the stack of whoever waits for it.

use super::*;
use crate::color::error::CallError;

/// When `with` returns, nobody reaches what the section has borrowed: it has run, or its
/// event is gone, whatever the runtime was doing.
#[test]
fn loom_a_section_is_over_when_with_returns() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let caller = thread::spawn(move || {
            let mut borrowed = Watched::new();
            let result = color.try_blocking_with(|state| {
                state.add(1);
                borrowed.add(1)
            });
            // Loom watches this access, which must come after that of the section.
            match (result, borrowed.add(2)) {
                (Ok(1), 2) => {}
                (Err(CallError::Closed | CallError::Dropped), 1) => {}
                other => panic!("{other:?}"),
            }
        });
        shared.enter(Phase::Stopped);
        caller.join().unwrap();
        stop(&shared, vec![worker]);
    });
}

/// The same where the section runs.
#[test]
fn loom_with_waits_for_its_section() {
    loom::model(|| {
        let shared = shared(1);
        let worker = start(&shared, 0);
        let color = colored(&shared, 0, Watched::new());
        let mut borrowed = Watched::new();
        let result = color.try_blocking_with(|state| {
            state.add(1);
            borrowed.add(1);
        });
        assert_eq!((result, borrowed.values()), (Ok(()), vec![1]));
        drop(color);
        stop(&shared, vec![worker]);
    });
}
