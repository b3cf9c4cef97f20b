//! A waker that waits for an answer is called once, when the answer is there.

use std::collections::BTreeSet;

use super::{AskId, Check, Seen, ensure};

#[derive(Default)]
pub(super) struct Waking {
    /// Those that wait.
    waiting: BTreeSet<AskId>,
    woken: BTreeSet<AskId>,
}

impl Waking {
    fn all_woken(&self) -> Result<(), String> {
        ensure(self.waiting.is_empty(), || {
            format!(
                "the runtime has ended, and wakers {:?} were never called",
                self.waiting
            )
        })
    }
}

impl Check for Waking {
    fn name(&self) -> &'static str {
        "woken"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Asking { ask } => {
                self.waiting.insert(ask);
            }
            Seen::Unasked { ask } => {
                self.waiting.remove(&ask);
            }
            Seen::Woken { ask } => {
                self.waiting.remove(&ask);
                return ensure(self.woken.insert(ask), || {
                    format!("waker {ask} is called twice")
                });
            }
            Seen::Looked { ask, ready } => {
                return ensure(ready, || {
                    format!("waker {ask} is called, and the answer is not there")
                });
            }
            Seen::End { .. } | Seen::Gone { .. } => return self.all_woken(),
            _ => {}
        }
        Ok(())
    }
}
