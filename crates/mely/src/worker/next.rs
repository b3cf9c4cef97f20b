//! Which color a worker runs next: of its private ones, the pinned, those it offers to
//! thieves and those that a long event held back, the one that is ready longest.

use mely_sched::{BUNDLE_COLORS, Bundle, CoreQueue, StealQueue, Ticketed};

use super::Worker;
use crate::shared::ready::Ready;

/// With fewer private colors than this a worker takes back a bundle that it offered:
/// as many as are fetched ahead, and a few turns.
const LOW_COLORS: usize = 12;

impl Worker {
    /// Takes the color that is ready longest.
    #[inline]
    pub(super) fn next_color(&self) -> Option<Ticketed<Ready>> {
        if self.fifo {
            return self.next_event();
        }
        let next = self.ready.with(|ready| {
            let is_next = self.is_next(ready.len(), ready.oldest_ticket());
            if is_next { ready.pop() } else { None }
        });
        next.or_else(|| self.next_color_of_all())
    }

    /// Whether the oldest of so many private colors comes before what is pinned, held
    /// or offered, and nothing need be taken back before it.
    #[inline]
    pub(super) fn is_next(&self, colors: usize, oldest: u64) -> bool {
        oldest < self.oldest_elsewhere() && (colors >= LOW_COLORS || !self.could_take_back())
    }

    /// The oldest ticket of what is pinned, held or offered.
    #[inline]
    pub(super) fn oldest_elsewhere(&self) -> u64 {
        self.pinned
            .oldest_ticket()
            .min(self.remote().oldest_offered())
            .min(self.oldest_held.get())
    }

    /// With fewer private colors than this a step must look for more before the next
    /// turn.
    pub(super) fn colors_min(&self) -> usize {
        match self.could_take_back() {
            true => LOW_COLORS,
            // The last one: then it looks beside it.
            false => 2,
        }
    }

    /// Whether there is a bundle, or something held, that could follow the last
    /// private colors.
    #[inline]
    fn could_take_back(&self) -> bool {
        self.oldest_held.get() != u64::MAX || self.remote().oldest_bundle() != u64::MAX
    }

    /// The oldest color, while there are also pinned, held or offered ones.
    fn next_color_of_all(&self) -> Option<Ticketed<Ready>> {
        self.ready.with(|ready| {
            if ready.len() < LOW_COLORS && self.could_take_back() {
                self.take_back(ready);
            }
            if self.oldest_held.get() < ready.oldest_ticket() {
                self.take_back_older_held(ready);
            }
            let remote = self.remote();
            let oldest = ready.oldest_ticket().min(remote.oldest_offered());
            if !self.pinned.is_empty() && self.pinned.oldest_ticket() < oldest {
                return self.pinned.pop();
            }
            if remote.offered() > 0 && oldest < ready.oldest_ticket() {
                let taken = self.with_offers(remote, StealQueue::take_oldest);
                if let Some(bundle) = taken {
                    ready.push_bundle_front(bundle);
                }
            }
            ready.pop()
        })
    }

    /// Takes back short colors, offered or held, before the last ones here are run, so
    /// that there is always something to fetch into the cache ahead.
    fn take_back(&self, ready: &CoreQueue<Ready>) {
        let newest = ready.newest_ticket();
        let (held, bundle) = (self.oldest_held.get(), self.remote().oldest_bundle());
        if newest >= held.min(bundle) {
            return;
        }
        match held < bundle {
            true => self.take_back_held(ready),
            false => self.take_back_a_bundle(ready),
        }
    }

    /// Takes back what is held, behind all private colors.
    fn take_back_held(&self, ready: &CoreQueue<Ready>) {
        let (claim, left) = self.claim_held(self.remote(), BUNDLE_COLORS, u64::MAX);
        self.oldest_held.set(left);
        if let Some(claim) = claim {
            claim.for_each(|color| ready.push(color));
        }
    }

    /// Takes back what is held and older than all private colors.
    fn take_back_older_held(&self, ready: &CoreQueue<Ready>) {
        let before = ready.oldest_ticket();
        let (claim, left) = self.claim_held(self.remote(), BUNDLE_COLORS, before);
        self.oldest_held.set(left);
        if let Some(claim) = claim {
            ready.push_bundle_front(Bundle::from_iter(claim));
        }
    }

    /// Takes back the oldest bundle of short colors.
    fn take_back_a_bundle(&self, ready: &CoreQueue<Ready>) {
        let taken = self.with_offers(self.remote(), StealQueue::take_oldest_bundle);
        match taken {
            Some(bundle) if bundle.oldest_ticket() > ready.newest_ticket() => {
                ready.push_bundle_back(bundle);
            }
            Some(bundle) => {
                self.with_offers(self.remote(), |offers| offers.push_bundle(bundle));
            }
            None => {}
        }
    }
}
