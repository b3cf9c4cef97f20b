//! What can go wrong when a topology is read or described.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::MAX_CPU;

/// Why a topology, or a set of CPUs, could not be had.
///
/// ```
/// use mely_topology::{CpuSet, TopologyError};
///
/// let refused = "3-1".parse::<CpuSet>().unwrap_err();
/// assert!(matches!(refused, TopologyError::CpuList { .. }));
/// assert!(refused.to_string().contains("0-3,8,10-11"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyError {
    /// The text is not a list of CPUs in the kernel's format.
    CpuList {
        /// The item that was refused, shortened when it is long.
        item: String,
    },
    /// A CPU number is not below [`MAX_CPU`].
    CpuOutOfRange {
        /// The number that was refused, as it was written.
        cpu: String,
    },
    /// The folder that describes the CPUs cannot be read.
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// What the system answered.
        kind: io::ErrorKind,
    },
    /// The folder that describes the CPUs names none.
    NoCpus {
        /// The folder.
        path: PathBuf,
    },
    /// A [`Spec`](crate::Spec) describes no possible machine.
    Spec {
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl TopologyError {
    /// Refuses `item` of a list; only its beginning is kept, so that a garbage
    /// file does not become a garbage message.
    pub(crate) fn list_item(item: &str) -> Self {
        Self::CpuList {
            item: item.chars().take(32).collect(),
        }
    }

    /// Refuses a number that is too large to be a CPU.
    pub(crate) fn out_of_range(cpu: impl fmt::Display) -> Self {
        let mut cpu = cpu.to_string();
        cpu.truncate(32);
        Self::CpuOutOfRange { cpu }
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CpuList { item } => write!(
                f,
                "{item:?} is not part of a CPU list: write numbers and increasing ranges, as in 0-3,8,10-11"
            ),
            Self::CpuOutOfRange { cpu } => {
                write!(
                    f,
                    "CPU {cpu} is out of range: numbers go up to {}",
                    MAX_CPU - 1
                )
            }
            Self::Unreadable { path, kind } => {
                write!(f, "{} cannot be read: {kind}", path.display())
            }
            Self::NoCpus { path } => write!(f, "{} names no CPU", path.display()),
            Self::Spec { reason } => write!(f, "no machine is like this: {reason}"),
        }
    }
}

impl std::error::Error for TopologyError {}
