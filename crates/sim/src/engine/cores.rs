//! The cores: what each does, and when it goes on.

use core::cell::Cell;

/// When a core goes on that must be woken.
const NEVER: u64 = u64::MAX;

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It runs, or would if it were its turn.
    Running,
    /// It sleeps since then.
    Sleeping(u64),
    /// It waits for a lock.
    Waiting,
    /// Its worker has ended.
    Ended,
}

/// A virtual core.
pub(super) struct Core {
    doing: Cell<Doing>,
    /// It was woken while it did not sleep.
    woken: Cell<bool>,
    /// It has begun a turn since it had nothing to do.
    works: Cell<bool>,
    /// Since when it waits for a lock.
    since: Cell<u64>,
    /// Cycles that it slept.
    slept: Cell<u64>,
}

/// All cores.
pub(super) struct Cores {
    /// When each goes on: together, as they are looked at on each switch.
    due: Box<[Cell<u64>]>,
    cores: Box<[Core]>,
}

/// The core whose time comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) core: usize,
    pub(super) due: u64,
    /// When the time of the next one comes.
    pub(super) next: u64,
}

impl Cores {
    pub(super) fn new(cores: usize) -> Self {
        let core = |_| Core {
            doing: Cell::new(Doing::Running),
            woken: Cell::new(false),
            works: Cell::new(false),
            since: Cell::new(0),
            slept: Cell::new(0),
        };
        Self {
            due: (0..cores).map(|_| Cell::new(0)).collect(),
            cores: (0..cores).map(core).collect(),
        }
    }

    /// The core whose time comes first.
    #[inline]
    pub(super) fn first(&self) -> First {
        let mut first = First {
            core: 0,
            due: NEVER,
            next: NEVER,
        };
        for (core, due) in self.due.iter().enumerate() {
            let due = due.get();
            let sooner = due < first.due;
            // Without branches: which one it is nobody can predict.
            first.next = first.next.min(due.max(first.due));
            first.core = if sooner { core } else { first.core };
            first.due = first.due.min(due);
        }
        first
    }

    /// Of the cores that may go on at `now` the one that `choose` points at, told how
    /// many there are.
    pub(super) fn any(&self, now: u64, choose: impl FnOnce(usize) -> usize) -> usize {
        let ready = || {
            let all = self.due.iter().enumerate();
            all.filter(|(_, due)| due.get() <= now)
        };
        let chosen = choose(ready().count());
        ready().nth(chosen).map_or(0, |(number, _)| number)
    }

    /// A core goes on. Returns since when it has slept, if it did.
    pub(super) fn go_on(&self, core: usize, now: u64) {
        self.due[core].set(NEVER);
        let core = &self.cores[core];
        if let Doing::Sleeping(since) = core.doing.replace(Doing::Running) {
            core.slept.set(core.slept.get() + now.saturating_sub(since));
        }
    }

    /// A core gives others their turn, until `due`.
    pub(super) fn pause(&self, core: usize, due: u64) {
        self.due[core].set(due);
    }

    /// A core waits for a lock.
    pub(super) fn wait(&self, core: usize, now: u64) {
        self.cores[core].doing.set(Doing::Waiting);
        self.cores[core].since.set(now);
    }

    /// A core gets the lock that it waits for.
    ///
    /// Returns when it goes on.
    pub(super) fn get_lock(&self, core: usize, now: u64) -> u64 {
        let due = self.cores[core].since.get().max(now);
        self.due[core].set(due);
        due
    }

    /// A core has begun a turn.
    pub(super) fn work(&self, core: usize) {
        self.cores[core].works.set(true);
    }

    /// A core has nothing to do. Whether another one has.
    pub(super) fn someone_works_beside(&self, core: usize) -> bool {
        self.cores[core].works.set(false);
        self.cores.iter().any(|core| core.works.get())
    }

    /// A core goes to sleep, until `due` at the latest.
    pub(super) fn sleep(&self, core: usize, now: u64, due: Option<u64>) {
        self.cores[core].doing.set(Doing::Sleeping(now));
        self.due[core].set(due.unwrap_or(NEVER));
    }

    /// Takes note of a wake-up that came before the sleep.
    pub(super) fn was_woken(&self, core: usize) -> bool {
        self.cores[core].woken.replace(false)
    }

    /// Wakes a core, to run at `at`. Returns when it will, if it sleeps.
    pub(super) fn wake(&self, core: usize, at: u64) -> Option<u64> {
        let Doing::Sleeping(since) = self.cores[core].doing.get() else {
            self.cores[core].woken.set(true);
            return None;
        };
        let due = self.due[core].get().min(at.max(since));
        self.due[core].set(due);
        Some(due)
    }

    /// The worker of a core has ended.
    pub(super) fn end(&self, core: usize) {
        self.cores[core].doing.set(Doing::Ended);
        self.due[core].set(NEVER);
    }

    /// Since when each core sleeps, of those that do.
    pub(super) fn asleep(&self) -> impl Iterator<Item = Option<u64>> {
        self.cores.iter().map(|core| match core.doing.get() {
            Doing::Sleeping(since) => Some(since),
            _ => None,
        })
    }

    /// The cores that do this, or the like.
    pub(super) fn that(&self, does: impl Fn(Doing) -> bool) -> Vec<usize> {
        let all = self.cores.iter().enumerate();
        let they = all.filter(|(_, core)| does(core.doing.get()));
        they.map(|(number, _)| number).collect()
    }

    /// Cycles that a core has slept up to `now`.
    pub(super) fn slept(&self, core: usize, now: u64) -> u64 {
        let core = &self.cores[core];
        let still = match core.doing.get() {
            Doing::Sleeping(since) => now.saturating_sub(since),
            _ => 0,
        };
        core.slept.get() + still
    }
}
