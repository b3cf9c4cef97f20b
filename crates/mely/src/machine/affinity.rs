//! Whether workers keep to cores of their own.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use mely_topology::{self as topology, CpuAccount, CpuSet, CpuTimes};

/// Whether each worker runs on a core of its own, or where the system sees fit.
///
/// A pinned worker keeps its caches, which is worth a few percent where nobody else
/// wants its core, and costs up to half of it where somebody does: the system cannot
/// move it to a core that is idle.
///
/// ```
/// use mely::{Affinity, Runtime};
/// let rt = Runtime::builder().workers(1).affinity(Affinity::Free).build()?;
/// assert_eq!(rt.metrics().workers[0].core, None);
/// # Ok::<(), mely::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Affinity {
    /// Each on a core of its own, until one has waited for its core an eighth of the
    /// time in which it wanted to run: then all are free, for good. Free from the
    /// start where there are more workers than cores, or where the system does not
    /// tell how long a thread waits.
    #[default]
    Auto,
    /// Each on its core, whoever else wants it. Workers take the cores in turn.
    Pinned,
    /// All on any of the cores that may be used.
    Free,
}

impl Affinity {
    /// All of them.
    pub const ALL: [Affinity; 3] = [Affinity::Auto, Affinity::Pinned, Affinity::Free];
}

impl fmt::Display for Affinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Affinity::Auto => "auto",
            Affinity::Pinned => "pinned",
            Affinity::Free => "free",
        })
    }
}

/// A name that is no [`Affinity`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAffinity(String);

impl fmt::Display for UnknownAffinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there is no affinity {:?}: use auto, pinned or free",
            self.0
        )
    }
}

impl std::error::Error for UnknownAffinity {}

impl FromStr for Affinity {
    type Err = UnknownAffinity;

    fn from_str(name: &str) -> Result<Self, UnknownAffinity> {
        let known = Self::ALL
            .into_iter()
            .find(|affinity| affinity.to_string() == name);
        known.ok_or_else(|| UnknownAffinity(name.to_owned()))
    }
}

/// The cores of a runtime.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// Of each worker.
    pub(crate) of_workers: Vec<usize>,
    pub(crate) usable: CpuSet,
    /// [`Affinity::Auto`] only where it can make a difference.
    pub(crate) affinity: Affinity,
}

impl Cores {
    pub(crate) fn new(workers: usize, usable: &[usize], cpus: CpuSet, asked: Affinity) -> Self {
        let affinity = match asked {
            Affinity::Auto if workers > usable.len() => Affinity::Free,
            asked => asked,
        };
        Self {
            of_workers: (0..workers).map(|at| usable[at % usable.len()]).collect(),
            usable: cpus,
            affinity,
        }
    }

    /// The core that a worker begins on, if it is pinned.
    pub(crate) fn pinned(&self, worker: usize) -> Option<usize> {
        (self.affinity != Affinity::Free).then(|| self.of_workers[worker])
    }

    /// Puts the calling thread, a worker's, where it is to run; what it learns of that
    /// later, and the core that it is pinned to.
    pub(crate) fn settle(
        &self,
        worker: usize,
        crowd: &Arc<Crowd>,
    ) -> (Option<Footing>, Option<usize>) {
        let account = CpuAccount::of_current_thread().ok();
        let lets_go = self.affinity == Affinity::Auto && account.is_some();
        let pins = lets_go || self.affinity == Affinity::Pinned;
        let core = self.of_workers[worker];
        let placed = match pins {
            true => topology::pin_current_thread(core),
            false => topology::restrict_current_thread(&self.usable),
        };
        if let Err(error) = &placed {
            // The cores were checked when building; they may have gone since.
            eprintln!("mely: worker {worker} runs where the system sees fit: {error}");
        }
        let pinned = pins && placed.is_ok();
        let footing = account.map(|account| Footing {
            lets_go: (pinned && lets_go).then(|| (self.usable.clone(), Arc::clone(crowd))),
            seen: account.read().unwrap_or_default(),
            account,
            until_look: LOOK_INTERVAL,
            is_shared: false,
        });
        (footing, pinned.then_some(core))
    }
}

/// The core that a worker is pinned to, as all may see it.
///
/// Relaxed throughout: it guards nothing.
#[derive(Debug)]
pub(crate) struct PinnedTo(AtomicUsize);

impl PinnedTo {
    /// No core has this number.
    const NONE: usize = usize::MAX;

    pub(crate) fn new(core: Option<usize>) -> Self {
        Self(AtomicUsize::new(core.unwrap_or(Self::NONE)))
    }

    pub(crate) fn set(&self, core: Option<usize>) {
        self.0.store(core.unwrap_or(Self::NONE), Relaxed);
    }

    pub(crate) fn get(&self) -> Option<usize> {
        Some(self.0.load(Relaxed)).filter(|&core| core != Self::NONE)
    }
}

/// Polls and sleeps of a worker from one look at its account to the next. A poll comes
/// every 40 µs of work, and a look takes about 1 µs.
const LOOK_INTERVAL: u32 = 64;

/// How much a worker must have wanted to run before its waiting says something: more than
/// two slices of the kernel's, of which another process that passes by takes one.
const WANTED_MIN: Duration = Duration::from_millis(10);

/// The share of that which it has waited when its core is not its own: a quiet machine
/// has less than a hundredth, one other busy thread on the core makes it a half.
const WAITED_SHARE: f64 = 0.125;

/// Whether a worker of the runtime has found that its cores are not its own.
///
/// Relaxed throughout: a worker that learns of it later is let go later.
#[derive(Debug, Default)]
pub(crate) struct Crowd(AtomicBool);

/// What a worker knows of the core that it runs on.
#[derive(Debug)]
pub(crate) struct Footing {
    /// It is pinned, and to be let go to these cores once one of the workers is crowded.
    lets_go: Option<(CpuSet, Arc<Crowd>)>,
    account: CpuAccount,
    /// What it said at the last look that counted.
    seen: CpuTimes,
    until_look: u32,
    is_shared: bool,
}

/// What a look has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Others run on its core too.
    pub(crate) is_shared: bool,
    /// It was pinned, and has been let go.
    pub(crate) let_go: bool,
}

impl Footing {
    /// Looks now and then.
    #[inline]
    pub(crate) fn look(&mut self) -> Option<Found> {
        self.until_look -= 1;
        match self.until_look {
            0 => Some(self.look_now()),
            _ => None,
        }
    }

    #[cold]
    fn look_now(&mut self) -> Found {
        self.until_look = LOOK_INTERVAL;
        let now = self.account.read().unwrap_or(self.seen);
        let lately = now.since(self.seen);
        if lately.wanted() >= WANTED_MIN {
            self.seen = now;
            self.is_shared = lately.share_waited() > WAITED_SHARE;
        }
        let crowded = |(_, crowd): &mut (CpuSet, Arc<Crowd>)| {
            if self.is_shared {
                crowd.0.store(true, Relaxed);
            }
            crowd.0.load(Relaxed)
        };
        let leaves = self.lets_go.take_if(crowded);
        Found {
            is_shared: self.is_shared,
            let_go: leaves
                .is_some_and(|(cores, _)| topology::restrict_current_thread(&cores).is_ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for affinity in Affinity::ALL {
            assert_eq!(affinity.to_string().parse(), Ok(affinity));
        }
        let message = "Free".parse::<Affinity>().unwrap_err().to_string();
        assert!(message.contains("auto, pinned or free"), "{message}");
    }

    #[test]
    fn more_workers_than_cores_are_free_unless_told_otherwise() {
        let cores = |workers, asked| {
            let cpus = CpuSet::of([3, 5]).unwrap();
            let cores = Cores::new(workers, &[3, 5], cpus, asked);
            (0..workers)
                .map(|worker| cores.pinned(worker))
                .collect::<Vec<_>>()
        };
        assert_eq!(cores(2, Affinity::Auto), [Some(3), Some(5)]);
        assert_eq!(cores(3, Affinity::Auto), [None; 3]);
        assert_eq!(cores(3, Affinity::Pinned), [Some(3), Some(5), Some(3)]);
        assert_eq!(cores(2, Affinity::Free), [None; 2]);
    }
}
