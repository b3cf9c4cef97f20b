//! What a thread knows of the files that it has served of late.
//!
//! Workers that all serve one file would all count its references and lock its shard of the
//! table for each request, and take turns at two cache lines. Each remembers some files
//! instead, with counts of its own.

use super::Lookup;
use super::entry::Entry;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Files that a thread remembers: one for each value of the lowest bits of the hash.
const FILES: usize = 64;

thread_local! {
    static KNOWN: RefCell<Vec<Option<Rc<Known>>>> = const { RefCell::new(Vec::new()) };
}

/// A file in memory, by a spelling of its path.
pub(crate) struct Known {
    site: u64,
    target: Box<[u8]>,
    entry: Arc<Entry>,
    lookup: Lookup,
}

impl Known {
    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    pub(crate) fn lookup(&self) -> &Lookup {
        &self.lookup
    }
}

/// What this thread knows of a path of a site.
pub(crate) fn find(site: u64, hash: u64, target: &[u8]) -> Option<Rc<Known>> {
    let same = |known: &&Rc<Known>| known.site == site && *known.target == *target;
    let find = |known: &RefCell<Vec<Option<Rc<Known>>>>| {
        let known = known.borrow();
        known.get(place(hash))?.as_ref().filter(same).cloned()
    };
    KNOWN.try_with(find).ok().flatten()
}

/// Remembers a file, instead of another.
pub(crate) fn remember(site: u64, hash: u64, target: &[u8], entry: &Arc<Entry>) {
    let file = Known {
        site,
        target: target.into(),
        entry: Arc::clone(entry),
        lookup: Lookup::Cached(Arc::clone(entry)),
    };
    set(hash, Some(Rc::new(file)));
}

/// Gives up what is not served any more.
pub(crate) fn forget(hash: u64) {
    set(hash, None);
}

fn set(hash: u64, file: Option<Rc<Known>>) {
    // A thread that ends remembers nothing.
    let _ = KNOWN.try_with(|known| {
        let mut known = known.borrow_mut();
        known.resize(FILES, None);
        known[place(hash)] = file;
    });
}

fn place(hash: u64) -> usize {
    hash as usize % FILES
}
