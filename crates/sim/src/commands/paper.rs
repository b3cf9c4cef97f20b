//! `mely sim paper`.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::progress;
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
    /// On this machine, or that of a file: the paper's, unless you want to know what
    /// becomes of its figures elsewhere.
    #[arg(long, value_name = "NAME", default_value = "xeon-e5410")]
    machine: String,
    /// Assume something else of what the papers leave open, such as penalty-chains=20:
    /// to see what a figure depends on.
    #[arg(long, value_name = "NAME=NUMBER", value_delimiter = ',')]
    assume: Vec<Assumption>,
    /// Write the cells of the tables into this file: an array of {table, row, column,
    /// paper, simulated, calibrated}, and a reason where a prediction is off.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(options: &PaperOptions) -> Result<(), Error> {
    let machine = Machine::find(&options.machine)?;
    let mut assumed = Assumed::default();
    options.assume.iter().for_each(|&other| assumed.set(other));
    let runs = chosen(options);
    let bar = progress::bar(Some(runs.len() as u64), "{pos}/{len} {msg}");
    let mut report = Report::default();
    for (table, policy) in runs {
        bar.set_message(format!("{table} {policy}"));
        let measured = table.run_assuming(policy, &machine, Size::Full, &assumed)?;
        report.rows.push(Row {
            table,
            policy,
            measured,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(path) = &options.json {
        write_json(path, &report)?;
    }
    let head = format!("simulated on {}: {}\n", machine.name, machine.description);
    let mut out = io::stdout();
    let written = out.write_all((head + &report.text()).as_bytes());
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

fn write_json(path: &PathBuf, report: &Report) -> Result<(), Error> {
    let failed = |source: io::Error| Error::File {
        path: path.clone(),
        source,
    };
    let json = serde_json::to_string_pretty(&report.cells());
    let json = json.map_err(|error| failed(error.into()))?;
    fs::write(path, json + "\n").map_err(failed)
}
