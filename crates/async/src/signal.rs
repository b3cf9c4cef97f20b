//! Signals that the process gets, to be awaited.
//!
//! ```
//! use std::time::Duration;
//! use mely_async::{TcpListener, signal};
//! # fn ask_me_to_end() {
//! #     rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM).unwrap();
//! # }
//! let rt = mely::Runtime::builder().workers(2).build()?;
//! let asked_to_end = signal::terminated(&rt)?; // caught from now on
//! let serving = TcpListener::bind("127.0.0.1:0")?.serve(&rt, |mut stream, _peer| async move {
//!     stream.write_all(b"hello").await
//! });
//! # ask_me_to_end();
//! asked_to_end.wait()?;
//! serving.stop();
//! let _late = serving.wait_timeout(Duration::from_secs(1));
//! rt.shutdown(Duration::from_secs(1))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

pub use mely::signals::{SIGHUP, SIGINT, SIGTERM};
use mely::{CallError, Handle};

use crate::error::Error;
use crate::wake::{drop_safely, lock, wake_safely};

/// What has arrived, and who waits.
#[derive(Default)]
struct Arrived {
    /// A bit for each number: Linux has 64, from 1 on.
    bits: u64,
    /// Nothing is told any more: the runtime has ended.
    ended: bool,
    waker: Option<Waker>,
}

impl Arrived {
    fn take(&mut self) -> Option<i32> {
        let lowest = self.bits.trailing_zeros();
        self.bits &= self.bits.wrapping_sub(1);
        (lowest < u64::BITS).then(|| lowest as i32 + 1)
    }
}

/// The state of the color that is told.
struct Teller(Arc<Mutex<Arrived>>);

impl Teller {
    fn tell(&self, note: impl FnOnce(&mut Arrived)) {
        let mut arrived = lock(&self.0);
        note(&mut arrived);
        let waker = arrived.waker.take();
        drop(arrived);
        wake_safely(waker);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.tell(|arrived| arrived.ended = true);
    }
}

/// Signals that arrive, one after the other ([`signals`]).
pub struct Signals {
    arrived: Arc<Mutex<Arrived>>,
    handle: Handle,
    _watch: mely::signals::Signals,
}

/// Catches the signals of these numbers from now on, as events of a runtime. Their default
/// action is off for good, also once nobody waits for them any more.
///
/// ```
/// use mely_async::signal::{self, SIGHUP};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let mut reloads = signal::signals(&rt, &[SIGHUP])?;
/// let served = rt.new_color().spawn(async move { reloads.next().await });
/// # rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP)?;
/// assert_eq!(served.wait()?, Some(SIGHUP));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As for [`mely::signals::Signals::watch`].
pub fn signals(handle: &Handle, numbers: &[i32]) -> io::Result<Signals> {
    let arrived = Arc::new(Mutex::new(Arrived::default()));
    let teller = handle.colored(Teller(Arc::clone(&arrived)));
    let tell = |teller: &mut Teller, _: &mut mely::Context<'_, Teller>, number: i32| {
        teller.tell(|arrived| arrived.bits |= 1 << (number - 1));
    };
    Ok(Signals {
        arrived,
        handle: handle.clone(),
        _watch: mely::signals::Signals::watch(numbers, &teller, tell)?,
    })
}

/// Catches SIGTERM and SIGINT (Ctrl-C) from now on: what asks a server to end.
///
/// See the [module](self) for a whole program.
///
/// # Errors
///
/// As for [`signals`].
pub fn terminated(handle: &Handle) -> io::Result<Terminated> {
    signals(handle, &[SIGTERM, SIGINT]).map(Terminated)
}

impl Signals {
    /// Waits for the next one: its number, or `None` once the runtime has ended. It may be
    /// awaited anywhere. Several of one number that arrive meanwhile may be one.
    pub async fn next(&mut self) -> Option<i32> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for what [`next`](Self::next) gives.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<i32>> {
        let waker = cx.waker().clone();
        let mut arrived = lock(&self.arrived);
        let (poll, unused) = match arrived.take() {
            Some(number) => (Poll::Ready(Some(number)), Some(waker)),
            None if arrived.ended => (Poll::Ready(None), Some(waker)),
            None => (Poll::Pending, arrived.waker.replace(waker)),
        };
        drop(arrived);
        drop_safely(unused);
        poll
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signals").finish_non_exhaustive()
    }
}

/// Waits until the process is asked to end ([`terminated`]). It may be awaited anywhere, and
/// gives the number of the signal.
///
/// # Errors
///
/// [`Error::Ended`] where its runtime has ended first.
#[derive(Debug)]
#[must_use = "the signals are caught, and somebody should end the program"]
pub struct Terminated(Signals);

impl Terminated {
    /// Blocks the calling thread until the process is asked to end: for `main`.
    ///
    /// # Errors
    ///
    /// As when awaited, and inside of a handler of the same runtime.
    pub fn wait(self) -> io::Result<i32> {
        let color = self.0.handle.new_color();
        match color.spawn(self).wait() {
            Ok(arrived) => arrived,
            // Nobody but the end of the runtime has refused or dropped it.
            Err(CallError::Closed | CallError::Dropped) => Err(Error::Ended.into()),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

impl Future for Terminated {
    type Output = io::Result<i32>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let next = self.0.poll_next(cx);
        next.map(|number| number.ok_or_else(|| Error::Ended.into()))
    }
}
