//! The threads of a pool, and what waits for them.
//!
//! A thread is at work, or on the list of those that are idle; whoever has work takes the last
//! one off the list and unparks it. So a thread that finds itself on the list when its time is
//! over is wanted by nobody, and one that is not looks at the queue. That the last one is
//! taken, and not any, lets the others end where there is less to do than before.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, Thread};
use std::time::Instant;

use mely::{Budget, Share};
use rustix::process::getpid;
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use super::BlockingOptions;
use crate::wake::{drop_safely, lock};

/// A closure with whoever waits for its result: it does not panic, but when it is dropped.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// The place of a job in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

struct Queued {
    job: Job,
    /// Its share of the queue, which it gives back when it begins.
    room: Option<Share>,
}

/// Nothing of the program is called under its lock.
struct Queue {
    jobs: BTreeMap<Ticket, Queued>,
    next: Ticket,
    options: BlockingOptions,
    /// Those that are idle, and those at work.
    threads: usize,
    started: u64,
    idle: Vec<Thread>,
    has_ended: bool,
}

pub(super) struct Threads {
    queue: Mutex<Queue>,
    /// Of how many more closures may wait for a thread.
    room: Budget,
}

/// Why nothing can be queued.
pub(super) enum Refusal {
    Ended,
    NoThread(io::Error),
}

/// A place in the queue of a pool that has a thread, and has not ended.
pub(super) struct Place<'a>(MutexGuard<'a, Queue>);

impl Place<'_> {
    /// Queues a job, for a thread that is idle or for the first that will be.
    pub(super) fn put(mut self, job: Job, room: Option<Share>) -> Ticket {
        let ticket = self.0.next;
        self.0.next = Ticket(ticket.0 + 1);
        self.0.jobs.insert(ticket, Queued { job, room });
        let thread = self.0.idle.pop();
        drop(self);
        unpark(thread);
        ticket
    }
}

impl Threads {
    pub(super) fn new(options: BlockingOptions) -> Arc<Self> {
        Arc::new(Self {
            room: Budget::new(options.queue_max),
            queue: Mutex::new(Queue {
                jobs: BTreeMap::new(),
                next: Ticket(0),
                options,
                threads: 0,
                started: 0,
                idle: Vec::new(),
                has_ended: false,
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    pub(super) fn room(&self) -> &Budget {
        &self.room
    }

    pub(super) fn count(&self) -> usize {
        self.lock().threads
    }

    pub(super) fn queued(&self) -> usize {
        self.lock().jobs.len()
    }

    /// A place for a job; starts a thread for it, if none is idle.
    pub(super) fn place(self: &Arc<Self>) -> Result<Place<'_>, Refusal> {
        let mut queue = self.lock();
        if queue.has_ended {
            return Err(Refusal::Ended);
        }
        if queue.idle.is_empty() {
            let started = self.start_thread(&mut queue);
            // Those that are at work will come to it.
            if queue.threads == 0 {
                started.map_err(Refusal::NoThread)?;
            }
        }
        Ok(Place(queue))
    }

    /// Starts a thread, if there may be one more.
    fn start_thread(self: &Arc<Self>, queue: &mut Queue) -> io::Result<()> {
        if queue.threads >= queue.options.threads_max {
            return Ok(());
        }
        let name = format!("mely-block-{}", queue.started);
        let this = Arc::clone(self);
        thread::Builder::new()
            .name(name)
            .spawn(move || this.run())?;
        queue.threads += 1;
        queue.started += 1;
        Ok(())
    }

    /// Takes a job that has not begun out of the queue, and drops it.
    pub(super) fn take_back(&self, ticket: Ticket) {
        let queued = self.lock().jobs.remove(&ticket);
        drop_safely(queued);
    }

    pub(super) fn set_options(self: &Arc<Self>, options: BlockingOptions) {
        let mut queue = self.lock();
        let queue_max = options.queue_max;
        queue.options = options;
        // Idle ones count their time anew, or end where they are too many now.
        let idle = std::mem::take(&mut queue.idle);
        for _ in idle.len()..queue.jobs.len() {
            // Without more of them those that there are go on.
            let _ = self.start_thread(&mut queue);
        }
        drop(queue);
        idle.into_iter().for_each(|thread| unpark(Some(thread)));
        self.room.set_limit(queue_max);
    }

    /// Takes nothing more, and drops what has not begun; the threads end.
    pub(super) fn end(&self) {
        let mut queue = self.lock();
        queue.has_ended = true;
        let jobs = std::mem::take(&mut queue.jobs);
        let idle = std::mem::take(&mut queue.idle);
        drop(queue);
        idle.into_iter().for_each(|thread| unpark(Some(thread)));
        jobs.into_values().for_each(drop_safely);
    }

    /// What a thread does.
    fn run(self: Arc<Self>) {
        leave_core_of_worker();
        let mut queue = self.lock();
        while queue.threads <= queue.options.threads_max {
            if let Some((_, Queued { job, room })) = queue.jobs.pop_first() {
                drop(queue);
                // Who waits for room is the program's to wake.
                drop_safely(room);
                job();
                queue = self.lock();
                continue;
            }
            if queue.has_ended {
                break;
            }
            let is_wanted;
            (queue, is_wanted) = self.wait(queue);
            if !is_wanted {
                break;
            }
        }
        queue.threads -= 1;
        // What this one was to do is for another one.
        let other = match queue.jobs.is_empty() {
            true => None,
            false => queue.idle.pop(),
        };
        drop(queue);
        unpark(other);
    }

    /// Waits until somebody wants the calling thread, or nobody has for long enough.
    fn wait<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> (MutexGuard<'a, Queue>, bool) {
        let this = thread::current();
        let (id, keep_alive) = (this.id(), queue.options.keep_alive);
        let end = Instant::now().checked_add(keep_alive);
        queue.idle.push(this);
        loop {
            drop(queue);
            let left = |end: Instant| end.saturating_duration_since(Instant::now());
            thread::park_timeout(end.map_or(keep_alive, left));
            queue = self.lock();
            let Some(at) = queue.idle.iter().position(|thread| thread.id() == id) else {
                return (queue, true);
            };
            if end.is_some_and(|end| left(end).is_zero()) {
                queue.idle.remove(at);
                return (queue, false);
            }
        }
    }
}

fn unpark(thread: Option<Thread>) {
    if let Some(thread) = thread {
        thread.unpark();
    }
}

/// A thread runs where the one that started it may: a worker, perhaps, that is pinned to a
/// core. This one is to run wherever the process may.
fn leave_core_of_worker() {
    // Where the system does not tell, it stays where it is.
    if let Ok(cpus) = sched_getaffinity(Some(getpid())) {
        let _ = sched_setaffinity(None, &cpus);
    }
}
