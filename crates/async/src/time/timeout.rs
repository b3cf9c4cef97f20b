//! Futures that must be in time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::{Sleep, sleep, sleep_until};
use crate::error::Error;

/// Waits for `future`, for so long at the most; drops it if it is late.
///
/// ```
/// use std::time::Duration;
/// use mely_async::{Error, timeout};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let late = rt.new_color().spawn(async {
///     timeout(Duration::from_millis(1), std::future::pending::<()>()).await
/// });
/// assert_eq!(late.wait()?, Err(Error::Elapsed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Elapsed`] if it is late; what [`Sleep`] says, if it must wait.
pub fn timeout<F: Future>(
    duration: Duration,
    future: F,
) -> impl Future<Output = Result<F::Output, Error>> {
    within(sleep(duration), future)
}

/// Waits for `future` until `deadline` at the most. See [`timeout`].
///
/// # Errors
///
/// As there.
pub fn timeout_at<F: Future>(
    deadline: Instant,
    future: F,
) -> impl Future<Output = Result<F::Output, Error>> {
    within(sleep_until(deadline), future)
}

async fn within<F: Future>(mut sleep: Sleep, future: F) -> Result<F::Output, Error> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        let slept = Pin::new(&mut sleep).poll(cx);
        slept.map(|slept| Err(slept.err().unwrap_or(Error::Elapsed)))
    })
    .await
}
