//! Where figures come from: beside `NAME.json` stands `NAME.machine.json`. Figures of a
//! simulation do not depend on the machine that simulates, nor on the day.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::json;

use crate::Error;

/// Writes figures, and beside them the command and what was simulated.
pub(super) fn write(path: &Path, figures: &impl serde::Serialize, on: &str) -> Result<(), Error> {
    let whence = json!({
        "command": command(std::env::args()),
        "machine": { "model": format!("simulated: {on}") },
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

/// A command line as it can be published: without directories of this machine.
fn command(args: impl IntoIterator<Item = String>) -> String {
    let published = args.into_iter().enumerate().map(|(at, arg)| {
        let name = Path::new(&arg).file_name().and_then(|name| name.to_str());
        match (at, name) {
            (0, Some(name)) => name.to_owned(),
            (_, Some(name)) if arg.starts_with(['/', '.', '~']) => name.to_owned(),
            _ => arg,
        }
    });
    published.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_no_directories_of_this_machine() {
        let args = [
            "/somewhere/mely",
            "sim",
            "--json",
            "/elsewhere/figures.json",
        ];
        let published = command(args.map(str::to_owned));
        assert_eq!(published, "mely sim --json figures.json");
        let inside = ["mely", "--json", "bench/results/figures.json"];
        assert_eq!(command(inside.map(str::to_owned)), inside.join(" "));
    }
}
