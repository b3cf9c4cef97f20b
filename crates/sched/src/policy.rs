//! Which heuristics a runtime steals by.

use core::fmt;
use core::str::FromStr;

/// A scheduling policy: one of the papers' configurations, or the default.
///
/// The papers are *Efficient Workstealing for Multicore Event-Driven Systems* (ICDCS 2010) and
/// *Vol de tâches efficace pour systèmes événementiels multi-cœurs* (CFSE 2009).
///
/// The names are those of `--policy` and of the result tables.
///
/// ```
/// use mely_sched::Policy;
/// assert_eq!("mely-timeleft".parse(), Ok(Policy::MelyTimeLeft));
/// assert!("fastest".parse::<Policy>().unwrap_err().to_string().contains("adaptive"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// Libasync-smp: one queue of events for each core, no stealing (*Efficient
    /// Workstealing*, section II; *Vol de tâches*, section 2).
    LibasyncSmpNoSteal,
    /// Libasync-smp with its stealing (*Efficient Workstealing*, figure 2).
    LibasyncSmp,
    /// Libasync-smp, but near victims first (*Vol de tâches*, section 3.1).
    CfseCache,
    /// Libasync-smp, but a steal takes up to half of the victim's events (*Vol de tâches*,
    /// section 3.2).
    CfseBatch,
    /// Libasync-smp, but what asks to be pinned is never stolen (*Vol de tâches*, section
    /// 3.3).
    CfsePinning,
    /// Libasync-smp with all three heuristics of *Vol de tâches*.
    Cfse,
    /// Mely's queues, no stealing (*Efficient Workstealing*, table III).
    MelyNoSteal,
    /// Mely's queues with the stealing of Libasync-smp (*Efficient Workstealing*, table
    /// III).
    MelyBase,
    /// Base, but only colors worth the steal (*Efficient Workstealing*, section III-B).
    MelyTimeLeft,
    /// Time-left, with the annotated penalties (*Efficient Workstealing*, section III-C).
    MelyPenalty,
    /// Base, but near victims first (*Efficient Workstealing*, section III-A).
    MelyLocality,
    /// All three heuristics, with annotated costs and penalties (*Efficient Workstealing*,
    /// section V).
    Mely,
    /// All three, with what the papers left for later: costs, penalties and the price
    /// of a steal are learned while running, and short colors are shared in bundles.
    #[default]
    Adaptive,
}

/// Where the events of a core wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// In a queue for each color, and the colors in queues of the core (*Efficient
    /// Workstealing*, section IV).
    ColorQueues,
    /// In one queue, all colors mixed ([`EventFifo`](crate::EventFifo)), under a lock
    /// that posts, pops and steals take (*Efficient Workstealing*, section II).
    EventFifo,
}

/// What a [`Policy`] switches on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heuristics {
    /// Where events wait.
    pub queues: QueueKind,
    /// Idle cores steal at all.
    pub steal: bool,
    /// Only colors whose time left is more than a steal costs may be stolen.
    pub time_left: bool,
    /// Penalties divide the time left.
    pub penalty: bool,
    /// Victims are tried near first, instead of busiest first: *locality-aware* in
    /// *Efficient Workstealing*, *cache-aware* in *Vol de tâches*.
    pub locality: bool,
    /// A steal takes several colors, up to half of what the victim has.
    pub batch_steal: bool,
    /// What asks to be pinned where the policy knows pinning is pinned. A color that
    /// is pinned outright is never stolen under any policy.
    pub pinning: bool,
    /// Costs are the measured ones, and so are penalties where none is annotated; the
    /// price of a steal is the measured one, and short colors are shared in bundles.
    pub learn: bool,
}

impl Heuristics {
    /// Stealing from color queues, and no heuristic of *Efficient Workstealing*.
    const BASE: Self = Self {
        queues: QueueKind::ColorQueues,
        steal: true,
        time_left: false,
        penalty: false,
        locality: false,
        batch_steal: false,
        pinning: true,
        learn: false,
    };

    /// The same from one queue of events for each core.
    const FIFO: Self = Self {
        queues: QueueKind::EventFifo,
        pinning: false,
        ..Self::BASE
    };
}

impl Policy {
    /// Every policy, in the order of the papers' tables.
    pub const ALL: [Policy; 13] = [
        Policy::LibasyncSmpNoSteal,
        Policy::LibasyncSmp,
        Policy::CfseCache,
        Policy::CfseBatch,
        Policy::CfsePinning,
        Policy::Cfse,
        Policy::MelyNoSteal,
        Policy::MelyBase,
        Policy::MelyTimeLeft,
        Policy::MelyPenalty,
        Policy::MelyLocality,
        Policy::Mely,
        Policy::Adaptive,
    ];

    /// The name, as `--policy` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::LibasyncSmpNoSteal => "libasync-smp-nosteal",
            Policy::LibasyncSmp => "libasync-smp",
            Policy::CfseCache => "cfse-cache",
            Policy::CfseBatch => "cfse-batch",
            Policy::CfsePinning => "cfse-pinning",
            Policy::Cfse => "cfse",
            Policy::MelyNoSteal => "mely-nosteal",
            Policy::MelyBase => "mely-base",
            Policy::MelyTimeLeft => "mely-timeleft",
            Policy::MelyPenalty => "mely-penalty",
            Policy::MelyLocality => "mely-locality",
            Policy::Mely => "mely",
            Policy::Adaptive => "adaptive",
        }
    }

    /// What this policy switches on.
    pub const fn heuristics(self) -> Heuristics {
        match self {
            Policy::LibasyncSmpNoSteal => Heuristics {
                steal: false,
                ..Heuristics::FIFO
            },
            Policy::LibasyncSmp => Heuristics::FIFO,
            Policy::CfseCache => Heuristics {
                locality: true,
                ..Heuristics::FIFO
            },
            Policy::CfseBatch => Heuristics {
                batch_steal: true,
                ..Heuristics::FIFO
            },
            Policy::CfsePinning => Heuristics {
                pinning: true,
                ..Heuristics::FIFO
            },
            Policy::Cfse => Heuristics {
                locality: true,
                batch_steal: true,
                pinning: true,
                ..Heuristics::FIFO
            },
            Policy::MelyNoSteal => Heuristics {
                steal: false,
                ..Heuristics::BASE
            },
            Policy::MelyBase => Heuristics::BASE,
            Policy::MelyTimeLeft => Heuristics {
                time_left: true,
                ..Heuristics::BASE
            },
            Policy::MelyPenalty => Heuristics {
                time_left: true,
                penalty: true,
                ..Heuristics::BASE
            },
            Policy::MelyLocality => Heuristics {
                locality: true,
                ..Heuristics::BASE
            },
            Policy::Mely => Heuristics {
                time_left: true,
                penalty: true,
                locality: true,
                ..Heuristics::BASE
            },
            Policy::Adaptive => Heuristics {
                time_left: true,
                penalty: true,
                locality: true,
                batch_steal: true,
                learn: true,
                ..Heuristics::BASE
            },
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A policy name that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy {
    given: String,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown policy '{}'; the policies are ", self.given)?;
        for (at, policy) in Policy::ALL.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{policy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let found = Policy::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or_else(|| UnknownPolicy {
            given: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
    }

    #[test]
    fn an_unknown_name_is_named_with_the_known_ones() {
        let said = "worker".parse::<Policy>().unwrap_err().to_string();
        assert!(said.contains("'worker'"), "{said}");
        for policy in Policy::ALL {
            assert!(said.contains(policy.name()), "{said}");
        }
    }
}
