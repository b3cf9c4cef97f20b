//! Which runtimes wait for which: a handler that waits for another runtime must not be
//! what that one waits for.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::cell::origin::RuntimeNumber;
use crate::color::error::CallError;
use crate::machine::sync::unpoison;
use crate::worker;

/// Handlers of the first runtime that wait for something of the second, one by one.
static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());

type Wait = (RuntimeNumber, RuntimeNumber);

/// The caller waits for as long as this lives.
pub(crate) struct Waiting(Option<Wait>);

/// Before a blocking call to something of the runtime `to`.
///
/// # Errors
///
/// [`CallError::InsideHandler`] in a handler of that runtime, or of one that waits for
/// this one already, directly or by way of others: each could wait for ever.
pub(crate) fn wait_for(to: RuntimeNumber) -> Result<Waiting, CallError> {
    let here = worker::with_any_current(|worker| worker.map(|worker| worker.shared().number));
    let Some(from) = here else {
        return Ok(Waiting(None));
    };
    let mut waits = lock();
    if reaches(&waits, to, from) {
        return Err(CallError::InsideHandler);
    }
    waits.push((from, to));
    Ok(Waiting(Some((from, to))))
}

/// What is left of the time, each time that it is asked for. An end that no clock tells never
/// comes.
pub(super) fn left_of(timeout: Duration) -> impl Fn() -> Duration {
    let end = Instant::now().checked_add(timeout);
    move || end.map_or(timeout, |end| end.saturating_duration_since(Instant::now()))
}

fn lock() -> MutexGuard<'static, Vec<Wait>> {
    unpoison(WAITS.lock())
}

/// Whether `from` is `to`, or waits for it.
fn reaches(waits: &[Wait], from: RuntimeNumber, to: RuntimeNumber) -> bool {
    let (mut reached, mut next) = (vec![from], 0);
    while next < reached.len() {
        if reached[next] == to {
            return true;
        }
        for &(waiting, target) in waits {
            if waiting == reached[next] && !reached.contains(&target) {
                reached.push(target);
            }
        }
        next += 1;
    }
    false
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(wait) = self.0 {
            let mut waits = lock();
            if let Some(at) = waits.iter().position(|&other| other == wait) {
                waits.swap_remove(at);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_closes_a_circle_is_found_however_long_it_is() {
        let [a, b, c, d] = [(); 4].map(|()| RuntimeNumber::next());
        let waits = [(a, b), (b, c), (c, d), (b, d), (d, b)];
        assert!(reaches(&waits, a, d) && reaches(&waits, a, a) && reaches(&waits, d, c));
        assert!(!reaches(&waits, b, a) && !reaches(&[], a, b));
    }
}
