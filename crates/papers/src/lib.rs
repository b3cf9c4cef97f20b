//! What the papers behind Mely define and what they measured, cell by cell: for the
//! benchmarks and for the simulator, which both set their own figures beside it.
//!
//! They are *Efficient Workstealing for Multicore Event-Driven Systems* (ICDCS 2010) and *Vol
//! de tâches efficace pour systèmes événementiels multi-cœurs* (CFSE 2009), on 8 and 4 cores of
//! Xeons from 2008: *Efficient Workstealing* and *Vol de tâches* in these pages.
//!
//! ```
//! use mely_papers::{Column, figure, table};
//! use mely_sched::Policy;
//!
//! let rate = figure(table::UNBALANCED, Policy::MelyTimeLeft, Column::KiloEvents);
//! assert_eq!(rate, Some(2042.0));
//! ```

mod column;
pub mod definitions;
mod figures;

pub use column::Column;
pub use figures::{FIGURES, Figure, figure, table};
