//! Parts of the toolchain that can be added: what the oldest compiler and the other
//! processor are checked with, the interpreter, and what builds the guide.

use std::fmt;

use crate::run::Call;

/// The oldest compiler that the manifests promise.
pub(crate) const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");

/// The processor besides x86-64 that the README promises.
pub(crate) const ARM: &str = "aarch64-unknown-linux-gnu";

/// The versions of mdBook that the guide is written for.
const MDBOOK: &str = "^0.5";

/// What a check needs besides the toolchain that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Toolchain(&'static str),
    Target(&'static str),
    /// The interpreter of the nightly toolchain.
    Miri,
    /// The program that makes the guide a book.
    MdBook,
}

/// Why a check is left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skip(String);

impl Part {
    /// Sees to it that the part is there, adding it if that is allowed.
    ///
    /// A machine that cannot have it still runs all the other checks: what is skipped
    /// says so, in its line and in the table.
    pub(crate) fn require(self, install: bool) -> Result<(), Skip> {
        if let Self::Toolchain(version) = self
            && is_version(&Call::new("rustc", &["--version"]).output(), version)
        {
            return Err(Skip(format!(
                "{self} is the running one, which every step builds with"
            )));
        }
        if self.is_there() {
            return Ok(());
        }
        let add = self.add();
        if !install {
            return Err(Skip(format!("{self} is not there; `{add}` adds it")));
        }
        match add.run() {
            Ok(()) => Ok(()),
            Err(error) => Err(Skip(format!("{self} cannot be had: {error}"))),
        }
    }

    fn is_there(self) -> bool {
        match self {
            Self::Toolchain(version) => {
                let compiler = Call::new("rustc", &["--version"]).toolchain(version);
                is_version(&compiler.output(), version)
            }
            Self::Target(target) => {
                let list = Call::new("rustup", &["target", "list", "--installed"]).output();
                list.is_ok_and(|list| list.lines().any(|line| line == target))
            }
            Self::Miri => Call::nightly(&["miri", "--version"]).output().is_ok(),
            Self::MdBook => Call::new("mdbook", &["--version"]).output().is_ok(),
        }
    }

    fn add(self) -> Call {
        match self {
            Self::Toolchain(version) => {
                let minimal = ["--profile", "minimal", "--no-self-update"];
                let words = [&["toolchain", "install", version][..], &minimal].concat();
                Call::new("rustup", &words)
            }
            Self::Target(target) => Call::new("rustup", &["target", "add", target]),
            // To a toolchain that is there: one that is not is not ours to add.
            Self::Miri => {
                let words = ["component", "add", "miri", "rust-src"];
                Call::new(
                    "rustup",
                    &[&words[..], &["--toolchain", "nightly"]].concat(),
                )
            }
            // Without its server and its search, which a check needs not: 70 s on two cores.
            Self::MdBook => {
                let words = ["install", "mdbook", "--version", MDBOOK, "--locked"];
                Call::cargo(&[&words[..], &["--no-default-features"]].concat())
            }
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toolchain(version) => write!(f, "Rust {version}"),
            Self::Target(target) => write!(f, "the target {target}"),
            Self::Miri => f.write_str("Miri"),
            Self::MdBook => f.write_str("mdBook"),
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a compiler says that it is of a version, given as `1.88`.
fn is_version<E>(said: &Result<String, E>, version: &str) -> bool {
    let said = said.as_ref().ok().and_then(|said| said.split(' ').nth(1));
    said.and_then(|number| number.strip_prefix(version))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_parts() {
        let said = |line: &str| Ok::<_, ()>(line.to_owned());
        assert!(is_version(&said("rustc 1.88.0 (6b00bc388)"), "1.88"));
        assert!(!is_version(&said("rustc 1.8.0 (6b00bc388)"), "1.88"));
        assert!(!is_version(&said("rustc 1.88.0 (6b00bc388)"), "1.8"));
        assert!(!is_version(&Err(()), "1.88"));
    }

    #[test]
    fn what_cannot_be_had_is_skipped_with_the_way_out() {
        let part = Part::Target("no-such-target");
        let skip = part.require(false).unwrap_err().to_string();
        assert!(skip.contains("rustup target add no-such-target"), "{skip}");
    }

    #[test]
    fn the_oldest_compiler_is_named_by_the_manifests() {
        assert!(OLDEST.starts_with("1."), "{OLDEST:?}");
    }
}
