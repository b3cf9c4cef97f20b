//! Rounds: the end of one begins the next.

use std::sync::Arc;

use super::program::Begin;
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Colored, Context, Handler};

/// What comes in each round.
pub(super) trait Source: Send + Sized + 'static {
    /// The handler that begins a round.
    const ROUND: &'static Handler;

    /// Posts the events of a round; each lets go of it when it has been run.
    fn post(&mut self, round: &Arc<Round<Self>>, cx: &mut Context<'_, Rounds<Self>>);
}

/// The state of the color that begins rounds.
pub(super) struct Rounds<S> {
    source: S,
    left: u32,
}

impl<S: Source> Rounds<S> {
    fn begin(&mut self, cx: &mut Context<'_, Self>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let round = Arc::new(Round(cx.colored()));
        self.source.post(&round, cx);
    }
}

/// A round that goes on: when the last of its events lets go of it, the color that
/// began it is told. Nothing in the simulation counts for that: the papers do not say
/// how their rounds end.
pub(super) struct Round<S: Source>(Colored<Rounds<S>>);

impl<S: Source> Drop for Round<S> {
    fn drop(&mut self) {
        self.0.with_handler(S::ROUND).post_or_shed(Rounds::begin);
    }
}

/// Rounds that begin on the first core.
pub(super) fn build<S: Source>(simulation: &Simulation, source: S) -> Result<Begin, Error> {
    let options = simulation.handle().color_options().pin_to(0);
    let rounds = options.colored(Rounds { source, left: 0 })?;
    Ok(Box::new(move |_, left| {
        rounds
            .with_handler(S::ROUND)
            .post_or_shed(move |rounds, cx| {
                rounds.left = left;
                rounds.begin(cx);
            });
    }))
}
