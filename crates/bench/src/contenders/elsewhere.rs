//! Implementations that run in a process of their own: under another allocator, or in
//! another language.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::contenders::implementation::{Allocator, Implementation};
use crate::contenders::programs::{self, Program};
use crate::measure::Failure;

/// The program whose global allocator is mimalloc, beside this one.
const MIMALLOC_PROGRAM: &str = "mely-bench-mimalloc";

/// How often a child that may not take for ever is looked at.
const CHILD_POLL: Duration = Duration::from_millis(10);

/// Where the program with mimalloc is, if it was built.
fn mimalloc_program() -> Option<PathBuf> {
    let path = std::env::current_exe()
        .ok()?
        .with_file_name(MIMALLOC_PROGRAM);
    path.is_file().then_some(path)
}

/// The program in another language that an implementation is.
pub(crate) fn program(implementation: Implementation) -> Option<&'static Program> {
    match implementation {
        Implementation::Asio => Some(&programs::ASIO),
        Implementation::Go => Some(&programs::GO),
        _ => None,
    }
}

/// Why an implementation cannot be run here, with the way out. Compiles what has to
/// be compiled.
pub(crate) fn missing(implementation: Implementation) -> Option<String> {
    match implementation {
        Implementation::Tokio(Allocator::Mimalloc) if mimalloc_program().is_none() => {
            Some(format!(
                "{MIMALLOC_PROGRAM} is not beside this program: \
                 cargo build --release -p mely-bench --features mimalloc"
            ))
        }
        _ => program(implementation)?.built().err().map(str::to_owned),
    }
}

/// The start of a command that runs a subcommand of this program as an implementation
/// which needs another process; the others run in this one.
pub(crate) fn command(
    implementation: Implementation,
    subcommand: &str,
) -> Result<Option<Command>, Failure> {
    if implementation == Implementation::Tokio(Allocator::Mimalloc) {
        let program = mimalloc_program().ok_or("the program with mimalloc is gone")?;
        let mut command = Command::new(program);
        command.args([subcommand, "--impl", &implementation.to_string()]);
        return Ok(Some(command));
    }
    match program(implementation) {
        Some(program) => Ok(Some(Command::new(&program.built()?.path))),
        None => Ok(None),
    }
}

/// Runs a program that answers in JSON, for so long at the most.
pub(crate) fn answer<T: DeserializeOwned>(
    command: &mut Command,
    limit: Option<Duration>,
) -> Result<T, Failure> {
    let since = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| named(command, &error))?;
    // An answer is a line: it fits in the pipe while nobody reads it.
    let status = loop {
        match limit {
            None => break child.wait()?,
            Some(limit) if since.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                return Err(format!("it took longer than {} s", limit.as_secs_f64()).into());
            }
            Some(_) => match child.try_wait()? {
                Some(status) => break status,
                None => std::thread::sleep(CHILD_POLL),
            },
        }
    };
    let mut text = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut text)?;
    }
    match status.success() {
        true => Ok(serde_json::from_str(&text)?),
        false => Err(format!("its process ended with {status}").into()),
    }
}

fn named(command: &Command, error: &io::Error) -> Failure {
    let program = Path::new(command.get_program()).display();
    format!("{program}: {error}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Option<Duration>) -> Result<u32, Failure> {
        answer(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn an_answer_is_read_and_a_failure_named() {
        assert_eq!(shell("echo 42", None).unwrap(), 42);
        assert_eq!(shell("echo 42", Some(Duration::from_secs(60))).unwrap(), 42);
        let error = shell("exit 3", None).unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(shell("echo many", None).is_err());
    }

    #[test]
    fn a_child_that_takes_for_ever_is_ended() {
        let error = shell("exec tail -f /dev/null", Some(Duration::ZERO)).unwrap_err();
        assert_eq!(error.to_string(), "it took longer than 0 s");
    }
}
