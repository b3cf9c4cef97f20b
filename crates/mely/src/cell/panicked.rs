//! What becomes of a color one of whose events panicked.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering::Relaxed;

use super::{OwnedColor, Realm};

/// What a runtime, or a color of it, does when a handler panics. The panic's message goes to
/// the panic hook in any case, and the event counts as run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnPanic {
    /// As [`PoisonColor`](Self::PoisonColor) for a color that owns state, which the panic may
    /// have left halfway; as [`Continue`](Self::Continue) for one that owns none.
    #[default]
    PoisonState,
    /// Loses that event only, counts it, and goes on with the next one, which may find a state
    /// that the panic has left halfway.
    Continue,
    /// Ends the color, as [`Colored::stop`](crate::Colored::stop) does, what is pending
    /// dropped: posts are refused as [`Poisoned`](crate::PostError::Poisoned) from then on.
    /// Color 0 of a runtime with a [single reactor](crate::ReactorKind::Single) goes on.
    PoisonColor,
    /// Ends the process.
    Abort,
}

/// The same, as a color was told when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterPanic {
    /// As the runtime says.
    AsRuntime,
    As(OnPanic),
    /// Goes on with a fresh state.
    Restart,
}

impl<R: Realm> OwnedColor<R> {
    /// What is to be done after a panic, where the runtime says `of_runtime`. A color that
    /// restarts gets its fresh states; if that panics, too, it is to be poisoned.
    pub(crate) fn after_panic(&self, of_runtime: OnPanic) -> OnPanic {
        let on_panic = match self.cell().traits.after_panic {
            AfterPanic::AsRuntime => of_runtime,
            AfterPanic::As(on_panic) => on_panic,
            AfterPanic::Restart => match self.renew_states() {
                true => OnPanic::Continue,
                false => OnPanic::PoisonColor,
            },
        };
        match on_panic {
            OnPanic::PoisonState if self.owns_state() => OnPanic::PoisonColor,
            OnPanic::PoisonState => OnPanic::Continue,
            other => other,
        }
    }

    /// Refuses all events from now on, for good: as by [`ColorRef::stop`](super::ColorRef::stop),
    /// and says why.
    pub(crate) fn poison(&self) {
        let cell = self.cell();
        // Relaxed: who finds the inbox barred sees it, by that.
        cell.poisoned.store(true, Relaxed);
        cell.inbox.bar();
    }

    /// Whether it has a state of the program's.
    fn owns_state(&self) -> bool {
        let states = self.lives().states_at(&self.cell().life);
        // SAFETY: as below.
        states.is_some_and(|states| unsafe { states.has_programs() })
    }

    fn renew_states(&self) -> bool {
        let states = self.lives().states_at(&self.cell().life);
        // SAFETY: the owner, between two events, has the states to itself; they stay where
        // they are until the color ends, or the last worker of the runtime has ended.
        states.is_none_or(|states| unsafe { states.renew() })
    }
}
