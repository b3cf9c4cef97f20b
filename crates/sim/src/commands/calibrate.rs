//! `mely sim calibrate`.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::progress;
use crate::{Error, calibrate};

/// Where to write what was measured.
#[derive(Args, Clone, Debug)]
pub struct CalibrateOptions {
    /// Write the machine into this file instead of to standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Call the machine so: lower-case letters, digits, dots and dashes.
    #[arg(long, value_name = "NAME", default_value = "this-machine", value_parser = name)]
    name: String,
}

fn name(text: &str) -> Result<String, String> {
    match crate::machine::is_name(text) {
        true => Ok(text.to_owned()),
        false => Err("take lower-case letters, digits, dots and dashes".to_owned()),
    }
}

pub(super) fn run(options: &CalibrateOptions) -> Result<(), Error> {
    let bar = progress::bar(None, "{spinner} measuring: {msg}");
    let measured = calibrate::measure(&options.name, |what| {
        bar.set_message(what.to_owned());
        bar.tick();
    });
    bar.finish_and_clear();
    let measured = measured?;
    let toml = measured
        .machine
        .to_toml_with(&measured.head, &measured.notes);
    match &options.output {
        Some(path) => fs::write(path, toml).map_err(|source| Error::File {
            path: path.clone(),
            source,
        }),
        None => io::stdout()
            .write_all(toml.as_bytes())
            .map_err(Error::Output),
    }
}
