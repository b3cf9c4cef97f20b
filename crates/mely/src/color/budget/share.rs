//! What is taken of a budget.

use core::fmt;

use super::Budget;

/// What is taken of a [`Budget`], and is given back when this is dropped.
///
/// It is two words: a closure has room for it, and for one more, without a box.
#[must_use = "a share that is dropped is given back"]
pub struct Share {
    budget: Budget,
    amount: usize,
}

impl Share {
    /// Of what was taken just now.
    pub(super) fn new(budget: &Budget, amount: usize) -> Self {
        Self {
            budget: budget.clone(),
            amount,
        }
    }

    /// How much it is.
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// The budget that it is of.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Takes so much of it for another one; `None` if it has less.
    ///
    /// ```
    /// # use mely::Budget;
    /// let budget = Budget::new(10);
    /// let mut all = budget.try_take(10)?;
    /// let part = all.split(4).expect("it has 10");
    /// drop(all);
    /// assert_eq!((part.amount(), budget.used()), (4, 4));
    /// # Ok::<(), mely::BudgetError>(())
    /// ```
    pub fn split(&mut self, amount: usize) -> Option<Self> {
        self.amount = self.amount.checked_sub(amount)?;
        Some(Self::new(&self.budget, amount))
    }

    /// Adds another one of the same budget, and gives back one of another.
    ///
    /// ```
    /// # use mely::Budget;
    /// let budget = Budget::new(10);
    /// let mut share = budget.try_take(1)?;
    /// assert!(share.merge(budget.try_take(2)?).is_ok());
    /// assert_eq!((share.amount(), budget.used()), (3, 3));
    /// assert!(share.merge(Budget::new(10).try_take(2)?).is_err());
    /// # Ok::<(), mely::BudgetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The other one, if it is of another budget.
    pub fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        if !self.budget.is_same(&other.budget) {
            return Err(other);
        }
        // Together they are no more than what is taken.
        self.amount += core::mem::take(&mut other.amount);
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.amount > 0 {
            self.budget.give_back(self.amount);
        }
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Share").field(&self.amount).finish()
    }
}
