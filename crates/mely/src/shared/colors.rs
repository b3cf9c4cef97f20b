//! The colors that the runtime itself keeps alive, for its life or a little longer.

use super::Shared;
use crate::cell::{ColorRef, Traits, UNBOUNDED};
use crate::passes;
use crate::sync::{Arc, unpoison};

impl Shared {
    /// The color with a small number, which lives as long as the runtime. As in
    /// the papers, numbers are spread over the cores by their remainder.
    pub(crate) fn small_color(self: &Arc<Self>, number: u16) -> ColorRef {
        let mut small = unpoison(self.small.lock());
        let make = || {
            let home = usize::from(number) % self.remotes.len();
            let traits = Traits {
                // As Libasync-smp does (seed 002, section 3.3, footnote).
                pinned: number == 0 && self.has_fifos(),
                ..self.default_traits(home)
            };
            ColorRef::new(self, u64::from(number), traits)
        };
        match &mut *small {
            Some(small) => small.entry(number).or_insert_with(make).clone(),
            None => make(),
        }
    }

    /// Makes the pinned color of each worker.
    pub(crate) fn make_system_colors(self: &Arc<Self>) {
        let mut system = unpoison(self.system.lock());
        system.extend((0..self.remotes.len()).map(|home| {
            let traits = Traits {
                pinned: true,
                capacity: UNBOUNDED,
                ..self.default_traits(home)
            };
            ColorRef::new(self, self.next_color_id(), traits)
        }));
    }

    /// The pinned color of a worker; `None` once the runtime has ended.
    pub(crate) fn system_color(&self, worker: usize) -> Option<ColorRef> {
        unpoison(self.system.lock()).get(worker).cloned()
    }

    /// Lets go of the colors that the runtime itself keeps alive.
    pub(crate) fn forget_colors(&self) {
        let system = std::mem::take(&mut *unpoison(self.system.lock()));
        let small = unpoison(self.small.lock()).take();
        let watch = unpoison(self.single_watch.lock()).take();
        drop((system, small, watch));
        let waiting = self.waiting.take(&self.remotes, true);
        waiting.into_iter().for_each(ColorRef::end_now);
        self.free_cells.clear();
    }

    /// Whether no outbox can hold a color to which the caller has the last counted
    /// reference.
    #[inline]
    pub(crate) fn nobody_passes(&self) -> bool {
        passes::nobody_passes(&self.remotes)
    }

    /// Keeps the last reference to a color that an outbox may hold.
    #[cold]
    pub(crate) fn end_later(&self, color: ColorRef) {
        self.waiting.keep(color, &self.remotes);
        self.end_waiting_colors();
    }

    /// Ends the colors that had to wait for an outbox and need not any more.
    #[inline]
    pub(crate) fn end_waiting_colors(&self) {
        if self.waiting.any() {
            let ready = self.waiting.take(&self.remotes, false);
            ready.into_iter().for_each(ColorRef::end_now);
        }
    }
}
