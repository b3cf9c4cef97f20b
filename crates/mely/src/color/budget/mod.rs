//! Bounds on what waits, in bytes or in any other unit.

mod error;
mod line;
mod share;
mod take;
#[cfg(all(test, not(loom)))]
mod tests;

use core::fmt;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;

pub use self::error::BudgetError;
use self::line::Line;
pub use self::share::Share;
pub use self::take::Take;
use crate::machine::panics::call_safely;
use crate::machine::probe;
use crate::machine::sync::{Condvar, Mutex, MutexGuard, lock, unpoison};
use crate::worker;

/// A bound on what waits, or is in memory, at a time: in bytes, or in any other unit.
///
/// Whoever begins something takes a [`Share`] of the budget and lets it go along: in the
/// closure of an event, in a future, in a state. Where that is dropped, after it has run or
/// unrun, by a shutdown or by a panic, the share is given back. Clones are the same budget: of
/// one color, of several, or of the whole program.
///
/// While [`ColorOptions::capacity`](crate::ColorOptions::capacity) bounds how many events of
/// one color are pending, a budget bounds what they weigh, wherever they are:
///
/// ```
/// use mely::{Budget, BudgetError};
/// # let rt = mely::Runtime::builder().workers(1).build()?;
/// let in_flight = Budget::new(1024); // bytes
/// let received = rt.colored(0);
/// let frame = vec![0_u8; 1000];
/// let share = in_flight.try_take(frame.len())?;
/// received.post(move |bytes, _cx| {
///     *bytes += frame.len();
///     drop(share); // named here, so the closure has it
/// })?;
/// # rt.wait_idle();
/// assert_eq!(in_flight.used(), 0);
///
/// let share = in_flight.try_take(1000)?;
/// assert_eq!(in_flight.try_take(25).err(), Some(BudgetError::Full { asked: 25, left: 24 }));
/// drop(share);
/// assert!(in_flight.try_take(25).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Who would rather wait than be refused awaits [`take`](Self::take), in a task of Mely's or of
/// any other runtime, or blocks a thread of his own by [`blocking_take`](Self::blocking_take).
/// Who waits gets his share in the order in which he came, and nobody overtakes him: a large
/// ask is not starved by small ones.
///
/// A share that is never dropped (in a cycle of references, by [`core::mem::forget`]) is never
/// given back. Who waits for a share while he has one of the same budget may wait for ever, as
/// with any lock: take it at once, and [split](Share::split) it.
#[derive(Clone)]
pub struct Budget(Arc<Inner>);

#[cfg_attr(feature = "virtual", repr(align(64)))]
struct Inner(Mutex<Line>);

impl Budget {
    /// A budget of so much. What it counts is up to who takes of it.
    pub fn new(limit: usize) -> Self {
        let inner = Arc::new(Inner(Mutex::new(Line::new(limit))));
        probe::born(Arc::as_ptr(&inner));
        Self(inner)
    }

    /// Takes so much, if it is there and nobody waits for it.
    ///
    /// ```
    /// # use mely::Budget;
    /// let budget = Budget::new(10);
    /// let share = budget.try_take(10)?;
    /// assert!(budget.try_take(1).is_err());
    /// # drop(share);
    /// # Ok::<(), mely::BudgetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BudgetError::Full`] for now, [`BudgetError::TooLarge`] for good.
    pub fn try_take(&self, amount: usize) -> Result<Share, BudgetError> {
        self.lock().try_take(amount)?;
        Ok(Share::new(self, amount))
    }

    /// Waits until so much is there, in turn.
    ///
    /// Dropped, the future leaves the line, and gives back what it was given meanwhile.
    ///
    /// ```
    /// # use mely::Budget;
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let budget = Budget::new(10);
    /// let share = budget.try_take(7)?;
    /// let waits = rt.new_color().spawn(budget.take(5));
    /// drop(share);
    /// assert_eq!(waits.wait()??.amount(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BudgetError::TooLarge`], where the budget is less than that, or becomes so.
    pub fn take(&self, amount: usize) -> Take {
        Take::new(self, amount)
    }

    /// Blocks the calling thread until so much is there, in turn with those that await it.
    ///
    /// ```
    /// # use mely::Budget;
    /// let budget = Budget::new(10);
    /// assert_eq!(budget.blocking_take(10)?.amount(), 10);
    /// # Ok::<(), mely::BudgetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`take`](Self::take); [`BudgetError::InsideHandler`] in events and tasks of a
    /// runtime, also where it is there: who has the share may wait for the same worker.
    pub fn blocking_take(&self, amount: usize) -> Result<Share, BudgetError> {
        if worker::with_any_current(|worker| worker.is_some()) {
            return Err(BudgetError::InsideHandler);
        }
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        let mut take = pin!(self.take(amount));
        loop {
            if let Poll::Ready(taken) = take.as_mut().poll(&mut Context::from_waker(&waker)) {
                return taken;
            }
            bell.wait();
        }
    }

    /// How much is taken: by shares, and by those that waited and have not looked yet.
    ///
    /// ```
    /// # use mely::Budget;
    /// let budget = Budget::new(10);
    /// let _share = budget.try_take(4)?;
    /// assert_eq!((budget.used(), budget.limit()), (4, 10));
    /// # Ok::<(), mely::BudgetError>(())
    /// ```
    pub fn used(&self) -> usize {
        self.lock().used()
    }

    /// How much there is in all.
    pub fn limit(&self) -> usize {
        self.lock().limit()
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    /// Sets how much there is in all, and lets in who waits for no more than that; who waits
    /// for more is told. What is taken stays so: below it, nobody gets anything until enough is
    /// given back.
    ///
    /// ```
    /// # use mely::{Budget, BudgetError};
    /// let budget = Budget::new(10);
    /// let share = budget.try_take(8)?;
    /// budget.set_limit(5);
    /// assert_eq!(budget.try_take(8).err(), Some(BudgetError::TooLarge { asked: 8, limit: 5 }));
    /// assert_eq!(budget.try_take(1).err(), Some(BudgetError::Full { asked: 1, left: 0 }));
    /// # drop(share);
    /// # Ok::<(), BudgetError>(())
    /// ```
    pub fn set_limit(&self, limit: usize) {
        let refused = self.lock().set_limit(limit);
        for waker in refused {
            call_safely(|| waker.wake());
        }
        self.let_in(None);
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        lock(&self.0.0)
    }

    fn give_back(&self, amount: usize) {
        let next = self.lock().give_back(amount);
        self.let_in(next);
    }

    /// Wakes who has been let in, and lets in whoever else there is room for. One at a time:
    /// a waker, which is the program's, may take long, and others let in meanwhile, too.
    fn let_in(&self, mut next: Option<Waker>) {
        while let Some(waker) = next.take().or_else(|| self.lock().let_in()) {
            call_safely(|| waker.wake());
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.lock();
        f.debug_struct("Budget")
            .field("limit", &line.limit())
            .field("used", &line.used())
            .field("waiting", &line.waiting())
            .finish()
    }
}

/// Wakes a thread that waits.
struct Bell {
    rung: Mutex<bool>,
    rings: Condvar,
}

impl Default for Bell {
    fn default() -> Self {
        Self {
            rung: Mutex::new(false),
            rings: Condvar::new(),
        }
    }
}

impl Bell {
    fn wait(&self) {
        let mut rung = lock(&self.rung);
        while !*rung {
            rung = unpoison(self.rings.wait(rung));
        }
        *rung = false;
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *lock(&self.rung) = true;
        self.rings.notify_all();
    }
}
