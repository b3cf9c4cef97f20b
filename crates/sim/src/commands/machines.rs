//! `mely sim machines`.

use std::io::{self, Write};

use clap::Args;

use crate::Error;
use crate::machine::{self, Machine, shipped};

/// Which machines to print, and how.
#[derive(Args, Clone, Debug)]
pub struct MachinesOptions {
    /// Print the TOML file of this one: to change it, or to see what its figures come
    /// from. A path of a file is checked, and printed if it is right.
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
    /// Print the list as JSON.
    #[arg(long, conflicts_with = "show")]
    json: bool,
}

pub(super) fn run(options: &MachinesOptions) -> Result<(), Error> {
    let text = match &options.show {
        Some(name) => {
            Machine::find(name)?;
            machine::source_of(name)?
        }
        None => {
            let machines = shipped::names().map(Machine::find);
            let machines = machines.collect::<Result<Vec<_>, _>>()?;
            match options.json {
                true => json(&machines).map_err(|error| Error::Output(error.into()))?,
                false => table(&machines),
            }
        }
    };
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(Error::Output)
}

fn table(machines: &[Machine]) -> String {
    let width = machines.iter().map(|machine| machine.name.len()).max();
    let width = width.unwrap_or(0);
    let line = |machine: &Machine| {
        let Machine {
            name,
            cores,
            description,
            ..
        } = machine;
        format!("{name:width$}  {cores:>4} cores  {description}\n")
    };
    machines.iter().map(line).collect()
}

fn json(machines: &[Machine]) -> serde_json::Result<String> {
    let entry = |machine: &Machine| {
        serde_json::json!({
            "name": machine.name,
            "description": machine.description,
            "cores": machine.cores,
            "packages": machine.packages.len(),
            "nodes": machine.nodes.len(),
            "frequency_hz": machine.frequency_hz,
        })
    };
    let entries: Vec<_> = machines.iter().map(entry).collect();
    serde_json::to_string_pretty(&entries).map(|text| text + "\n")
}
