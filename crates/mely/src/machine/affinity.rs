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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Affinity {
    /// A worker that has not slept for 10 ms keeps to a core of its own until it sleeps
    /// again: whoever wakes it may have its core at hand, where it begins at once, while
    /// a core that sleeps has to be woken too. Once one has waited for its core an eighth
    /// of the time in which it wanted to run, all are free, for good; and from the start
    /// where there are more workers than cores, or where the system does not tell how long
    /// a thread waits.
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

    /// The core that a worker is pinned to, at times or always.
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
        let core = self.of_workers[worker];
        let placed = match self.affinity {
            Affinity::Pinned => topology::pin_current_thread(core),
            Affinity::Auto | Affinity::Free => topology::restrict_current_thread(&self.usable),
        };
        if let Err(error) = &placed {
            // The cores were checked when building; they may have gone since.
            eprintln!("mely: worker {worker} runs where the system sees fit: {error}");
        }
        let pins = self.affinity == Affinity::Auto && placed.is_ok();
        let footing = account.map(|account| Footing {
            pin: pins.then(|| Pin::new(core, self.usable.clone(), Arc::clone(crowd))),
            seen: account.read().unwrap_or_default(),
            account,
            until_look: LOOK_INTERVAL,
            is_shared: false,
        });
        let pinned = self.affinity == Affinity::Pinned && placed.is_ok();
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

/// After so many polls without a sleep, 10 ms of work, a worker is pinned: what that and
/// letting go cost, some microseconds, is then nothing.
const PINNED_AFTER_POLLS: u32 = 256;

/// The core of a worker that is pinned while it does not sleep.
#[derive(Debug)]
struct Pin {
    core: usize,
    usable: CpuSet,
    crowd: Arc<Crowd>,
    /// Polls since it slept.
    polls: u32,
    is_on: bool,
}

impl Pin {
    fn new(core: usize, usable: CpuSet, crowd: Arc<Crowd>) -> Self {
        Self {
            core,
            usable,
            crowd,
            polls: 0,
            is_on: false,
        }
    }

    /// Pins the worker, a thread that works on, once it has done so for long.
    #[inline]
    fn work_on(&mut self) -> Option<Found> {
        self.polls = self.polls.saturating_add(1);
        if self.polls != PINNED_AFTER_POLLS {
            return None;
        }
        self.is_on = topology::pin_current_thread(self.core).is_ok();
        self.is_on.then_some(Found::Pinned(self.core))
    }

    /// Lets go of a thread that is about to sleep.
    #[inline]
    fn lie_down(&mut self) -> Option<Found> {
        self.polls = 0;
        self.is_on.then(|| self.let_go())
    }

    #[cold]
    fn let_go(&mut self) -> Found {
        // If that fails it stays where it is, which all may see.
        self.is_on = topology::restrict_current_thread(&self.usable).is_err();
        match self.is_on {
            true => Found::Pinned(self.core),
            false => Found::Free,
        }
    }
}

/// What a worker knows of the core that it runs on.
#[derive(Debug)]
pub(crate) struct Footing {
    /// It may be pinned at times, until one of the workers is crowded.
    pin: Option<Pin>,
    account: CpuAccount,
    /// What it said at the last look that counted.
    seen: CpuTimes,
    until_look: u32,
    is_shared: bool,
}

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Pinned(usize),
    Free,
    /// Free from now on, as others want these cores.
    FreeForGood,
}

impl Footing {
    /// At a poll: pins, and looks now and then what others do.
    #[inline]
    pub(crate) fn work_on(&mut self) -> Option<Found> {
        let found = self.look();
        found.or_else(|| self.pin.as_mut()?.work_on())
    }

    /// Before a sleep.
    #[inline]
    pub(crate) fn lie_down(&mut self) -> Option<Found> {
        let found = self.look();
        found.or_else(|| self.pin.as_mut()?.lie_down())
    }

    /// Whether others run on its core too.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    #[inline]
    fn look(&mut self) -> Option<Found> {
        self.until_look -= 1;
        match self.until_look {
            0 => self.look_now(),
            _ => None,
        }
    }

    #[cold]
    fn look_now(&mut self) -> Option<Found> {
        self.until_look = LOOK_INTERVAL;
        let now = self.account.read().unwrap_or(self.seen);
        let lately = now.since(self.seen);
        if lately.wanted() >= WANTED_MIN {
            self.seen = now;
            self.is_shared = lately.share_waited() > WAITED_SHARE;
        }
        let crowded = |pin: &mut Pin| {
            if self.is_shared {
                pin.crowd.0.store(true, Relaxed);
            }
            pin.crowd.0.load(Relaxed)
        };
        let mut pin = self.pin.take_if(crowded)?;
        let is_free = !pin.is_on || pin.let_go() == Found::Free;
        is_free.then_some(Found::FreeForGood)
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
