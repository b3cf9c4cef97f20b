//! Rounds: the end of one begins the next.

use std::sync::Arc;

use crate::mely::{Colored, Context, Handler};

/// A round that goes on: when the last of its events lets go of it, the color that
/// began it is told. Nothing in the simulation counts for that: the papers do not say
/// how their rounds end.
pub(super) struct Round<T: Send + 'static> {
    forker: Colored<T>,
    handler: &'static Handler,
    then: fn(&mut T, &mut Context<'_, T>),
}

impl<T: Send + 'static> Round<T> {
    /// Begins a round; `then` runs as an event of `handler` when it has ended.
    pub(super) fn begin(
        forker: Colored<T>,
        handler: &'static Handler,
        then: fn(&mut T, &mut Context<'_, T>),
    ) -> Arc<Self> {
        Arc::new(Self {
            forker,
            handler,
            then,
        })
    }
}

impl<T: Send + 'static> Drop for Round<T> {
    fn drop(&mut self) {
        self.forker.via(self.handler).post(self.then);
    }
}
