//! What colors need of the runtime that they are of.

use std::sync::Mutex;

use super::lives::Lives;
use super::origin::RuntimeNumber;
use super::{ColorCell, ColorRef};
use crate::memory::slab::{Block, InSlab, Rest, ThreadSlab};

/// A runtime, as its colors see it: they know neither workers nor what these share.
pub(crate) trait Realm: Send + Sync + Sized + 'static {
    /// Its number.
    fn number(&self) -> RuntimeNumber;

    /// What ends with it at the latest, of the colors that began on a worker.
    fn lives(&self, home: usize) -> &Lives;

    /// Counts an event that was dropped with its color.
    fn count_abandoned(&self, handler: &'static str);

    /// Tells who waits for it that a bounded color has room for one more event, or that it
    /// never will.
    fn room_came(&self, color: &ColorRef<Self>, is_over: bool);

    /// Keeps the cell of a color that has ended, if this thread is a worker of its runtime.
    fn keep_cell(cell: Block<ColorCell<Self>>);

    /// See [`InSlab::with_slab`].
    fn with_slab<W>(work: impl FnOnce(&ThreadSlab<ColorCell<Self>>) -> W) -> Option<W>;

    /// See [`InSlab::leftovers`].
    fn leftovers() -> &'static Mutex<Vec<Rest<ColorCell<Self>>>>;
}

impl<R: Realm> InSlab for ColorCell<R> {
    type Left = std::sync::atomic::AtomicUsize;

    #[inline]
    fn with_slab<W>(work: impl FnOnce(&ThreadSlab<Self>) -> W) -> Option<W> {
        R::with_slab(work)
    }

    fn leftovers() -> &'static Mutex<Vec<Rest<Self>>> {
        R::leftovers()
    }
}
