//! What a simulator must be: the machine under the scheduler.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::meter::{self, Tariff};
use crate::machine::region::Access;

/// Work of the scheduler that takes time besides the memory that it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// An event is made and put into a queue.
    Post,
    /// An event is taken from a queue and called.
    Event,
    /// A turn of a color begins.
    Turn,
    /// A thief looks at a victim that may have something.
    Steal,
    /// A thief follows one link of the list of events of a core, and reads the color
    /// of the event.
    Scan,
}

impl Work {
    /// How many kinds there are.
    pub const KINDS: usize = Work::Scan as usize + 1;
}

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

/// As long as this lives, what the workers of this thread do goes to a simulator.
#[derive(Debug)]
pub struct Installed(());

/// Makes `hooks` the machine of this thread, on which things take what `tariff` says;
/// `None` if it has one already.
pub fn install(hooks: Rc<dyn Hooks>, tariff: Tariff) -> Option<Installed> {
    HOOKS.with(|installed| {
        let mut installed = installed.try_borrow_mut().ok()?;
        if installed.is_some() {
            return None;
        }
        *installed = Some(hooks);
        meter::begin(tariff);
        Some(Installed(()))
    })
}

impl Drop for Installed {
    fn drop(&mut self) {
        meter::end();
        let gone = HOOKS.try_with(|installed| {
            installed
                .try_borrow_mut()
                .ok()
                .and_then(|mut hooks| hooks.take())
        });
        drop(gone);
    }
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

/// Whether this thread has a machine.
pub(crate) fn are_there() -> bool {
    ask(|_| ()).is_some()
}

/// Lets time pass outside of the workers; false if there is no machine for that.
pub(crate) fn pause(time: Option<Duration>) -> bool {
    ask(|hooks| hooks.pause(time)).is_some()
}
