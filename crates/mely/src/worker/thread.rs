//! The thread of a worker: steps until there is nothing to run, then sleeps.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr;
use std::sync::atomic::Ordering::Release;

use mely_sched::{StealQueue, Ticketed};

use super::{CallNumber, Step, Worker};
use crate::cell::Traits;
use crate::cell::origin::RuntimeNumber;
use crate::machine::affinity::Footing;
use crate::machine::lock_time::Untimed;
use crate::machine::panics::call_safely;
use crate::machine::probe;
use crate::machine::sync::Arc;
use crate::shared::ready::Ready;
use crate::shared::{ColorRef, Phase, Shared};

#[cfg(not(loom))]
thread_local! {
    /// The worker of this thread, while [`run_worker`] runs.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: Cell<*const Worker> = Cell::new(ptr::null());
}

/// Calls `work` with the worker of this thread, of whatever runtime, if it has one.
#[inline]
pub(crate) fn with_any_current<R>(work: impl FnOnce(Option<&Worker>) -> R) -> R {
    // A thread that is being torn down has no worker any more.
    let current = CURRENT.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: `run_worker` keeps the worker alive, on this very thread, for as long
    // as the pointer is there.
    work(unsafe { current.as_ref() })
}

/// Notes that an event of this runtime, if one is being run by this thread, was told that what
/// it awaits is not there yet.
pub(crate) fn note_awaits(runtime: RuntimeNumber) {
    with_any_current(|worker| {
        if let Some(worker) = worker.filter(|worker| worker.shared().number == runtime) {
            let counts = &worker.remote().counts;
            counts.awaits.set(counts.turns.get() + 1);
        }
    });
}

/// Notes that an event of this thread calls a color, whose answer it may await at once.
#[inline]
pub(crate) fn note_called(color: &ColorRef) -> CallNumber {
    with_any_current(|worker| worker.map_or_else(CallNumber::default, |w| w.note_called(color)))
}

/// The answer of this call, of this runtime, is awaited: the color may be run right here.
#[inline]
pub(crate) fn run_called(runtime: RuntimeNumber, call: CallNumber) {
    with_any_current(|worker| {
        if let Some(worker) = worker.filter(|worker| worker.shared().number == runtime) {
            worker.run_called(call);
        }
    });
}

/// Calls `work` with the worker of this thread, if it is one of this runtime.
#[inline]
pub(crate) fn with_current<R>(shared: &Arc<Shared>, work: impl FnOnce(Option<&Worker>) -> R) -> R {
    with_any_current(|worker| work(worker.filter(|worker| Arc::ptr_eq(worker.shared(), shared))))
}

/// A new color, made by the worker of this thread, if it has one. `traits` is told which
/// that is.
pub(crate) fn new_color(
    shared: &Arc<Shared>,
    traits: impl FnOnce(Option<usize>) -> Traits,
) -> ColorRef {
    with_current(shared, |worker| {
        let traits = traits(worker.map(Worker::index));
        let (pool, id) = match worker {
            Some(worker) => (Some(&worker.cells), worker.fresh_id()),
            None => (None, shared.color_id()),
        };
        ColorRef::new(pool, shared, id, traits)
    })
}

/// Gives the thread back the worker that it had.
struct GiveBack(*const Worker);

impl GiveBack {
    #[inline]
    fn after(worker: *const Worker) -> Self {
        Self(CURRENT.with(|current| current.replace(worker)))
    }
}

impl Drop for GiveBack {
    #[inline]
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.0));
    }
}

/// Runs a worker on this thread until the runtime stops.
pub(crate) fn run_worker(worker: &Worker) {
    let _give_back = GiveBack::after(worker);
    let work = || {
        while worker.shared.phase() < Phase::Stopped {
            if worker.step() == Step::Idle && !worker.finds_work() {
                worker.sleep();
            }
        }
    };
    until_no_panic(work);
    until_no_panic(|| worker.wind_down());
    until_no_panic(|| worker.shared.worker_ends());
}

/// What belongs to the program is called where its panics are caught. This is for the
/// place that was forgotten: a worker that ends would leave its colors waiting for ever.
fn until_no_panic(work: impl Fn()) {
    // A simulator and loom end what they search by panics of their own.
    if cfg!(any(loom, feature = "virtual")) {
        return work();
    }
    while !call_safely(&work) {}
}

impl Worker {
    /// Does something while this thread has no worker: where a simulator leaves one
    /// worker for another.
    #[cfg(feature = "virtual")]
    #[inline(always)]
    pub(crate) fn while_left<R>(work: impl FnOnce() -> R) -> R {
        let _give_back = GiveBack::after(ptr::null());
        work()
    }

    /// Looks at the descriptors before the worker lies down: on a server at work one of
    /// them is ready, and lying down and getting up, with who wakes it meanwhile, costs
    /// more than a look.
    fn finds_work(&self) -> bool {
        self.remote().driver.has_sources() && (self.looks() || self.gives_way())
    }

    /// Looks at descriptors, timers and what was sent; whether there is something to do.
    fn looks(&self) -> bool {
        let found = self.poll();
        let is_ready = || self.private_colors() > 0 || !self.pinned.is_empty();
        found || is_ready() || self.remote().mailbox.has_elements()
    }

    /// Lets others on this core run, if that has paid of late; whether there is something
    /// to do since. It is not lying down: nobody need wake it.
    fn gives_way(&self) -> bool {
        let mut yields = self.yields.get();
        let tries = self.shared.config.heuristics.learn && yields.try_now();
        let turn = || {
            self.remote().driver.give_way();
            self.looks()
        };
        let found = tries && yields.look(|| self.shared.clock.cycles(), turn);
        self.yields.set(yields);
        found
    }

    /// Sleeps until there may be something to run.
    ///
    /// The order is what makes sleeping safe: the mailbox is closed before the
    /// worker lies down, so who chooses it as a sleeper finds it closed and wakes
    /// it; and work is looked for once more after, so what was offered before the
    /// worker lay down is found. Nothing of the program's runs while it lies: what a
    /// destructor posted to this worker then, nobody would look for.
    pub(crate) fn sleep(&self) {
        let remote = self.remote();
        let running = self.shared.phase() == Phase::Running;
        self.look_at_core(Footing::lie_down);
        self.look_at_notes();
        self.fire_timers(running);
        if self.private_colors() > 0 || !self.pinned.is_empty() || remote.mailbox.close().is_err() {
            return;
        }
        probe::lie_down(true);
        remote.counts.ready_colors.set(0);
        let idle = &self.shared.idle;
        idle.lie_down(self.index, self.searching.replace(false));
        if self.shared.config.heuristics.learn {
            self.shared.remotes.iter().for_each(|r| r.touch_held());
        }
        // A true attempt, not a look: what is offered may be nothing that this worker
        // can take, and looking at it again and again would keep it awake.
        let stay = remote.offered() > 0 || self.shared.phase() == Phase::Stopped || self.steal();
        let now = self.shared.clock.now();
        let deadline = remote.timers.next_deadline();
        let timeout = deadline.map(|at| at.saturating_duration_since(now));
        let mut ready = self.ready_list.take();
        if !stay {
            remote.counts.parks.add(1);
            self.timed_park(|| remote.driver.wait(&mut ready, timeout));
        }
        remote.mailbox.open();
        self.searching.set(idle.get_up(self.index));
        probe::lie_down(false);
        self.shared.bell.ring();
        if self.searching.get() {
            remote.counts.wakes.add(1);
        }
        let running = self.shared.phase() == Phase::Running;
        self.dispatch(ready, running);
        self.fire_timers(running);
        let mut yields = self.yields.get();
        yields.work_begins(self.shared.clock.cycles());
        self.yields.set(yields);
    }

    /// Drops all that this worker holds, counted as abandoned.
    fn wind_down(&self) {
        let remote = self.remote();
        remote.busy_long.store(false, Release);
        drop(remote.mailbox.shut_down());
        self.abandon_events();
        while let (Some(held), _) = remote.claim_held(&mut Untimed, usize::MAX, u64::MAX) {
            self.abandon(held);
        }
        while let Some(bundle) = remote.with_offers(&mut Untimed, StealQueue::take_oldest) {
            self.abandon(bundle);
        }
        while let Some(bundle) = self.ready.with(|ready| ready.take_newest(usize::MAX)) {
            self.abandon(bundle);
        }
        while let Some(bundle) = self.pinned.take_newest(usize::MAX) {
            self.abandon(bundle);
        }
        remote.timers.cancel_all(true);
        self.finish_trace();
    }

    /// Drops colors, and counts their events.
    fn abandon(&self, colors: impl IntoIterator<Item = Ticketed<Ready>>) {
        for color in colors {
            if let Ready::Fresh(event) = color.into_color() {
                drop(self.make_fresh(event));
            }
        }
    }
}
