//! What the papers leave open, and what is assumed of it.

use std::str::FromStr;

/// Something that a workload needs, and that no paper says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// Cycles between two looks of a core that has nothing to run; 0: it sleeps.
    IdlePollCycles,
    /// Chains of a round of `penalty`.
    PenaltyChains,
    /// Events B of a chain.
    PenaltyPieces,
    /// Messages that a source of `cache-aware` begins at a time.
    CacheAwareMessages,
    /// The same of `batch`.
    BatchMessages,
    /// What 50 concatenations of strings take.
    BatchWorkCycles,
    /// What Epoll takes for each client that is ready.
    EpollReadyCycles,
    /// Clients of the web server.
    WebClients,
    /// Whether the web server's connections all begin at the same time.
    WebInStep,
    /// Connections of `pinning` at a time.
    PinningClients,
    /// What writing a byte takes there.
    PinningWriteCycles,
    /// The part of the file server's time that goes into cryptography.
    FilesCryptoPercent,
}

impl Open {
    /// All, in the order of the tables.
    pub const ALL: [Open; 12] = [
        Open::IdlePollCycles,
        Open::PenaltyChains,
        Open::PenaltyPieces,
        Open::CacheAwareMessages,
        Open::BatchMessages,
        Open::BatchWorkCycles,
        Open::EpollReadyCycles,
        Open::WebClients,
        Open::WebInStep,
        Open::PinningClients,
        Open::PinningWriteCycles,
        Open::FilesCryptoPercent,
    ];

    /// The name, as `--assume` takes it, and what is assumed.
    const fn known(self) -> (&'static str, u64) {
        match self {
            // "There is no interest in yielding cores" (*Efficient Workstealing*, section
            // II-A). A look in vain takes this long with the system call that asks for
            // input.
            Open::IdlePollCycles => ("idle-poll-cycles", 1_000),
            // Two for each core. The paper says that idle cores find more events B to
            // steal than A: chains must be few and long. All arrays fit into the
            // level-2 cache of the first core, as the column of misses says: none
            // without stealing, as it is read in `published`.
            Open::PenaltyChains => ("penalty-chains", 16),
            Open::PenaltyPieces => ("penalty-pieces", 60),
            // Of one source all arrays on their way, 4 MB, fit into its level-2 cache of
            // 6 MB: otherwise there were no cache to be aware of.
            Open::CacheAwareMessages => ("cache-aware-messages", 25),
            // Some hundred messages wait in a queue then, as in a busy server.
            Open::BatchMessages => ("batch-messages", 500),
            // As measured in C++, each into a new string (50 times `s = s + w`, six
            // bytes more each time: 6848 cycles at 2.5 GHz by g++ -O2).
            Open::BatchWorkCycles => ("batch-work-cycles", 6_800),
            // What is ready is told of until it has been read, unless the kernel is
            // told to watch it no more, and then to watch it again: two system calls.
            // The paper's profile says that Epoll's core is what limits the server.
            Open::EpollReadyCycles => ("epoll-ready-cycles", 4_000),
            // Of the papers' 200 to 2000 a number in the middle.
            Open::WebClients => ("web-clients", 1_000),
            Open::WebInStep => ("web-in-step", 0),
            // Enough for queues.
            Open::PinningClients => ("pinning-clients", 64),
            // As measured in production, on the loopback device.
            Open::PinningWriteCycles => ("pinning-write-cycles", 19_000),
            Open::FilesCryptoPercent => ("files-crypto-percent", 60),
        }
    }

    /// The name, as `--assume` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.known().0
    }
}

/// What is assumed of all that the papers leave open: by default the same as in
/// `docs/decisions/0008`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumed([u64; Open::ALL.len()]);

impl Default for Assumed {
    fn default() -> Self {
        Self(Open::ALL.map(|open| open.known().1))
    }
}

impl Assumed {
    /// The figure.
    #[must_use]
    pub const fn get(&self, open: Open) -> u64 {
        self.0[open as usize]
    }

    /// The same as a number of things.
    pub(super) fn count(&self, open: Open) -> usize {
        usize::try_from(self.get(open)).unwrap_or(usize::MAX)
    }

    /// Assumes something else.
    pub fn set(&mut self, Assumption { open, figure }: Assumption) {
        self.0[open as usize] = figure;
    }
}

/// One thing that is assumed: `penalty-chains=20`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumption {
    open: Open,
    figure: u64,
}

/// No assumption is larger: simulations end.
const FIGURE_MAX: u64 = 10_000_000;

impl FromStr for Assumption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, figure) = text.split_once('=').ok_or("give NAME=NUMBER")?;
        let open = Open::ALL.into_iter().find(|open| open.name() == name);
        let open = open.ok_or_else(|| {
            let names = Open::ALL.map(Open::name).join(", ");
            format!("{name} is none of {names}")
        })?;
        let least = match open {
            Open::IdlePollCycles
            | Open::BatchWorkCycles
            | Open::EpollReadyCycles
            | Open::PinningWriteCycles
            | Open::WebInStep => 0,
            _ => 1,
        };
        let most = match open {
            Open::FilesCryptoPercent => 99,
            Open::WebClients | Open::PinningClients => 10_000,
            Open::WebInStep => 1,
            Open::PenaltyChains | Open::CacheAwareMessages | Open::BatchMessages => 100_000,
            Open::PenaltyPieces => 1_000,
            _ => FIGURE_MAX,
        };
        match figure.parse() {
            Ok(figure) if (least..=most).contains(&figure) => Ok(Self { open, figure }),
            _ => Err(format!("{name}: give {least} to {most}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_its_own_place() {
        for (place, open) in Open::ALL.into_iter().enumerate() {
            assert_eq!(open as usize, place);
            let mut assumed = Assumed::default();
            assumed.set(Assumption { open, figure: 7 });
            assert_eq!(assumed.get(open), 7);
            let changed = Open::ALL.map(|open| assumed.get(open) != Assumed::default().get(open));
            assert_eq!(changed.iter().filter(|&&changed| changed).count(), 1);
        }
    }

    #[test]
    fn what_cannot_be_assumed_is_refused() {
        let refusal = |text: &str| text.parse::<Assumption>().unwrap_err();
        assert!(refusal("penalty-chains").contains("NAME=NUMBER"));
        assert!(refusal("chains=3").contains("penalty-chains"));
        assert!(refusal("files-crypto-percent=100").contains("1 to 99"));
        assert!(refusal("web-clients=many").contains("give 1"));
        let taken: Assumption = "penalty-chains=20".parse().unwrap();
        assert_eq!((taken.open, taken.figure), (Open::PenaltyChains, 20));
    }
}
