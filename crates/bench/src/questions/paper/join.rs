//! The join of a fork/join round, without a counter that all events fight for.

use std::sync::Arc;

use mely::{Colored, Context, Handler};

/// A round that goes on: when all its parts have been dropped, the color that forked
/// it is told.
pub(super) struct Round<T: Send + 'static> {
    forker: Colored<T>,
    handler: &'static Handler,
    then: fn(&mut T, &mut Context<'_, T>),
}

/// What the events of a part of the round hold together, in two cache lines of its
/// own (processors fetch lines in pairs). With one part for some hundred events,
/// neighbors of which mostly run on one core, holding it costs a cached atomic
/// operation and no traffic between cores.
#[repr(align(128))]
pub(super) struct Part<T: Send + 'static> {
    _round: Arc<Round<T>>,
}

impl<T: Send + 'static> Round<T> {
    /// Begins a round of the color that `forker` is; `then` runs as an event of
    /// `handler` when it has ended.
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

    /// A part of the round.
    pub(super) fn part(self: &Arc<Self>) -> Arc<Part<T>> {
        Arc::new(Part {
            _round: Arc::clone(self),
        })
    }
}

impl<T: Send + 'static> Drop for Round<T> {
    fn drop(&mut self) {
        self.forker
            .with_handler(self.handler)
            .post_or_shed(self.then);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static JOINED: Handler = Handler::new("join::tests::Joined");

    #[test]
    fn a_round_ends_with_its_last_part() {
        let rt = mely::Runtime::builder().workers(1).build().unwrap();
        let ends = rt.colored(0u32);
        let round = Round::begin(ends.clone(), &JOINED, |ends, _cx| *ends += 1);
        let parts = [round.part(), round.part()];
        drop(round);
        let [first, second] = parts;
        let held = Arc::clone(&second);
        drop((first, second));
        assert_eq!(ends.blocking_with(|ends| *ends), 0);
        drop(held);
        assert_eq!(ends.blocking_with(|ends| *ends), 1);
    }
}
