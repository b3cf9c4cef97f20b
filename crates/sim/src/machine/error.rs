//! What can be wrong with a machine.

use std::{fmt, io};

/// Why there is no machine.
#[derive(Debug)]
#[non_exhaustive]
pub enum MachineError {
    /// No machine of that name is shipped.
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A file could not be read.
    Read {
        /// Its path.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file is no TOML, or has keys or types that a machine has not.
    Syntax {
        /// Its path, or the machine's name.
        file: String,
        /// What the parser said, with the line at fault.
        what: String,
    },
    /// A value makes no sense.
    Value {
        /// The file's path, or the machine's name.
        file: String,
        /// The key, with its table.
        key: String,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A machine of so many cores cannot be made from a model.
    Cores {
        /// The model.
        name: String,
        /// The number that was asked for.
        cores: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let known: Vec<&str> = super::shipped::names().collect();
                write!(
                    f,
                    "no machine `{name}`: take one of {}, or a file NAME.toml",
                    known.join(", ")
                )
            }
            Self::Read { file, source } => write!(f, "{file}: {source}"),
            Self::Syntax { file, what } => write!(f, "{file}: {what}"),
            Self::Value { file, key, what } => write!(f, "{file}: `{key}`: {what}"),
            Self::Cores { name, cores, what } => {
                write!(f, "no `{name}` with {cores} cores: {what}")
            }
        }
    }
}

impl std::error::Error for MachineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}
