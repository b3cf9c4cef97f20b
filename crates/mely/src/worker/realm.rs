//! The runtime, as its colors see it.

use super::with_any_current;
use crate::cell::Realm;
use crate::cell::lives::Lives;
use crate::cell::origin::RuntimeNumber;
use crate::machine::sync::Arc;
use crate::memory::slab::{Block, slab_of};
use crate::shared::{ColorCell, ColorRef, Shared};

impl Realm for Shared {
    #[inline]
    fn number(&self) -> RuntimeNumber {
        self.number
    }

    #[inline]
    fn lives(&self, home: usize) -> &Lives {
        &self.remotes[home].lives
    }

    fn count_abandoned(&self, handler: &'static str) {
        Shared::count_abandoned(self, handler);
    }

    fn room_came(&self, color: &ColorRef, is_over: bool) {
        self.room_came_in(color, is_over);
    }

    fn keep_cell(cell: Block<ColorCell>) {
        with_any_current(|worker| {
            if let Some(worker) = worker.filter(|worker| Arc::ptr_eq(&worker.shared, cell.realm()))
            {
                worker.cells.keep(cell);
            }
        });
    }

    slab_of!(ColorCell);
}
