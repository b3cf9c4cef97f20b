//! What the tests share: bounds on waiting, gates, and processes of their own.

use std::fmt::Debug;
use std::io::{Read, Write};
use std::panic::resume_unwind;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use mely::{CallError, Handle, Runtime};

/// After how long without an end a test has failed: a bound, never a measure.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// After how long a wait inside a test has failed: before the test as a whole does,
/// so that it says what did not come.
pub(crate) const WAIT: Duration = Duration::from_secs(if cfg!(miri) { 300 } else { 12 });

/// How much of the randomised load is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stress {
    Short,
    Quick,
    Long,
}

impl Stress {
    pub(crate) fn get() -> Self {
        match std::env::var("MELY_STRESS").as_deref() {
            Ok("short") => Stress::Short,
            Ok("long") => Stress::Long,
            _ => Stress::Quick,
        }
    }

    /// Chooses by size.
    pub(crate) fn pick<T>(self, short: T, quick: T, long: T) -> T {
        match self {
            Stress::Short => short,
            Stress::Quick => quick,
            Stress::Long => long,
        }
    }
}

/// Runs `body` on a thread of its own and fails if it does not end in time.
pub(crate) fn bounded<R: Send + 'static>(
    what: &str,
    body: impl FnOnce() -> R + Send + 'static,
) -> R {
    let (done, ended) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _done = done;
        body()
    });
    if ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("{what}: did not end within {LIMIT:?}");
    }
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// A runtime with so many workers, and else the defaults.
pub(crate) fn runtime(workers: usize) -> Runtime {
    Runtime::builder()
        .workers(workers)
        .build()
        .expect("a runtime")
}

/// Waits until nothing is pending; fails with the metrics if that never comes.
pub(crate) fn settle(handle: &Handle) {
    let waited = handle.clone();
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        waited.wait_idle();
        let _ = done.send(());
    });
    if ended.recv_timeout(WAIT).is_err() {
        panic!("events stay pending: {:#?}", handle.metrics());
    }
}

/// Waits until `holds`, looking now and then; fails if it never does.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT;
    while !holds() {
        assert!(Instant::now() < end, "never came true: {what}");
        thread::sleep(Duration::from_micros(200));
    }
}

/// Something that handlers wait for and others open.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<u64>, Condvar)>);

impl Gate {
    /// Counts one more arrival.
    pub(crate) fn arrive(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.1.notify_all();
    }

    /// Blocks until `count` have arrived; `false` if they do not come in time.
    #[must_use]
    pub(crate) fn wait_for(&self, count: u64, limit: Duration) -> bool {
        let arrived = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .0
            .1
            .wait_timeout_while(arrived, limit, |arrived| *arrived < count);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Blocks until one has arrived, and fails if none does.
    pub(crate) fn pass(&self, what: &str) {
        assert!(self.wait_for(1, WAIT), "nobody opened the gate: {what}");
    }
}

/// Opens a gate when dropped: what a handler waits for ends even if the test fails.
pub(crate) struct OpenOnDrop(pub(crate) Gate);

impl Drop for OpenOnDrop {
    fn drop(&mut self) {
        self.0.arrive();
    }
}

/// A panic that the panic hook does not hear of, to keep the tests' output clean.
pub(crate) fn silent_panic() -> ! {
    resume_unwind(Box::new("planted by a test"))
}

/// What a call says that ended by [`silent_panic`].
pub(crate) fn panicked<R>() -> Result<R, CallError> {
    Err(CallError::Panicked("planted by a test".into()))
}

/// Runs `body` alone in a process: by calling this test again. `test` is its path.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var_os("MELY_ALONE").is_some() {
        return body();
    }
    let output = child(test).output().expect("the test starts itself");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{test} alone: {}\n{said}\n{complained}",
        output.status
    );
}

/// The command that runs one test in a process of its own.
pub(crate) fn child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test has a path"));
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("MELY_ALONE", "1");
    command
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor: polls one future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let end = Instant::now() + LIMIT;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        assert!(Instant::now() < end, "the future is never ready");
        thread::park_timeout(LIMIT);
    }
}

/// Fails unless a checker is content.
#[track_caller]
pub(crate) fn holds<E: Debug>(verdict: Result<(), E>) {
    if let Err(fault) = verdict {
        panic!("{fault:?}");
    }
}

/// Sends back what has come; drops the stream at its end.
pub(crate) fn echo<S: Read + Write>(slot: &mut Option<S>) {
    let mut bytes = [0; 16];
    while let Some(stream) = slot {
        match stream.read(&mut bytes) {
            Ok(count @ 1..) => stream.write_all(&bytes[..count]).expect("room for it"),
            Ok(0) => *slot = None,
            Err(_) => return,
        }
    }
}
