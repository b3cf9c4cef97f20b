//! `plot`: pictures of what was measured, one for each benchmark and workload.
//!
//! | file | what |
//! |---|---|
//! | `figures` | reads files of rows, and groups them |
//! | `picture` | a picture: a panel for each unit |
//! | `panel` | a panel: a bar for each implementation |
//!
//! `mely-plot` has what all pictures share.

mod figures;
mod panel;
mod picture;

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;

use crate::measure::Error;

/// Options of the pictures.
#[derive(Clone, Debug, Args)]
pub struct PlotOptions {
    /// Files that `mely bench ... --json FILE` wrote. Descriptions of machines
    /// (*.machine.json) are found beside them, and passed over if given.
    #[arg(required = true, value_name = "FILE.json")]
    pub files: Vec<PathBuf>,
    /// The directory for the pictures; made if it is not there.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

pub(crate) fn run(options: &PlotOptions) -> Result<(), Error> {
    // Everything is read before anything is written.
    let groups = figures::read(&options.files)?;
    let failed = |path: PathBuf| move |source| Error::File { path, source };
    fs::create_dir_all(&options.out).map_err(failed(options.out.clone()))?;
    for group in groups {
        let path = options.out.join(group.file_name());
        let drawn = picture::draw(&group);
        let svg = drawn.map_err(|what| Error::Picture {
            path: path.clone(),
            what,
        })?;
        fs::write(&path, svg).map_err(failed(path.clone()))?;
        writeln!(io::stdout(), "{}", path.display()).map_err(Error::Output)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = r#"[
        {"bench": "peers", "workload": "P <&>", "implementation": "mely/adaptive",
         "unit": "events/s", "median": 4e7, "min": 3.9e7, "max": 4.1e7, "runs": 5},
        {"bench": "peers", "workload": "P <&>", "implementation": "tokio",
         "unit": "events/s", "median": 3e7, "min": 2e7, "max": 3.1e7, "runs": 5},
        {"bench": "peers", "workload": "P <&>", "implementation": "tokio",
         "unit": "steals/s", "median": 0, "min": 0, "max": 0, "runs": 5},
        {"bench": "latency", "workload": "1 % load", "implementation": "tokio",
         "unit": "us p99.9", "median": 12.5, "min": 9, "max": 80, "runs": 3}
    ]"#;

    fn plot(text: &str) -> (tempfile::TempDir, Result<(), Error>) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("figures.json");
        fs::write(&file, text).unwrap();
        let options = PlotOptions {
            files: vec![file, directory.path().join("figures.machine.json")],
            out: directory.path().join("pictures"),
        };
        let result = run(&options);
        (directory, result)
    }

    #[test]
    fn each_benchmark_and_workload_is_a_well_formed_picture() {
        let (directory, result) = plot(ROWS);
        result.unwrap();
        for (name, texts) in [
            ("peers-p.svg", ["peers: P <&>", "mely/adaptive", "steals/s"]),
            (
                "latency-1-load.svg",
                ["latency: 1 % load", "tokio", "us p99.9"],
            ),
        ] {
            let svg = fs::read_to_string(directory.path().join("pictures").join(name)).unwrap();
            let document = roxmltree::Document::parse(&svg).unwrap();
            assert!(document.root_element().has_tag_name("svg"));
            for wanted in texts {
                let mut found = document.descendants().filter_map(|node| node.text());
                assert!(found.any(|text| text.trim() == wanted), "{wanted}: {svg}");
            }
        }
    }

    #[test]
    fn a_bad_file_is_named_with_what_is_wrong() {
        let negative = ROWS.replace("\"min\": 9", "\"min\": -9");
        let unordered = ROWS.replace("\"max\": 80", "\"max\": 10");
        let nameless = ROWS.replace("\"us p99.9\"", "\"\"");
        for (text, wanted) in [
            (&ROWS[..ROWS.len() / 2], "cut off"),
            ("", "cut off"),
            ("{\"rows\": []}", "no array of rows"),
            ("[{\"bench\": \"peers\"}]", "missing field `workload`"),
            ("figures", "no array of rows"),
            ("[]", "no rows"),
            (&negative, "-9"),
            (&unordered, "not between"),
            (&nameless, "no unit"),
        ] {
            let (directory, result) = plot(text);
            let error = result.unwrap_err().to_string();
            assert!(error.contains("figures.json"), "{error}");
            assert!(error.contains(wanted), "{wanted}: {error}");
            assert!(!directory.path().join("pictures").exists());
        }
    }

    #[test]
    fn a_missing_file_and_one_given_twice_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("figures.json");
        let mut options = PlotOptions {
            files: vec![file.clone()],
            out: directory.path().join("pictures"),
        };
        let error = run(&options).unwrap_err().to_string();
        assert!(error.contains("figures.json"), "{error}");
        fs::write(&file, ROWS).unwrap();
        options.files.push(file);
        let error = run(&options).unwrap_err().to_string();
        assert!(error.contains("is in another file too"), "{error}");
    }
}
