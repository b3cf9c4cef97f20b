//! Waiting for a share.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::error::BudgetError;
use super::line::{Place, Turn};
use super::{Budget, Share};
use crate::machine::panics::drop_safely;

/// Waits for a [`Share`] ([`Budget::take`]): in any async runtime, and in turn from its first
/// poll on. Polled again after its end, it asks anew.
///
/// # Errors
///
/// [`BudgetError::TooLarge`].
#[must_use = "futures do nothing unless polled"]
pub struct Take {
    budget: Budget,
    amount: usize,
    /// Where it waits.
    place: Option<Place>,
}

impl Take {
    pub(super) fn new(budget: &Budget, amount: usize) -> Self {
        Self {
            budget: budget.clone(),
            amount,
            place: None,
        }
    }

    fn ask(&mut self, waker: &Waker) -> Poll<Result<(), BudgetError>> {
        let refused_for_now =
            |asked: &Result<(), BudgetError>| matches!(asked, Err(BudgetError::Full { .. }));
        let asked = self.budget.lock().try_take(self.amount);
        if !refused_for_now(&asked) {
            return Poll::Ready(asked);
        }
        // The waker is the program's: it is not cloned under the lock.
        let waker = waker.clone();
        let mut line = self.budget.lock();
        let asked = line.try_take(self.amount);
        if !refused_for_now(&asked) {
            drop(line);
            drop_safely(waker);
            return Poll::Ready(asked);
        }
        self.place = Some(line.enter(self.amount, waker));
        Poll::Pending
    }

    fn look(&mut self, place: Place, waker: &Waker) -> Poll<Result<(), BudgetError>> {
        let mut turn = self.budget.lock().look(place, waker);
        if matches!(turn, Turn::Waits { is_woken: false }) {
            let other = waker.clone();
            let before = self.budget.lock().replace(place, other);
            drop_safely(before);
            turn = self.budget.lock().look(place, waker);
        }
        let result = match turn {
            Turn::Waits { .. } => return Poll::Pending,
            Turn::Came => Ok(()),
            Turn::Never(error) => Err(error),
        };
        self.place = None;
        Poll::Ready(result)
    }
}

impl Future for Take {
    type Output = Result<Share, BudgetError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let taken = match self.place {
            None => self.ask(cx.waker()),
            Some(place) => self.look(place, cx.waker()),
        };
        taken.map_ok(|()| Share::new(&self.budget, self.amount))
    }
}

impl Drop for Take {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let waker = self.budget.lock().leave(place, self.amount);
        // Who came after it may be next, whether it had its share or was in the way.
        self.budget.let_in(None);
        drop_safely(waker);
    }
}

impl fmt::Debug for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Take")
            .field("amount", &self.amount)
            .field("waits", &self.place.is_some())
            .finish()
    }
}
