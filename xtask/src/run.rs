//! Starting other programs, and reading along while they print.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::counts::{Counter, Counts};
use crate::error::Error;

/// The toolchain of what stable does not have.
pub(crate) const NIGHTLY: &str = "nightly";

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest
        .parent()
        .map_or(manifest.clone(), Path::to_path_buf)
}

/// One program to run, with what differs from this process's environment.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    program: String,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
    /// Another toolchain than the one that runs.
    toolchain: Option<&'static str>,
    /// Flags that change every crate's build get a folder of their own, so that
    /// going back and forth between jobs does not rebuild the world.
    target_dir: Option<&'static str>,
}

impl Call {
    pub(crate) fn new(program: &str, args: &[&str]) -> Self {
        Self {
            program: program.to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: Vec::new(),
            toolchain: None,
            target_dir: None,
        }
    }

    pub(crate) fn cargo(args: &[&str]) -> Self {
        Self::new("cargo", args)
    }

    pub(crate) fn nightly(args: &[&str]) -> Self {
        Self::cargo(args).toolchain(NIGHTLY)
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    pub(crate) fn toolchain(mut self, name: &'static str) -> Self {
        self.toolchain = Some(name);
        self
    }

    pub(crate) fn target_dir(mut self, name: &'static str) -> Self {
        self.target_dir = Some(name);
        self
    }

    /// Runs to the end, with output going straight through.
    pub(crate) fn run(&self) -> Result<(), Error> {
        let status = self
            .command()
            .status()
            .map_err(|source| self.spawn_error(source))?;
        self.check(status)
    }

    /// Runs to the end, passing its output on to `out` as it comes, while
    /// counting the tests that it reports. The counts are given also when it
    /// fails.
    pub(crate) fn run_counting(&self, out: &mut dyn Write) -> (Counts, Result<(), Error>) {
        let mut counter = Counter::default();
        let result = self.stream(|bytes| {
            counter.feed(bytes);
            // A reader that went away (`| head`) must not end the tests.
            let _ = out.write_all(bytes).and_then(|()| out.flush());
        });
        (counter.finish(), result)
    }

    /// What the program prints on its standard output, trimmed.
    pub(crate) fn output(&self) -> Result<String, Error> {
        let output = self
            .command()
            .stderr(Stdio::null())
            .output()
            .map_err(|source| self.spawn_error(source))?;
        self.check(output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn stream(&self, mut see: impl FnMut(&[u8])) -> Result<(), Error> {
        let mut child = self
            .command()
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| self.spawn_error(source))?;
        if let Some(mut out) = child.stdout.take() {
            let mut buffer = [0; 8192];
            loop {
                match out.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(len) => see(&buffer[..len]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(source) => return Err(self.spawn_error(source)),
                }
            }
        }
        let status = child.wait().map_err(|source| self.spawn_error(source))?;
        self.check(status)
    }

    fn command(&self) -> Command {
        let root = root();
        let mut command = if let Some(toolchain) = self.toolchain {
            let mut rustup = Command::new("rustup");
            rustup.args(["run", toolchain, &self.program]);
            // `cargo run` points these at the running toolchain's own parts.
            rustup.env_remove("LD_LIBRARY_PATH").env_remove("CARGO");
            rustup
        } else {
            Command::new(&self.program)
        };
        command
            .args(&self.args)
            .current_dir(&root)
            .stdin(Stdio::null());
        if let Some(name) = self.target_dir {
            let base = std::env::var_os("CARGO_TARGET_DIR")
                .map_or_else(|| root.join("target"), |dir| root.join(dir));
            command.env("CARGO_TARGET_DIR", base.join(name));
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn check(&self, status: std::process::ExitStatus) -> Result<(), Error> {
        if status.success() {
            return Ok(());
        }
        Err(Error::Failed {
            call: self.to_string(),
            status: status.to_string(),
        })
    }

    fn spawn_error(&self, source: std::io::Error) -> Error {
        let program = match self.toolchain {
            Some(_) => "rustup",
            None => &self.program,
        };
        Error::Spawn {
            program: program.to_owned(),
            source,
        }
    }
}

/// As one would type it in the workspace's folder.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.target_dir {
            write!(f, "CARGO_TARGET_DIR=target/{name} ")?;
        }
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "{}", self.program)?;
        if let Some(toolchain) = self.toolchain {
            write!(f, " +{toolchain}")?;
        }
        self.args
            .iter()
            .try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("\"{word}\"")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Call {
        Call::new("sh", &["-c", script])
    }

    #[test]
    fn a_call_reads_as_one_types_it() {
        let call = Call::nightly(&["test", "--lib"])
            .env("RUSTFLAGS", "--cfg loom")
            .target_dir("loom");
        let typed =
            "CARGO_TARGET_DIR=target/loom RUSTFLAGS=\"--cfg loom\" cargo +nightly test --lib";
        assert_eq!(call.to_string(), typed);
    }

    #[test]
    fn counts_survive_a_failing_program() {
        let line = "test result: FAILED. 2 passed; 1 failed; 0 ignored";
        let mut out = Vec::new();
        let (counts, result) = shell(&format!("echo '{line}'; exit 3")).run_counting(&mut out);
        assert_eq!(out, format!("{line}\n").as_bytes());
        assert_eq!(
            counts,
            Counts {
                passed: 2,
                failed: 1
            }
        );
        let message = result.unwrap_err().to_string();
        assert!(message.contains("exit status: 3"), "{message}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let message = Call::new("no-such-program", &[])
            .run()
            .unwrap_err()
            .to_string();
        assert!(message.contains("no-such-program"), "{message}");
    }

    #[test]
    fn environment_reaches_the_program() {
        let call = shell("echo $MELY_STRESS").env("MELY_STRESS", "long");
        assert_eq!(call.output().unwrap(), "long");
    }
}
