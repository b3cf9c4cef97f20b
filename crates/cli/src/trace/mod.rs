//! `mely trace`: what a program has recorded of itself.

mod summary;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mely_trace::Reader;

use self::summary::Summary;
use crate::error::CliError;
use crate::progress::spinner;

/// Records between two looks at the progress: some 10 ms.
const RECORDS_BETWEEN_TICKS: u64 = 1 << 18;

/// Read what a program has recorded of itself.
#[derive(Subcommand)]
pub(crate) enum TraceJob {
    Info(InfoArgs),
}

/// Sum up a trace: workers, time, events, posts, and what each handler costs.
///
/// Of a trace that is cut off, as a program leaves it that dies, it prints what is whole, says
/// where it ends, and exits with 1.
#[derive(Args)]
pub(crate) struct InfoArgs {
    /// The trace, as `mely web --trace FILE` writes it.
    file: PathBuf,
    /// Print JSON instead.
    #[arg(long)]
    json: bool,
}

impl TraceJob {
    pub(crate) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Info(args) => args.run(),
        }
    }
}

impl InfoArgs {
    fn run(self) -> Result<(), CliError> {
        let open = |error| CliError::io(format!("open {}", self.file.display()), error);
        let failed = |source| CliError::Trace {
            path: self.file.clone(),
            source,
        };
        let file = File::open(&self.file).map_err(open)?;
        let mut reader = Reader::new(file).map_err(failed)?;
        let (summary, end) = read(&mut reader, &self.file);
        // What is damaged may say anything.
        if end.as_ref().is_err_and(|error| !error.is_truncation()) {
            return end.map_err(failed);
        }
        let text = match self.json {
            true => serde_json::to_string_pretty(&summary.to_json(&reader))
                .map_err(|error| CliError::io("write to standard output", error.into()))?,
            false => summary.to_text(&reader),
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{}", text.trim_end())
            .map_err(|error| CliError::io("write to standard output", error))?;
        end.map_err(failed)
    }
}

/// Reads to the end, or to an error, with progress when somebody is looking.
fn read(reader: &mut Reader<File>, path: &Path) -> (Summary, Result<(), mely_trace::Error>) {
    let bar = spinner("{spinner} reading {msg}", false);
    let mut summary = Summary::default();
    let end = loop {
        match reader.next_record() {
            Ok(Some(read)) => summary.add(&read),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
        if reader.records().is_multiple_of(RECORDS_BETWEEN_TICKS) {
            bar.set_message(format!("{}: {} records", path.display(), reader.records()));
            bar.tick();
        }
    };
    bar.finish_and_clear();
    (summary, end)
}
