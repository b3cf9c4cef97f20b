//! Who runs a workload.

use std::fmt;
use std::str::FromStr;

use mely::Policy;

/// A runtime, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// Mely under a policy.
    Mely(Policy),
    /// Tokio's multi-thread runtime.
    Tokio(Allocator),
    /// async-executor, run by a thread for each worker.
    AsyncExecutor,
    /// rayon's thread pool.
    Rayon,
    /// Boost.Asio's thread pool and strands, in a C++ program.
    Asio,
    /// Goroutines and channels, in a Go program.
    Go,
    /// The same work with no runtime at all.
    Floor,
}

/// The global allocator of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// That of the system.
    System,
    /// mimalloc.
    Mimalloc,
}

impl Implementation {
    /// What is run when nothing is chosen.
    pub const DEFAULT: [Implementation; 8] = [
        Implementation::Mely(Policy::Adaptive),
        Implementation::Tokio(Allocator::System),
        Implementation::Tokio(Allocator::Mimalloc),
        Implementation::AsyncExecutor,
        Implementation::Rayon,
        Implementation::Asio,
        Implementation::Go,
        Implementation::Floor,
    ];

    /// Whether it is Mely, under whatever policy.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Mely(_))
    }

    /// Whether it is what Mely is to be compared with: another runtime.
    pub fn is_peer(self) -> bool {
        !self.is_ours() && self != Self::Floor
    }

    /// Everything that can be chosen.
    pub fn all() -> impl Iterator<Item = Self> {
        let policies = Policy::ALL.into_iter().map(Self::Mely);
        policies.chain(Self::DEFAULT.into_iter().skip(1))
    }
}

impl fmt::Display for Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mely(policy) => write!(f, "mely/{}", policy.name()),
            Self::Tokio(Allocator::System) => f.write_str("tokio"),
            Self::Tokio(Allocator::Mimalloc) => f.write_str("tokio+mimalloc"),
            Self::AsyncExecutor => f.write_str("async-executor"),
            Self::Rayon => f.write_str("rayon"),
            Self::Asio => f.write_str("asio"),
            Self::Go => f.write_str("go"),
            Self::Floor => f.write_str("floor"),
        }
    }
}

impl FromStr for Implementation {
    type Err = UnknownImplementation;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::all().find(|implementation| implementation.to_string() == name);
        known.ok_or_else(|| UnknownImplementation(name.to_owned()))
    }
}

/// A name that no implementation has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownImplementation(pub String);

impl fmt::Display for UnknownImplementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no implementation {:?}: there are", self.0)?;
        Implementation::all().try_for_each(|known| write!(f, " {known}"))
    }
}

impl std::error::Error for UnknownImplementation {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for implementation in Implementation::all() {
            assert_eq!(implementation.to_string().parse(), Ok(implementation));
        }
        let error = "boost".parse::<Implementation>().unwrap_err();
        assert!(error.to_string().contains("mely/adaptive"));
    }
}
