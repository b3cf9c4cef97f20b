//! Why a prediction is off, where that is known.

use super::{Column, Table};
use crate::mely::Policy;

/// What was found about a cell; `docs/decisions` has the whole of it.
#[must_use]
pub(super) fn reason(_table: Table, _row: Policy, _column: Column) -> Option<&'static str> {
    None
}
