//! The cores: what each does, and when it goes on.

use core::cell::Cell;
use std::collections::BTreeSet;

use super::turns::{NEVER, Turns};

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
    turns: Turns,
    cores: Box<[Core]>,
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
            turns: Turns::new(cores),
            cores: (0..cores).map(core).collect(),
        }
    }

    /// When the first core goes on: [`NEVER`] if all must be woken.
    #[inline(always)]
    pub(super) fn first_due(&self) -> u64 {
        self.turns.first_due()
    }

    /// That core, of which this is the time.
    #[inline(always)]
    pub(super) fn first_at(&self, due: u64) -> usize {
        self.turns.first_at(due)
    }

    /// Of the cores that may go on at `now` the one that `choose` points at, told how
    /// many there are.
    pub(super) fn any(&self, now: u64, choose: impl FnOnce(usize) -> usize) -> usize {
        let chosen = choose(self.turns.up_to(now).count());
        self.turns.up_to(now).nth(chosen).unwrap_or(0)
    }

    /// A core goes on.
    #[inline(always)]
    pub(super) fn go_on(&self, core: usize, now: u64) {
        self.turns.set(core, NEVER);
        let core = &self.cores[core];
        if let Doing::Sleeping(since) = core.doing.replace(Doing::Running) {
            core.slept.set(core.slept.get() + now.saturating_sub(since));
        }
    }

    /// A core gives others their turn, until `due`.
    #[inline(always)]
    pub(super) fn pause(&self, core: usize, due: u64) {
        self.turns.set(core, due);
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
        self.turns.set(core, due);
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
        self.turns.set(core, due.unwrap_or(NEVER));
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
        let due = self.turns.due(core).min(at.max(since));
        self.turns.set(core, due);
        Some(due)
    }

    /// The worker of a core has ended.
    pub(super) fn end(&self, core: usize) {
        self.cores[core].doing.set(Doing::Ended);
        self.turns.set(core, NEVER);
    }

    /// A core begins that has no worker.
    pub(super) fn begin(&self, core: usize, now: u64) {
        self.cores[core].doing.set(Doing::Running);
        self.turns.set(core, now);
    }

    /// One that has ended, behind the first so many.
    pub(super) fn ended_behind(&self, workers: usize) -> Option<usize> {
        let ended = |core: &Core| core.doing.get() == Doing::Ended;
        let at = self.cores[workers..].iter().position(ended);
        at.map(|at| workers + at)
    }

    /// Whether any core goes on by itself, or is woken by time, but for these.
    pub(super) fn goes_on_beside(&self, these: &BTreeSet<usize>) -> bool {
        let due = |core: &usize| self.turns.due(*core) < NEVER;
        (0..self.cores.len())
            .filter(due)
            .any(|core| !these.contains(&core))
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
