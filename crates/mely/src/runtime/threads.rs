//! The threads of a runtime, and their whole end: what the program keeps in thread-local
//! storage is dropped after the thread's own function has returned, and may take long.

use core::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::{Builder, JoinHandle, ThreadId};

thread_local! {
    /// The first thing that a thread has, and so the last that it drops.
    static LAST: Cell<Option<Last>> = const { Cell::new(None) };
}

struct Last(Arc<AtomicBool>);

impl Drop for Last {
    fn drop(&mut self) {
        // Release: who sees it joins the thread, which is over.
        self.0.store(true, Release);
    }
}

/// A thread.
pub(crate) struct Thread {
    handle: JoinHandle<()>,
    is_over: Arc<AtomicBool>,
}

impl Thread {
    pub(crate) fn start(name: String, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let last = Last(Arc::clone(&is_over));
        let begin = move || {
            LAST.set(Some(last));
            work();
        };
        let handle = Builder::new().name(name).spawn(begin)?;
        Ok(Self { handle, is_over })
    }

    /// Whether joining it takes no time: also what was local to it is dropped.
    pub(crate) fn is_over(&self) -> bool {
        // Acquire: see `Last`.
        self.is_over.load(Acquire)
    }

    pub(crate) fn id(&self) -> ThreadId {
        self.handle.thread().id()
    }

    pub(crate) fn join(self) {
        // Workers catch the panics of the program; their own are a bug of ours, reported by
        // the panic hook already.
        drop(self.handle.join());
    }
}
