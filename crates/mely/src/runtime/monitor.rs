//! Looks after workers that do not come: descheduled, stopped, or in a handler that takes
//! long or blocks.
//!
//! What waits behind such a worker is done by the others, as far as it may move: its timers
//! are fired, its descriptors looked at, the colors that were sent to it sent on, and those
//! that are private to it offered to thieves. The monitor sleeps while all workers do.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::event::{Event, handler};
use crate::machine::driver::ReadyList;
use crate::machine::panics::{Deferred, call_safely, drop_refused};
use crate::machine::sync::{Arc, Mutex, lock};
use crate::shared::admission::Poster;
use crate::shared::bell::Rung;
use crate::shared::config::StallReport;
use crate::shared::remote::Remote;
use crate::shared::timers::Due;
use crate::shared::{ColorRef, OwnedColor, Phase, Shared};

/// How often it looks. A worker that has done nothing since the last look is taken over,
/// so what is behind it waits for two of these at the most; a look takes some microseconds,
/// less than 0.1 % of a core.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A handler that was told that a reply is not there, and holds its worker for that long
/// since, seems to wait for it in a way that blocks.
const AWAITS_MAX: Duration = Duration::from_secs(1);

/// After how many looks at workers that all sleep it waits for one to get up: waking it
/// costs that worker some microseconds, and looking 20 times costs no more than that.
const LOOKS_AT_SLEEPERS: u32 = 20;

/// A thread that looks at the workers from time to time, until the runtime's bell says that
/// it ends; which dropping this does.
pub(crate) struct Monitor {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl Monitor {
    /// Starts one.
    pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let watched = Arc::clone(shared);
        let name = format!("{}-monitor", shared.config.worker_name);
        let thread = std::thread::Builder::new().name(name);
        Ok(Self {
            shared: Arc::clone(shared),
            thread: thread.spawn(move || Looks::at(&watched).go_on())?,
        })
    }
}

impl Monitor {
    /// Whether it has ended. It dispatches readiness, which drops what is the program's if
    /// the runtime has ended, so it is not waited for without a limit.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.shared.bell.end();
    }
}

/// What was seen of a worker: as long as it is the same, nothing was done there.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    handler: u64,
    turns: u64,
    parks: u64,
    events: u64,
}

impl Seen {
    fn on(remote: &Remote) -> Self {
        let handler = remote.counts.running.get();
        let counts = usize::try_from(handler).ok();
        let counts = counts.and_then(|at| remote.handlers.get(at));
        Self {
            handler,
            turns: remote.counts.turns.get(),
            parks: remote.counts.parks.get(),
            events: counts.map_or(0, |c| c.events.get()),
        }
    }
}

/// A worker, as it was looked at.
#[derive(Clone, Default)]
struct Look {
    seen: Seen,
    /// How often in a row it looked the same.
    same: u32,
    has_warned: bool,
}

struct Looks<'a> {
    shared: &'a Shared,
    workers: Vec<Look>,
    ready: ReadyList,
    next_home: usize,
    /// Who tells of a handler that holds a worker.
    tells: Option<JoinHandle<()>>,
    /// What is the program's to drop, and who does that.
    left: Deferred,
    drops: Vec<JoinHandle<()>>,
}

impl<'a> Looks<'a> {
    fn at(shared: &'a Shared) -> Self {
        Self {
            shared,
            workers: vec![Look::default(); shared.remotes.len()],
            ready: ReadyList::new(),
            next_home: 0,
            tells: None,
            left: Deferred::default(),
            drops: Vec::new(),
        }
    }

    /// Looks from time to time, until the monitor ends.
    fn go_on(mut self) {
        let all_sleep = || self.shared.idle.do_all_sleep(self.shared.remotes.len());
        let mut asleep = 0;
        loop {
            asleep = if all_sleep() { asleep + 1 } else { 0 };
            let limit = (asleep < LOOKS_AT_SLEEPERS).then_some(LOOK_INTERVAL);
            if self.shared.bell.wait(limit, all_sleep) == Rung::End {
                break;
            }
            for worker in 0..self.workers.len() {
                self.look_at(worker);
            }
            self.leave_drops();
        }
        for drops in self.drops {
            // What panicked there has been told.
            let _ = drops.join();
        }
    }

    /// Has dropped what this thread would have. On a thread of its own: a destructor may wait
    /// for what this one does.
    fn leave_drops(&mut self) {
        if self.left.is_empty() {
            return;
        }
        self.drops.retain(|drops| !drops.is_finished());
        let left = Arc::new(Mutex::new(std::mem::take(&mut self.left)));
        let dropped = Arc::clone(&left);
        let name = format!("{}-drops", self.shared.config.worker_name);
        let thread = std::thread::Builder::new().name(name);
        let spawned = thread.spawn(move || drop(std::mem::take(&mut *lock(&dropped))));
        match spawned {
            Ok(drops) => self.drops.push(drops),
            // Next time.
            Err(_) => self.left = std::mem::take(&mut *lock(&left)),
        }
    }

    fn look_at(&mut self, worker: usize) {
        let remote = &self.shared.remotes[worker];
        let seen = Seen::on(remote);
        let look = &mut self.workers[worker];
        if seen != look.seen {
            if look.same > 0 {
                // Relaxed: see `Remote::is_far_behind`.
                remote.is_late.store(false, Relaxed);
            }
            *look = Look {
                seen,
                ..Look::default()
            };
            return;
        }
        if remote.mailbox.is_closed() {
            // It sleeps, and the system wakes it.
            return;
        }
        look.same = look.same.saturating_add(1);
        let is_late = look.same >= self.looks_until_late();
        self.warn(worker);
        if is_late {
            remote.is_late.store(true, Relaxed);
            let mut left = std::mem::take(&mut self.left);
            left.of(|| self.take_over(worker));
            self.left = left;
        }
    }

    /// In how many looks in a row a worker does nothing that does not come. One that has
    /// to share its core waits for a slice or two of the kernel's, and comes.
    fn looks_until_late(&self) -> u32 {
        match self.shared.do_all_share() {
            true => 2,
            false => 1,
        }
    }

    /// Warns, once, of a handler that holds a worker for too long.
    fn warn(&mut self, worker: usize) {
        let look = &mut self.workers[worker];
        let held = LOOK_INTERVAL * look.same;
        let counts = &self.shared.remotes[worker].counts;
        let awaits = held >= AWAITS_MAX && counts.awaits.get() == look.seen.turns + 1;
        let limit = self.shared.config.warn_after;
        let too_long = awaits || limit.is_some_and(|limit| held >= limit);
        let tells = self
            .tells
            .as_ref()
            .is_some_and(|tells| !tells.is_finished());
        if look.has_warned || !too_long || look.seen.handler == 0 || tells {
            return;
        }
        look.has_warned = true;
        let name = usize::try_from(look.seen.handler).ok();
        let name = name.and_then(|at| handler::names().get(at).copied());
        let report = StallReport {
            worker,
            handler: name.unwrap_or("(unknown)"),
            held,
            awaits,
        };
        // On a thread of its own: it may take its time, and this one has to go on.
        let on_stall = self.shared.config.on_stall;
        let tell = move || {
            call_safely(|| on_stall(&report));
        };
        let name = format!("{}-stall", self.shared.config.worker_name);
        self.tells = std::thread::Builder::new().name(name).spawn(tell).ok();
        if self.tells.is_none() {
            look.has_warned = false;
        }
    }

    /// Does what waits behind a worker that does not come.
    fn take_over(&mut self, worker: usize) {
        let shared = self.shared;
        let remote = &shared.remotes[worker];
        match shared.phase() {
            Phase::Running => {
                let done = self.fire_timers(remote) + self.look_outside(remote);
                let moved = self.send_on(worker);
                let offered = remote.offer_private();
                if offered {
                    shared.wake_a_thief();
                }
                remote
                    .counts
                    .takeovers
                    .add(u64::from(done + moved > 0 || offered));
            }
            Phase::Draining => remote.timers.cancel_all(false),
            Phase::Stopped => {}
        }
        // Once: what comes later wakes thieves itself, and what is there may be nothing that
        // they can take.
        if self.workers[worker].same == self.looks_until_late() && remote.has_stealable_work() {
            shared.wake_a_thief();
        }
    }

    fn fire_timers(&self, remote: &Remote) -> usize {
        let now = self.shared.clock.now();
        let post = |color: &ColorRef, event: Event| {
            color.reserve_always();
            self.shared.post_from_outside(color, event)
        };
        let mut fired = 0;
        while let Some(due) = remote.timers.fire(now, post) {
            match due {
                Due::Posted(_color) => fired += 1,
                Due::Refused(_color, event) => {
                    self.shared.count_shed(Poster::Outside);
                    drop_refused(event);
                }
                Due::NotPosted => {}
            }
        }
        fired
    }

    fn look_outside(&mut self, remote: &Remote) -> usize {
        if !remote.driver.has_sources() {
            return 0;
        }
        remote.driver.look(&mut self.ready);
        remote.driver.dispatch(&mut self.ready)
    }

    /// Sends the colors that were sent to a worker on to others.
    fn send_on(&mut self, worker: usize) -> usize {
        if !self.shared.config.heuristics.steal {
            return 0;
        }
        let mut moved = 0;
        let sent = self.shared.remotes[worker].mailbox.take();
        while let Some(color) = sent.pop_front() {
            let home = self.home_for(&color);
            match home {
                Some(home) => {
                    color.set_home(self.shared.narrow(home));
                    self.shared.send(color);
                    moved += 1;
                }
                None => self.shared.send_back(color),
            }
        }
        moved
    }

    /// A worker for a color whose home does not come, if it may go to another: each of
    /// those that come in turn.
    fn home_for(&mut self, color: &OwnedColor) -> Option<usize> {
        if color.is_pinned() {
            return None;
        }
        let workers = self.workers.len();
        let first = self.next_home + 1;
        let mut others = (first..first + workers).map(|at| at % workers);
        self.next_home = others.find(|&worker| self.workers[worker].same == 0)?;
        Some(self.next_home)
    }
}
