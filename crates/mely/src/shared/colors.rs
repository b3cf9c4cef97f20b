//! The colors that the runtime itself keeps alive, for its life or a little longer.

use std::sync::atomic::Ordering::AcqRel;

use super::{ColorRef, Shared};
use crate::cell::Traits;
use crate::machine::driver::Sources;
use crate::machine::panics::drop_safely;
use crate::machine::sync::{Arc, unpoison};

/// The number of the color that all readiness goes through where there is a single
/// reactor.
pub(crate) const POLL_COLOR: u16 = 0;

impl Shared {
    /// The color with a small number, which lives as long as the runtime. As in
    /// the papers, numbers are spread over the cores by their remainder.
    pub(crate) fn small_color(self: &Arc<Self>, number: u16) -> ColorRef {
        let mut small = unpoison(self.small.lock());
        let make = || {
            let home = usize::from(number) % self.remotes.len();
            let traits = Traits {
                // As Libasync-smp does (*Vol de tâches*, section 3.3, footnote).
                pinned: number == 0 && self.has_fifos(),
                ..self.default_traits(home)
            };
            ColorRef::new(None, self, u64::from(number), traits)
        };
        match &mut *small {
            Some(small) => small.entry(number).or_insert_with(make).clone(),
            None => make(),
        }
    }

    /// One worker has ended. The last one ends what is left: no event will run any more.
    pub(crate) fn worker_ends(&self) {
        // AcqRel: the last one comes after all that the others did.
        if self.workers_left.fetch_sub(1, AcqRel) == 1 {
            self.end();
        }
    }

    /// Ends what would else keep itself alive: colors in their own states, watches in the
    /// state that they post to, the colors that the runtime itself keeps.
    fn end(&self) {
        let small = unpoison(self.small.lock()).take();
        let watch = unpoison(self.single_watch.lock()).take();
        drop_safely((small, watch));
        self.remotes.iter().for_each(|remote| remote.lives.end());
        let sources = self.remotes.iter().filter_map(|r| r.driver.sources());
        sources.chain(self.single()).for_each(Sources::clear);
        self.free_cells.clear();
    }
}
