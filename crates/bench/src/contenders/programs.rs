//! Peers in other languages: programs of ours that are compiled when they are first
//! needed, from sources that are part of this program.
//!
//! They are kept beside this program (or, where that is not allowed, in the user's
//! cache directory), under a name that changes with their sources.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::measure::spin;

/// The directory beside this program.
const CACHE: &str = "mely-bench-peers";

/// A program that is compiled from embedded sources.
pub(crate) struct Program {
    name: &'static str,
    sources: &'static [(&'static str, &'static str)],
    /// The compiler and what it is told, but for `-o FILE`.
    compiler: &'static [&'static str],
    /// What follows `-o FILE`.
    inputs: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    /// What to do when the compiler is not there.
    no_compiler: &'static str,
    /// What the compiler says when a library is missing, and what to do then.
    no_library: Option<(&'static str, &'static str)>,
    built: OnceLock<Result<Built, String>>,
}

/// A program that is ready to be run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Built {
    pub(crate) path: PathBuf,
    /// How many cycles of the measured work it does in a second, alone.
    pub(crate) spin_rate: f64,
}

macro_rules! sources {
    ($folder:literal: $($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../peers/", $folder, "/", $file)))),*]
    };
}

pub(crate) static ASIO: Program = Program {
    name: "asio",
    sources: sources!("asio": "main.cpp" "work.hpp" "workloads.hpp"),
    compiler: &["g++", "-std=c++17", "-O2", "-pthread"],
    inputs: &["main.cpp"],
    environment: &[],
    no_compiler: "g++ is not installed: apt-get install g++",
    no_library: Some((
        "boost/asio",
        "the headers of Boost are not installed: apt-get install libboost-dev",
    )),
    built: OnceLock::new(),
};

pub(crate) static GO: Program = Program {
    name: "go",
    sources: sources!("go":
        "go.mod" "main.go" "spin.go" "rounds.go" "unbalanced.go" "chains.go" "cross.go" "memory.go"),
    compiler: &["go", "build"],
    inputs: &["."],
    // Nothing is to be downloaded: neither another toolchain nor a module.
    environment: &[
        ("GOTOOLCHAIN", "local"),
        ("GOPROXY", "off"),
        ("GOFLAGS", ""),
    ],
    no_compiler: "go is not installed, 1.19 or later: apt-get install golang-go",
    no_library: None,
    built: OnceLock::new(),
};

impl Program {
    /// The program, compiled if it was not yet; or why it cannot be, with the way out.
    pub(crate) fn built(&self) -> Result<&Built, &str> {
        let built = self.built.get_or_init(|| self.build());
        built.as_ref().map_err(String::as_str)
    }

    fn build(&self) -> Result<Built, String> {
        let folder = self.folder()?;
        let path = folder.join(self.name);
        if !path.is_file() {
            self.compile(&folder, &path)?;
        }
        let spin_rate = spin_rate(&path)?;
        if !spin::is_credible(spin_rate) {
            return Err(format!(
                "its compiler has shortened the measured work: {:.1} G cycles/s are none \
                 of a processor",
                spin_rate / 1e9
            ));
        }
        Ok(Built { path, spin_rate })
    }

    /// Compiles under another name first: others may do the same meanwhile.
    fn compile(&self, folder: &Path, path: &Path) -> Result<(), String> {
        for (name, text) in self.sources {
            let file = folder.join(name);
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let unfinished = format!("{}.{}", self.name, std::process::id());
        let mut command = Command::new(self.compiler[0]);
        command
            .args(&self.compiler[1..])
            .args(["-o", &unfinished])
            .args(self.inputs)
            .current_dir(folder)
            .envs(self.environment.iter().copied())
            .stdin(Stdio::null());
        if self.name == "go" && std::env::var_os("HOME").is_none() {
            command.env("GOCACHE", folder.join("cache"));
        }
        let output = command.output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.no_compiler.to_owned(),
            _ => format!("{}: {error}", self.compiler[0]),
        })?;
        if !output.status.success() {
            return Err(self.why_not_compiled(&output));
        }
        fs::rename(folder.join(unfinished), path)
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    fn why_not_compiled(&self, output: &Output) -> String {
        let said = String::from_utf8_lossy(&output.stderr);
        match self.no_library {
            Some((sign, way_out)) if said.contains(sign) && said.contains("No such file") => {
                way_out.to_owned()
            }
            _ => {
                let first = said.lines().find(|line| !line.trim().is_empty());
                let said = first.unwrap_or("and does not say why");
                format!("{} cannot compile it: {said}", self.compiler[0])
            }
        }
    }

    /// Where sources and program are kept.
    fn folder(&self) -> Result<PathBuf, String> {
        let mut hasher = DefaultHasher::new();
        (self.sources, self.compiler, self.inputs).hash(&mut hasher);
        let name = format!("{}-{:016x}", self.name, hasher.finish());
        let mut refusals = Vec::new();
        for cache in caches() {
            let folder = cache.join(&name);
            match fs::create_dir_all(&folder).and_then(|()| tempfile::tempfile_in(&folder)) {
                Ok(_) => return Ok(folder),
                Err(error) => refusals.push(format!("{}: {error}", folder.display())),
            }
        }
        Err(format!(
            "there is no place to compile it: {}",
            refusals.join(", ")
        ))
    }
}

/// The places where programs may be kept, best first.
fn caches() -> impl Iterator<Item = PathBuf> {
    let beside = std::env::current_exe().ok();
    let beside = beside.and_then(|program| Some(program.parent()?.join(CACHE)));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = cache.or_else(home).map(|cache| cache.join(CACHE));
    beside.into_iter().chain(cache)
}

/// Asks a program how many cycles of work it does in a second.
fn spin_rate(program: &Path) -> Result<f64, String> {
    let failed = |what: &str| format!("{} --spin: {what}", program.display());
    let output = Command::new(program).arg("--spin").output();
    let output = output.map_err(|error| failed(&error.to_string()))?;
    if !output.status.success() {
        return Err(failed(&format!("it ended with {}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let rate = text.trim().parse();
    rate.map_err(|_| failed("it does not answer with a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn program(compiler: &'static [&'static str]) -> Program {
        Program {
            name: "broken",
            sources: &[("main.cpp", "#include <boost/asio/none.hpp>\n")],
            compiler,
            inputs: &["main.cpp"],
            environment: &[],
            no_compiler: "install it",
            no_library: Some(("boost/asio", "install the library")),
            built: OnceLock::new(),
        }
    }

    #[test]
    fn a_missing_compiler_names_the_way_out() {
        let program = program(&["no-such-compiler"]);
        assert_eq!(program.built(), Err("install it"));
    }

    #[test]
    fn a_missing_library_names_the_way_out() {
        let program = program(&["g++"]);
        let reason = program.built().unwrap_err();
        assert!(
            ["install it", "install the library"].contains(&reason),
            "{reason}"
        );
    }

    #[test]
    fn other_mistakes_are_told() {
        let program = program(&["sh", "-c", "echo >&2; echo line 7: oops >&2; false"]);
        assert_eq!(
            program.built().unwrap_err(),
            "sh cannot compile it: line 7: oops"
        );
    }

    #[test]
    fn what_is_there_does_the_work_in_full() {
        for program in [&ASIO, &GO] {
            match program.built() {
                Ok(built) => assert!(spin::is_credible(built.spin_rate), "{built:?}"),
                Err(reason) => println!("skipped {}: {reason}", program.name),
            }
        }
    }
}
