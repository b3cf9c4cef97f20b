//! `mely sim paper`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{parallel, provenance};
use crate::Error;
use crate::machine::Machine;
use crate::mely::Policy;
use crate::paper::{Assumed, Assumption, Report, Row, Size, Table};

/// Which tables of the papers to simulate.
#[derive(Args, Clone, Debug)]
pub struct PaperOptions {
    /// Only these tables; by default all.
    #[arg(long, value_name = "TABLE", value_delimiter = ',')]
    table: Vec<Table>,
    /// Only these policies, as mely-base or adaptive; by default those that the paper
    /// compares.
    #[arg(long, value_name = "POLICY", value_delimiter = ',')]
    policy: Vec<Policy>,
    /// On this machine, or that of a file, instead of the paper's: to know what becomes
    /// of its figures elsewhere.
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Assume something else of what the papers leave open, such as penalty-chains=20:
    /// to see what a figure depends on.
    #[arg(long, value_name = "NAME=NUMBER", value_delimiter = ',')]
    assume: Vec<Assumption>,
    /// Run fewer and smaller rounds: to see that it runs.
    #[arg(long)]
    small: bool,
    /// Write the cells of the tables into this file: an array of {table, row, column,
    /// paper, simulated, standing}, and a reason where one is off; the standing is
    /// predicted, calibrated, calibrated-later or again (the rate by another name).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(options: &PaperOptions) -> Result<(), Error> {
    let machine_of = |table: Table| {
        let name = options.machine.as_deref();
        Machine::find(name.unwrap_or(table.machine()))
    };
    let mut assumed = Assumed::default();
    options.assume.iter().for_each(|&other| assumed.set(other));
    let runs = chosen(options);
    let size = if options.small {
        Size::Small
    } else {
        Size::Full
    };
    let name = |&(table, policy): &(Table, Policy)| format!("{table} {policy}");
    let rows = parallel::run_all(&runs, Duration::MAX, name, |&(table, policy)| {
        let machine = machine_of(table)?;
        let measured = table.run_assuming(policy, &machine, size, &assumed)?;
        Ok(Row {
            table,
            policy,
            measured,
        })
    })?;
    let report = Report { rows };
    let machine = machine_of(runs.first().map_or(Table::Unbalanced, |&(table, _)| table))?;
    let mut on = machine.description;
    if options.machine.is_none() {
        on += "; of the CFSE paper's file server, its own";
    }
    if let Some(path) = &options.json {
        provenance::write(path, &report.cells(), &on)?;
    }
    let text = format!("simulated: {on}\n{}", report.text());
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(Error::Output)
}

fn chosen(options: &PaperOptions) -> Vec<(Table, Policy)> {
    let tables = match options.table.as_slice() {
        [] => &Table::ALL,
        tables => tables,
    };
    let policies = |table: Table| match options.policy.as_slice() {
        [] => table.policies(),
        policies => policies.to_vec(),
    };
    let of = |&table: &Table| {
        policies(table)
            .into_iter()
            .map(move |policy| (table, policy))
    };
    tables.iter().flat_map(of).collect()
}
