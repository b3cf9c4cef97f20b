//! Servers of other processes, run in turns.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use mely::Affinity;
use mely::topology::allowed_cpus;

use super::error::Error;
use super::machine::Machine;
use super::repetition::Repetition;

/// How often, on how many cores, and where to.
#[derive(Clone, Debug, Args)]
pub struct Turns {
    /// How many undisturbed runs each server gets.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub repeat: u16,
    /// Cores that a server may use, and so its workers; by default all. What loads it is
    /// not kept from them.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Keeps disturbed runs too, for a first look on a busy machine. The table says
    /// so; a file of figures cannot, so there is none.
    #[arg(long, conflicts_with = "json")]
    pub keep_disturbed: bool,
    /// Also writes the figures to this file, as a JSON array.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Turns {
    pub(crate) fn repetition(&self) -> Repetition {
        Repetition {
            repeat: self.repeat,
            workers: self.workers,
            affinity: Affinity::default(),
            keep_disturbed: self.keep_disturbed,
            json: self.json.clone(),
        }
    }

    /// Says on standard output what is measured where: `each` is one run.
    pub(crate) fn write_header(&self, each: &str) -> Result<(), Error> {
        let cores = match self.workers {
            Some(workers) => workers.to_string(),
            None => "all".to_owned(),
        };
        writeln!(
            io::stdout(),
            "{}\n{cores} cores for each server, {} runs of each in turns, of {each}",
            Machine::detect(),
            self.repeat,
        )
        .map_err(Error::Output)
    }

    /// The start of a command that runs a program on these cores.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let Some(workers) = self.workers else {
            return Command::new(program);
        };
        let cpus = allowed_cpus();
        let cpus = cpus.iter().take(usize::from(workers));
        let cpus: Vec<String> = cpus.map(|cpu| cpu.to_string()).collect();
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &cpus.join(",")]).arg(program);
        command
    }
}

/// Where a program is: a name without a folder stands beside the running program, and
/// else where the system finds programs.
pub(crate) fn find(program: &Path, way_out: &'static str) -> Result<PathBuf, Error> {
    let own = std::env::current_exe().unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let is_name = program.components().count() == 1;
    let beside = own
        .parent()
        .filter(|_| is_name)
        .map(|dir| dir.join(program));
    let system = path.iter().filter(|_| is_name).map(|dir| dir.join(program));
    let found = beside.into_iter().chain(system).chain([program.to_owned()]);
    let missing = || Error::Missing {
        program: program.display().to_string(),
        way_out,
    };
    found
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(missing)
}

/// What rows call a program.
pub(crate) fn name(program: &Path) -> String {
    let name = program.file_name().unwrap_or(program.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_name_or_path() {
        let shell = find(Path::new("sh"), "").unwrap();
        assert!(shell.is_absolute());
        assert_eq!(find(&shell, "").unwrap(), shell);
        assert_eq!(name(&shell), "sh");
        let own = std::env::current_exe().unwrap();
        assert_eq!(find(Path::new(&name(&own)), "").unwrap(), own);
    }

    #[test]
    fn a_missing_program_is_named_with_the_way_out() {
        for missing in ["no-such-program", "/no/such/program"] {
            let error = find(Path::new(missing), "build it")
                .unwrap_err()
                .to_string();
            assert_eq!(error, format!("there is no program {missing}: build it"));
        }
    }

    #[test]
    fn cores_are_those_that_were_asked_for() {
        let mut turns = Turns {
            repeat: 1,
            workers: None,
            keep_disturbed: true,
            json: None,
        };
        assert_eq!(turns.command(Path::new("x")).get_program(), "x");
        turns.workers = Some(1);
        let first = allowed_cpus().iter().next().unwrap().to_string();
        let command = turns.command(Path::new("x"));
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["--cpu-list", &first, "x"]);
    }
}
