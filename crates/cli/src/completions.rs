//! `mely completions`: for the shells.

use crate::Cli;
use crate::error::CliError;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::{self, Write};

/// Print the completions of a shell, to be put where it looks for them.
#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "mely", &mut script);
        io::stdout()
            .write_all(&script)
            .map_err(|error| CliError::io("write to standard output", error))
    }
}
