//! The part of a worker that other threads reach.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use mely_sched::{BUNDLE_COLORS, CoreQueue, StealQueue, Ticketed, Worthiness};

use crate::cell::lives::Lives;
use crate::cost::counters::WorkerCounts;
use crate::cost::durations::DurationTable;
use crate::cost::handlers::{HandlerTable, new_table};
use crate::cost::seats::Seats;
use crate::machine::affinity::PinnedTo;
use crate::machine::driver::Driver;
use crate::machine::lock_time::{Untimed, Waiter, lock_by};
use crate::machine::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Mutex, lock};
use crate::queue::claimable::{Claimable, Owner};
use crate::queue::held::{self, Claim, Giver, Held, Taker};
use crate::queue::inbox::Inbox;
use crate::shared::OwnedColor;
use crate::shared::fifo::Fifo;
use crate::shared::ready::Ready;
use crate::shared::timers::Timers;

/// What running a held color is taken to take, in cycles: they are short, and nobody has
/// summed up how short.
const HELD_COLOR_CYCLES: u64 = 128;

type HeldColor = Ticketed<Ready>;

/// The colors that are private to a worker, as it sees them.
pub(crate) type Private = Owner<CoreQueue<Ready>>;

/// The part of a worker that other threads reach.
#[repr(align(128))]
pub(crate) struct Remote {
    /// Colors that became ready elsewhere; closed while the worker sleeps.
    pub(crate) mailbox: Inbox<OwnedColor>,
    offers: Mutex<StealQueue<Ready>>,
    private: Arc<Claimable<CoreQueue<Ready>>>,
    owner: Mutex<Option<Private>>,
    /// Its events, under the policies that keep them in one queue.
    pub(crate) fifo: Fifo,
    /// What became ready while a long event holds the worker.
    held: Arc<Held<HeldColor>>,
    giver: Mutex<Option<Giver<HeldColor>>>,
    taker: Mutex<Taker<HeldColor>>,
    /// Colors in the steal queue, so that others need not lock to see there are none.
    offered: AtomicUsize,
    /// Their summed time left.
    offered_cycles: AtomicU64,
    /// The oldest ticket in the steal queue.
    oldest_offered: AtomicU64,
    /// The oldest ticket in its bundles.
    oldest_bundle: AtomicU64,
    /// The worker runs an event that may be long: thieves may take its mailbox.
    pub(crate) busy_long: AtomicBool,
    /// The worker has done nothing for a while although it has not lain down.
    pub(crate) is_late: AtomicBool,
    /// What ends with the runtime at the latest.
    pub(crate) lives: Lives,
    pub(crate) timers: Timers,
    pub(crate) counts: WorkerCounts,
    pub(crate) handlers: HandlerTable,
    pub(crate) durations: DurationTable,
    /// Why it does not count what it should.
    pub(crate) uncounted: OnceLock<String>,
    /// Noted events that it posted, while they wait.
    pub(crate) seats: Arc<Seats>,
    pub(crate) driver: Box<dyn Driver>,
    /// The OS number of the core that the worker is pinned to.
    pub(crate) cpu: PinnedTo,
}

impl Remote {
    /// What is private to the worker can be claimed if it `lends`.
    pub(crate) fn new(driver: Box<dyn Driver>, cpu: Option<usize>, lends: bool) -> Self {
        let owner = Owner::new(CoreQueue::new(), lends);
        let (held, giver, taker) = held::queue();
        Self {
            mailbox: Inbox::new_open(),
            offers: Mutex::new(StealQueue::new()),
            private: Arc::clone(owner.claimable()),
            owner: Mutex::new(Some(owner)),
            fifo: Fifo::new(),
            held,
            giver: Mutex::new(Some(giver)),
            taker: Mutex::new(taker),
            offered: AtomicUsize::new(0),
            offered_cycles: AtomicU64::new(0),
            oldest_offered: AtomicU64::new(u64::MAX),
            oldest_bundle: AtomicU64::new(u64::MAX),
            busy_long: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
            lives: Lives::new(),
            timers: Timers::new(),
            counts: WorkerCounts::default(),
            handlers: new_table(),
            durations: DurationTable::new(),
            uncounted: OnceLock::new(),
            seats: Arc::default(),
            driver,
            cpu: PinnedTo::new(cpu),
        }
    }

    /// The private colors, for the worker; once.
    pub(crate) fn take_private(&self) -> Option<Private> {
        lock(&self.owner).take()
    }

    /// Offers what is private to the worker, unless it touches that just now: for a worker
    /// that does not come. Whether there was something.
    pub(crate) fn offer_private(&self) -> bool {
        let Some(private) = self.private.claim() else {
            return false;
        };
        self.with_offers(&mut Untimed, |offers| offer_all(private.get(), offers))
    }

    /// The end of the queue of held colors that the worker fills; there is one.
    pub(crate) fn take_giver(&self) -> Option<Giver<HeldColor>> {
        lock(&self.giver).take()
    }

    /// See [`Held::touch`].
    pub(crate) fn touch_held(&self) {
        self.held.touch();
    }

    /// Works on the offers under their lock, and publishes how many there are after.
    pub(crate) fn with_offers<R>(
        &self,
        waiter: &mut impl Waiter,
        work: impl FnOnce(&mut StealQueue<Ready>) -> R,
    ) -> R {
        let mut queue = lock_by(waiter, &self.offers);
        let result = work(&mut queue);
        // Release pairs with the acquire of `offered`; who must not miss an offer
        // is ordered by the counts of `Idle` besides.
        self.offered.store(queue.len(), Release);
        self.offered_cycles.store(queue.time_left_cycles(), Release);
        self.oldest_offered.store(queue.oldest_ticket(), Release);
        self.oldest_bundle.store(queue.oldest_bundle(), Release);
        result
    }

    /// Claims the oldest of what is held: so many colors, and a bundle, at the most, with
    /// tickets that are older than `before`. Also the ticket of the first that is left;
    /// `u64::MAX` if none is.
    pub(crate) fn claim_held(
        &self,
        waiter: &mut impl Waiter,
        colors: usize,
        before: u64,
    ) -> (Option<Claim<HeldColor>>, u64) {
        let mut taker = lock_by(waiter, &self.taker);
        let claim = taker.claim(colors.min(BUNDLE_COLORS), |color| color.ticket() < before);
        let left = taker.first().map_or(u64::MAX, Ticketed::ticket);
        (claim, left)
    }

    /// How many colors are offered to thieves.
    #[inline]
    pub(crate) fn offered(&self) -> usize {
        self.offered.load(Acquire)
    }

    /// How many colors wait that became ready behind a long event.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// The oldest ticket among them; `u64::MAX` if there are none.
    #[inline]
    pub(crate) fn oldest_offered(&self) -> u64 {
        self.oldest_offered.load(Acquire)
    }

    /// The oldest ticket among the bundles of them; `u64::MAX` if there are none.
    #[inline]
    pub(crate) fn oldest_bundle(&self) -> u64 {
        self.oldest_bundle.load(Acquire)
    }

    /// Whether what is offered here takes longer than it would take to wake a worker for
    /// it.
    #[inline]
    pub(crate) fn offers_much(&self, worth: &Worthiness) -> bool {
        self.offered() > 0 && worth.worth_a_wake(self.offered_cycles.load(Acquire))
    }

    /// Whether what is here is worth waking a worker for: much, or anything behind
    /// a long event.
    #[inline]
    pub(crate) fn is_worth_a_wake(&self, worth: &Worthiness) -> bool {
        let held_colors = self.held.len();
        let offered = self.offered() > 0 || held_colors > 0;
        let offered_cycles = || self.offered_cycles.load(Acquire);
        let held_cycles = held_colors as u64 * HELD_COLOR_CYCLES;
        let much = || worth.worth_a_wake(offered_cycles().saturating_add(held_cycles));
        // Acquire: as below.
        let held = || self.busy_long.load(Acquire);
        let sent = || held() && self.mailbox.has_elements();
        (offered && (much() || held())) || sent() || self.fifo.can_be_stolen()
    }

    /// Whether what is here is worth a steal even for a worker that has to share its core.
    pub(crate) fn is_far_behind(&self, worth: &Worthiness) -> bool {
        // Relaxed: a thief that sees it late comes later.
        let late = || self.is_late.load(Relaxed) || self.busy_long.load(Relaxed);
        worth.worth_a_slice(self.offered_cycles.load(Acquire)) || late()
    }

    /// Whether a thief may find something here.
    #[inline]
    pub(crate) fn has_stealable_work(&self) -> bool {
        // Acquire pairs with the release in the worker before a long event.
        self.offered() > 0
            || self.held.len() > 0
            || (self.busy_long.load(Acquire) && self.mailbox.has_elements())
    }
}

/// Offers all of a worker's private colors to thieves. Whether there were any.
pub(crate) fn offer_all(private: &CoreQueue<Ready>, offers: &mut StealQueue<Ready>) -> bool {
    let mut any = false;
    while let Some(bundle) = private.take_oldest() {
        offers.push_bundle(bundle);
        any = true;
    }
    any
}
