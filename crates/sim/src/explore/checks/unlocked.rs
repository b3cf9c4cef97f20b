//! The program, be it a handler, a destructor or a waker, is never called by a worker that
//! has lain down, nor by whoever has a lock of the runtime.

use super::{Check, Seen, ensure};

pub(super) struct Unlocked;

impl Check for Unlocked {
    fn name(&self) -> &'static str {
        "unlocked"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let Seen::Called { locks, lies } = *seen else {
            return Ok(());
        };
        ensure(locks == 0, || {
            format!("the program is called by a core that has {locks} locks")
        })?;
        ensure(!lies, || {
            "the program is called by a worker that has lain down".to_owned()
        })
    }
}
