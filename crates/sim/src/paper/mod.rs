//! The papers' tables, on the papers' machine: their workloads under the real workers,
//! beside what they measured.
//!
//! A simulation is calibrated on some cells of the papers (those of runs without
//! stealing), and for others an assumption was changed after they had been seen; the rest
//! are predictions. What the papers measured is in `mely-papers`.
//!
//! | file | what |
//! |---|---|
//! | `unbalanced`, `penalty`, `cache_efficient` | the microbenchmarks of *Efficient Workstealing* |
//! | `pipeline`, `cache_aware`, `batch`, `pinning` | those of *Vol de tâches* |
//! | `web`, `files` | the two servers of both |
//! | `clients`, `epoll` | who asks the servers; what the kernel tells of them |
//! | `rounds`, `arrays` | the end of a round; the allocator of the workloads |
//! | `assumed` | what the papers leave open |
//! | `program` | running one, and the columns |
//! | `standing`, `reasons` | which cells are predicted; why one is off |
//! | `orderings` | what the papers conclude |
//! | `report` | all of it, to read and as JSON |
//!
//! ```no_run
//! use mely_sim::machine::Machine;
//! use mely_sim::mely::Policy;
//! use mely_sim::paper::{Size, Table};
//!
//! let machine = Machine::find("xeon-e5410")?;
//! let measured = Table::Unbalanced.run(Policy::MelyTimeLeft, &machine, Size::Full)?;
//! println!("{:.0} events/s", measured.events_per_second);
//! # Ok::<(), mely_sim::Error>(())
//! ```

mod arrays;
mod assumed;
mod batch;
mod cache_aware;
mod cache_efficient;
mod clients;
mod epoll;
mod files;
mod orderings;
mod penalty;
mod pinning;
mod pipeline;
mod program;
mod reasons;
mod report;
mod rounds;
mod standing;
mod unbalanced;
mod web;

use std::fmt;

use clap::ValueEnum;

pub use assumed::{Assumed, Assumption, Open};
pub use mely_papers::Column;
pub use orderings::{ORDERINGS, Ordering};
pub use program::{Measured, Size};
pub use report::{Cell, Report, Row};
pub use standing::{Published, Standing, cells};

use self::program::{Setup, Workload};
use crate::Error;
use crate::machine::Machine;
use crate::mely::Policy;

/// A table of the papers, or a figure; each is one workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// Rounds of 50 000 events on one core (Efficient Workstealing, tables III and IV).
    Unbalanced,
    /// Chains of events that walk through an array (Efficient Workstealing, table V).
    Penalty,
    /// Merge sorts, forked on one core of each pair (Efficient Workstealing, table VI).
    CacheEfficient,
    /// A pipeline over arrays of 80 KB (Vol de tâches, figures 3 and 4).
    CacheAware,
    /// A pipeline of light handlers (Vol de tâches, figures 5 and 6).
    Batch,
    /// A server of one byte a connection (Vol de tâches, figures 7 and 8).
    Pinning,
    /// The web server, 150 requests a connection (Efficient Workstealing, table I and
    /// figures 4 and 7).
    Web,
    /// The same handlers as a server of their own on each core, N-copy (Efficient
    /// Workstealing, figure 7).
    WebCopies,
    /// The file server, 16 clients (Efficient Workstealing, table I and figure 8).
    Files,
    /// The web server, one request a connection (Vol de tâches, figure 11).
    CfseWeb,
    /// The same handlers as a server of their own on each core (Vol de tâches, figure
    /// 10).
    CfseWebCopies,
    /// The file server, 15 clients (Vol de tâches, figure 12).
    CfseFiles,
}

impl Table {
    /// Every table, in the order of the papers.
    pub const ALL: [Table; 12] = [
        Table::Unbalanced,
        Table::Penalty,
        Table::CacheEfficient,
        Table::CacheAware,
        Table::Batch,
        Table::Pinning,
        Table::Web,
        Table::WebCopies,
        Table::Files,
        Table::CfseWeb,
        Table::CfseWebCopies,
        Table::CfseFiles,
    ];

    /// The name, as `--table` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Table::Unbalanced => "unbalanced",
            Table::Penalty => "penalty",
            Table::CacheEfficient => "cache-efficient",
            Table::CacheAware => "cache-aware",
            Table::Batch => "batch",
            Table::Pinning => "pinning",
            Table::Web => "web",
            Table::WebCopies => "web-copies",
            Table::Files => "files",
            Table::CfseWeb => "cfse-web",
            Table::CfseWebCopies => "cfse-web-copies",
            Table::CfseFiles => "cfse-files",
        }
    }

    /// The machine that the paper had for it, by the name of its file.
    #[must_use]
    pub const fn machine(self) -> &'static str {
        match self {
            Table::CfseFiles => "xeon-5120",
            _ => "xeon-e5410",
        }
    }

    fn workload(self) -> &'static Workload {
        match self {
            Table::Unbalanced => &unbalanced::WORKLOAD,
            Table::Penalty => &penalty::WORKLOAD,
            Table::CacheEfficient => &cache_efficient::WORKLOAD,
            Table::CacheAware => &cache_aware::WORKLOAD,
            Table::Batch => &batch::WORKLOAD,
            Table::Pinning => &pinning::WORKLOAD,
            Table::Web => &web::MELY,
            Table::WebCopies => &web::MELY_COPIES,
            Table::Files => &files::MELY,
            Table::CfseWeb => &web::CFSE,
            Table::CfseWebCopies => &web::CFSE_COPIES,
            Table::CfseFiles => &files::CFSE,
        }
    }

    /// Runs the workload under a policy. The same every time.
    ///
    /// # Errors
    /// [`Error`] when the machine cannot be simulated, or has too few cores.
    pub fn run(self, policy: Policy, machine: &Machine, size: Size) -> Result<Measured, Error> {
        self.run_assuming(policy, machine, size, &Assumed::default())
    }

    /// The same, with something else assumed of what the papers leave open.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_assuming(
        self,
        policy: Policy,
        machine: &Machine,
        size: Size,
        assumed: &Assumed,
    ) -> Result<Measured, Error> {
        let assumed = *assumed;
        let setup = Setup { size, assumed };
        self.workload().run(policy, machine, &setup)
    }

    /// The policies that the paper compares, in its order.
    #[must_use]
    pub fn policies(self) -> Vec<Policy> {
        let mut policies = vec![Policy::LibasyncSmpNoSteal];
        for cell in cells().filter(|cell| cell.table == self) {
            if !policies.contains(&cell.row) {
                policies.push(cell.row);
            }
        }
        policies
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for table in Table::ALL {
            let value = table.to_possible_value().unwrap();
            assert_eq!(value.get_name(), table.name());
            let copies = matches!(table, Table::WebCopies | Table::CfseWebCopies);
            assert!(
                table.policies().len() > if copies { 0 } else { 2 },
                "{table}"
            );
            assert!(Machine::find(table.machine()).is_ok(), "{table}");
        }
    }
}
