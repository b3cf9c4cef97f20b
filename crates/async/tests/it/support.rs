//! What the tests share: bounds on waiting, runtimes, and processes of their own.

use std::io;
use std::panic::resume_unwind;
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, mpsc};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mely::{Handle, Runtime};
use mely_async::{TcpListener, TcpStream};

/// After how long without an end a test has failed: a bound, never a measure.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// After how long a wait inside a test has failed.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// Runs `body` on a thread of its own and fails if it does not end in time.
pub(crate) fn bounded<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _done = done;
        body()
    });
    if ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("did not end within {LIMIT:?}");
    }
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

pub(crate) fn runtime(workers: usize) -> Runtime {
    Runtime::builder()
        .workers(workers)
        .build()
        .expect("a runtime")
}

/// Runs what `future` makes of a runtime of two workers under a fresh color, to its end.
pub(crate) fn colored<F>(future: impl FnOnce(Handle) -> F + Send + 'static) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    bounded(move || {
        let rt = runtime(2);
        let future = future(Handle::clone(&rt));
        rt.new_color().spawn(future).wait().expect("it ends")
    })
}

/// Two ends of a TCP connection.
pub(crate) async fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let here = TcpStream::connect(listener.local_addr()?).await?;
    let (there, _) = listener.accept().await?;
    Ok((here, there))
}

/// Waits until `holds`, looking now and then; fails if it never does.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT;
    while !holds() {
        assert!(Instant::now() < end, "never came true: {what}");
        thread::sleep(Duration::from_micros(200));
    }
}

/// Counts how often it is woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl Wakes {
    pub(crate) fn waker() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Self::default());
        (Arc::clone(&wakes), Waker::from(wakes))
    }

    pub(crate) fn count(&self) -> u32 {
        self.0.load(Relaxed)
    }
}

/// Tells whether something has been dropped: what it gives is gone then.
pub(crate) fn dropped() -> (Arc<()>, impl Fn() -> bool) {
    let alive = Arc::new(());
    let watched = Arc::downgrade(&alive);
    (alive, move || watched.strong_count() == 0)
}

/// Runs `body` alone in a process: by calling this test again. `test` is its path.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var_os("MELY_ALONE").is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().expect("a test has a path"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("MELY_ALONE", "1")
        .output()
        .expect("the test starts itself");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{test} alone: {}\n{said}\n{complained}",
        output.status
    );
}

/// A panic that the panic hook does not hear of, to keep the tests' output clean.
pub(crate) fn silent_panic() -> ! {
    resume_unwind(Box::new("planted by a test"))
}

/// A stream of bytes that are all different from their neighbours.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}
