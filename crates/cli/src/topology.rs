//! `mely topology`: the machine's shape.

use crate::error::CliError;
use clap::Args;
use mely::topology::Topology;
use std::io::{self, Write};

/// Print the machine's packages, memory nodes, shared caches and cores as a tree.
#[derive(Args)]
pub(crate) struct TopologyArgs {
    /// Print JSON instead.
    #[arg(long)]
    json: bool,
}

impl TopologyArgs {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let topology = Topology::detect();
        let failed = |error| CliError::io("write to standard output", error);
        let text = match self.json {
            true => serde_json::to_string_pretty(&topology).map_err(|e| failed(e.into()))?,
            false => topology.tree().to_string(),
        };
        writeln!(io::stdout(), "{text}").map_err(failed)
    }
}
