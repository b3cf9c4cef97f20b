//! What of a file is under way on a thread, and what became of it.

use std::io::{self, SeekFrom};

use crate::blocking::Blocking;
use crate::wake::drop_safely;

/// What became of an operation.
pub(super) enum Settled {
    Read(io::Result<usize>),
    Wrote(io::Result<()>),
    Sought(SeekFrom, io::Result<u64>),
    /// There was no thread for it.
    Failed(io::Error),
}

/// The operation that is under way.
pub(super) struct Ongoing {
    pub(super) is_write: bool,
    /// With what is read ahead from now on, where that is not what it was before.
    pub(super) blocking: Blocking<(Settled, Option<Vec<u8>>)>,
}

#[derive(Default)]
pub(super) struct Operation(pub(super) Option<Ongoing>);

impl Drop for Operation {
    fn drop(&mut self) {
        // What is written behind the program's back is written though nobody looks any more.
        match self.0.take() {
            Some(ongoing) if ongoing.is_write => ongoing.blocking.insist(),
            ongoing => drop_safely(ongoing),
        }
    }
}
