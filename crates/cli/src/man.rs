//! `mely man`: the manual pages.

use crate::Cli;
use crate::error::CliError;
use clap::{Args, CommandFactory};
use std::io::{self, Write};
use std::path::PathBuf;

/// Print the manual page, or write those of all subcommands to a directory.
#[derive(Args)]
pub(crate) struct ManArgs {
    /// Where to write `mely.1`, `mely-web.1` and the others.
    dir: Option<PathBuf>,
}

impl ManArgs {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let command = Cli::command();
        if let Some(dir) = self.dir {
            let what = format!("write manual pages to {}", dir.display());
            return std::fs::create_dir_all(&dir)
                .and_then(|()| clap_mangen::generate_to(command, &dir))
                .map_err(|error| CliError::io(what, error));
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .render(&mut page)
            .and_then(|()| io::stdout().write_all(&page))
            .map_err(|error| CliError::io("write to standard output", error))
    }
}
