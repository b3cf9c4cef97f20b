//! Where figures come from: beside `NAME.json` stands `NAME.machine.json`. Figures of a
//! simulation alone do not depend on the machine that simulates, nor on the day.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::json;

use crate::Error;

/// Writes figures, and beside them the command and what was simulated.
pub(super) fn write(path: &Path, figures: &impl serde::Serialize, on: &str) -> Result<(), Error> {
    write_beside(path, figures, &format!("simulated: {on}"))
}

/// The same, of figures that were measured, too: on `model`.
pub(super) fn write_beside(
    path: &Path,
    figures: &impl serde::Serialize,
    model: &str,
) -> Result<(), Error> {
    let whence = json!({
        "command": mely_plot::published(std::env::args_os()),
        "machine": { "model": model },
        "version": env!("CARGO_PKG_VERSION"),
    });
    write_json(path, figures)?;
    write_json(&path.with_extension("machine.json"), &whence)
}

fn write_json(path: &Path, figures: &impl serde::Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(figures).map_err(io::Error::from);
    let written = text.and_then(|text| fs::write(path, text + "\n"));
    written.map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}
