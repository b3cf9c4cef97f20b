//! What the papers behind Mely define and what they measured, cell by cell: for the
//! benchmarks and for the simulator, which both set their own figures beside it.
//!
//! Seed 000 is *Efficient Workstealing for Multicore Event-Driven Systems* (ICDCS 2010), seed
//! 002 *Vol de tâches efficace pour systèmes événementiels multi-cœurs* (CFSE 2009): 8 and 4
//! cores of Xeons from 2008.
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
