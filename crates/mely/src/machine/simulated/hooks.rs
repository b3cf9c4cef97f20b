//! What a simulator must be: the machine under the scheduler.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::machine::region::Access;

/// A machine whose cores run the workers of a simulation, all on one thread.
///
/// Each call is made on behalf of the core that is running; whatever takes time may
/// let other cores run before it returns.
pub trait Hooks {
    /// Memory is about to be touched: asked where the machine wants to be told of each
    /// access.
    fn access(&self, address: u64, bytes: usize, how: Access);

    /// The time of the core has passed its limit: another one may go on.
    fn give_way(&self);

    /// A handler computes.
    fn spend(&self, cycles: u64);

    /// The time since the simulation began.
    fn elapsed(&self) -> Duration;

    /// How many cycles a second has.
    fn cycles_per_second(&self) -> f64;

    /// Takes a lock, and waits while another core has it.
    fn lock(&self, address: u64);

    /// Takes a lock if that need not wait. Whether it was taken.
    fn try_lock(&self, address: u64) -> bool;

    /// A lock was given up. Lets no other core run.
    fn unlocked(&self, address: u64);

    /// How many locks the core that runs has.
    fn locks_held(&self) -> usize;

    /// A worker sleeps until it is woken, or so long.
    fn wait(&self, worker: usize, at_most: Option<Duration>);

    /// A worker is woken, or does not sleep the next time.
    fn wake(&self, worker: usize);

    /// Code outside of the workers waits so long, or until something has happened.
    fn pause(&self, time: Option<Duration>);
}

thread_local! {
    static HOOKS: RefCell<Option<Rc<dyn Hooks>>> = const { RefCell::new(None) };
}

/// Makes these the hooks of this thread; false if it has some.
pub(super) fn put(hooks: Rc<dyn Hooks>) -> bool {
    HOOKS.with(|installed| {
        let Ok(mut installed) = installed.try_borrow_mut() else {
            return false;
        };
        let is_free = installed.is_none();
        if is_free {
            *installed = Some(hooks);
        }
        is_free
    })
}

/// Takes the hooks of this thread away.
pub(super) fn take() -> Option<Rc<dyn Hooks>> {
    // The thread may be ending.
    let taken = HOOKS.try_with(|installed| installed.try_borrow_mut().ok()?.take());
    taken.ok().flatten()
}

/// Asks the machine of this thread, if it has one.
#[inline(always)]
pub(crate) fn ask<R>(question: impl FnOnce(&dyn Hooks) -> R) -> Option<R> {
    // Counted, not borrowed: a worker that is left for ever inside must not keep the
    // thread from another simulation.
    let hooks = HOOKS
        .try_with(|hooks| hooks.borrow().clone())
        .ok()
        .flatten();
    hooks.as_deref().map(question)
}

/// Tells the machine of this thread, if it has one.
#[inline(always)]
pub(crate) fn tell(what: impl FnOnce(&dyn Hooks)) {
    let _nobody = ask(what);
}

/// How many locks the core that runs has; none if there is no machine.
#[must_use]
pub fn locks_held() -> usize {
    ask(|hooks| hooks.locks_held()).unwrap_or(0)
}

/// Whether this thread has a machine.
pub(crate) fn are_there() -> bool {
    ask(|_| ()).is_some()
}

/// Lets time pass outside of the workers; false if there is no machine for that.
pub(crate) fn pause(time: Option<Duration>) -> bool {
    ask(|hooks| hooks.pause(time)).is_some()
}
