//! Ctrl-C, for long work that says how far it came.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::consts::SIGINT;

/// What a shell reports of a program that Ctrl-C has ended.
const ENDED_BY_SIGINT: i32 = 128 + SIGINT;

/// As long as this lives, the first Ctrl-C is noted; a second one ends the program.
pub(super) struct Interrupt {
    came: Arc<AtomicBool>,
    ids: Vec<SigId>,
}

impl Interrupt {
    pub(super) fn watch() -> io::Result<Self> {
        let mut interrupt = Self::never();
        let came = &interrupt.came;
        // In this order: at the second Ctrl-C the flag is set already.
        let ends = signal_hook::flag::register_conditional_shutdown(
            SIGINT,
            ENDED_BY_SIGINT,
            Arc::clone(came),
        )?;
        let notes = signal_hook::flag::register(SIGINT, Arc::clone(came))?;
        interrupt.ids = vec![ends, notes];
        Ok(interrupt)
    }

    /// One that no signal sets off.
    pub(super) fn never() -> Self {
        Self {
            came: Arc::default(),
            ids: Vec::new(),
        }
    }

    /// As if Ctrl-C had been pressed.
    #[cfg(test)]
    pub(super) fn note(&self) {
        // Relaxed: a flag alone.
        self.came.store(true, Ordering::Relaxed);
    }

    pub(super) fn came(&self) -> bool {
        // Relaxed: a flag alone.
        self.came.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}
