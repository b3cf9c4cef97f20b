//! Recording what a runtime does, for the simulator and for people.
//!
//! Each worker fills blocks of its own and hands them to one thread that writes them.
//! A worker never waits for that thread: when all its blocks are on their way, it
//! empties the one it has and counts what was in it as lost.
//!
//! A runtime that records runs every event by the careful way that new and long events
//! take in any runtime, and posts by the way of the policies with one queue of events;
//! one that does not has no instruction more in either.

mod file;
mod tracer;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mely_trace::{Block, Header, Writer};

pub(crate) use self::tracer::Tracer;
use crate::event::handler::HandlerId;

/// What a runtime has written of itself: see [`Builder::trace`](crate::Builder::trace).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceReport {
    /// The file.
    pub path: PathBuf,
    /// How many records are in it: posts and runs of events.
    pub records: u64,
    /// How many are not, because they came faster than they could be written. The file
    /// says where.
    pub lost: u64,
    /// The bytes of the file.
    pub bytes: u64,
    /// Why the rest could not be written, if something went wrong.
    pub error: Option<String>,
}

impl TraceReport {
    /// Of a file that takes longer than anybody wants to wait.
    fn unwritten(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            records: 0,
            lost: 0,
            bytes: 0,
            error: Some("the deadline passed while it was written".to_owned()),
        }
    }
}

/// How often is looked whether all is written.
const WRITTEN_POLL: Duration = Duration::from_micros(200);

/// What goes to the thread that writes.
enum Message {
    Block(Block),
    /// The last message: the time of the end.
    End(u64),
}

/// The recording of a runtime.
pub(crate) struct Recording {
    path: PathBuf,
    /// When it began, by the cycle counter.
    origin: u64,
    /// The tracers of the workers, until each takes its own.
    workers: Mutex<Vec<Option<Tracer>>>,
    outside: Mutex<Tracer>,
    to_file: Mutex<Sender<Message>>,
    file: Mutex<Option<JoinHandle<TraceReport>>>,
}

impl Recording {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// If it cannot be made, or the thread that writes it.
    pub(crate) fn start(path: &Path, header: &Header, origin: u64) -> io::Result<Self> {
        let writer = Writer::new(File::create(path)?, header)?;
        let (to_file, messages) = mpsc::channel();
        // Workers are fewer than a source's number can tell.
        let outside = header.workers() as u16;
        let (mut tracers, mut written) = (Vec::new(), Vec::new());
        for source in 0..=outside {
            let (empty, emptied) = mpsc::channel();
            written.push(empty);
            tracers.push(Tracer::new(
                source,
                outside,
                origin,
                to_file.clone(),
                emptied,
            ));
        }
        let Some(of_others) = tracers.pop() else {
            unreachable!("there is a source more than workers");
        };
        let to = path.to_owned();
        let write = move || file::write(&to, writer, &messages, &written);
        let file = std::thread::Builder::new()
            .name("mely-trace".to_owned())
            .spawn(write)?;
        Ok(Self {
            path: path.to_owned(),
            origin,
            workers: Mutex::new(tracers.into_iter().map(Some).collect()),
            outside: Mutex::new(of_others),
            to_file: Mutex::new(to_file),
            file: Mutex::new(Some(file)),
        })
    }

    /// The tracer of a worker; there is one.
    pub(crate) fn take_tracer(&self, worker: usize) -> Option<Tracer> {
        lock(&self.workers).get_mut(worker)?.take()
    }

    /// Records a post by a thread that is no worker of the runtime.
    #[cold]
    pub(crate) fn post_from_outside(&self, now: u64, handler: HandlerId, color: u64) {
        lock(&self.outside).post(handler, color, || now);
    }

    /// Ends the file, after the workers have ended; waits until all is written, or the
    /// deadline has passed.
    pub(crate) fn end(&self, now: u64, deadline: Instant) -> Option<TraceReport> {
        let file = lock(&self.file).take()?;
        lock(&self.outside).finish();
        let end = Message::End(now.saturating_sub(self.origin));
        // An error means that the thread has ended, which joining it tells.
        drop(lock(&self.to_file).send(end));
        while !file.is_finished() {
            if Instant::now() >= deadline {
                return Some(TraceReport::unwritten(&self.path));
            }
            std::thread::sleep(WRITTEN_POLL);
        }
        file.join().ok()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
