//! Why a budget gives nothing.

use core::fmt;

/// Why there is no share of a [`Budget`](crate::Budget).
///
/// ```
/// use mely::{Budget, BudgetError};
/// let error = Budget::new(1024).try_take(2048).unwrap_err();
/// assert_eq!(error, BudgetError::TooLarge { asked: 2048, limit: 1024 });
/// assert!(error.to_string().contains("at most 1024"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BudgetError {
    /// Not so much is left, or others wait for what is: try again later, wait, or do without.
    Full {
        /// How much was asked for.
        asked: usize,
        /// How much is not taken.
        left: usize,
    },
    /// It is more than there is in all: waiting would not help.
    TooLarge {
        /// How much was asked for.
        asked: usize,
        /// The limit at that time.
        limit: usize,
    },
    /// Waiting was to block a worker, which who has the shares may wait for.
    InsideHandler,
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { asked, left } if asked <= left => {
                write!(f, "the budget has {left} left, but others wait for it")
            }
            Self::Full { asked, left } => {
                write!(
                    f,
                    "the budget has {left} left, and not the {asked} asked for"
                )
            }
            Self::TooLarge { asked, limit } => write!(
                f,
                "{asked} were asked of a budget that gives at most {limit}: ask for less, or \
                 raise it by `set_limit`"
            ),
            Self::InsideHandler => f.write_str(
                "blocking for a share inside a handler could wait for itself; use `try_take`, or \
                 await a `take` in a task",
            ),
        }
    }
}

impl core::error::Error for BudgetError {}
