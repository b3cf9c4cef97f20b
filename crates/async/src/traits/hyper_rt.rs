//! What hyper asks of a runtime: streams, timers, and where to run futures.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Executor, Read, ReadBufCursor, Timer, Write};
use mely::Color;

use crate::stream::{Stream, StreamSocket};
use crate::time::{self, Spare};

impl<S: StreamSocket> Read for Stream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buf.remaining();
        self.poll_read_to(cx, room, |read| buf.put_slice(read))
    }
}

impl<S: StreamSocket> Write for Stream<S> {
    write_methods!(poll_shutdown);

    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// Hyper's timers, as events of the color that waits.
///
/// Where no timer can be set, a sleep of hyper's ends at once: a limit that cannot be
/// watched is taken as reached.
#[derive(Clone, Debug, Default)]
pub struct ColorTimer(Option<Spare>);

impl ColorTimer {
    /// Timers of whatever color waits.
    pub fn new() -> Self {
        Self(None)
    }

    /// The same for one connection, or whatever else is of one color: hyper waits for the
    /// head of each request anew, and the timer that it set for one is kept for the next.
    ///
    /// ```
    /// # use mely_async::ColorTimer;
    /// # use hyper::server::conn::http1;
    /// // For each connection.
    /// let mut builder = http1::Builder::new();
    /// builder.timer(ColorTimer::of_connection());
    /// ```
    pub fn of_connection() -> Self {
        Self(Some(Spare::default()))
    }
}

/// A sleep that cannot tell of errors.
struct HyperSleep {
    sleep: time::Sleep,
    spare: Option<Spare>,
}

impl Future for HyperSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.sleep).poll(cx).map(drop)
    }
}

impl hyper::rt::Sleep for HyperSleep {}

impl Drop for HyperSleep {
    fn drop(&mut self) {
        if let Some(spare) = &self.spare {
            spare.keep_that_of(&mut self.sleep);
        }
    }
}

impl Timer for ColorTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        self.sleep_until(time::after(Instant::now(), duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        let sleep = match &self.0 {
            Some(spare) => spare.sleep_until(deadline),
            None => time::sleep_until(deadline),
        };
        let spare = self.0.clone();
        Box::pin(HyperSleep { sleep, spare })
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn hyper::rt::Sleep>>, new_deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<HyperSleep>() {
            Some(mut sleep) => sleep.sleep.reset(new_deadline),
            None => *sleep = self.sleep_until(new_deadline),
        }
    }
}

/// Runs hyper's futures, such as the streams of HTTP/2, under a color: that of the event
/// which hands them over, and so of the connection; or always the same one.
#[derive(Clone, Debug, Default)]
pub struct ColorExecutor(Option<Color>);

impl ColorExecutor {
    /// Runs futures under the color that hands them over. Outside of any color they are
    /// dropped.
    pub fn new() -> Self {
        Self(None)
    }

    /// Runs futures under this color, whoever hands them over.
    pub fn of(color: Color) -> Self {
        Self(Some(color))
    }
}

impl<F> Executor<F> for ColorExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        if let Some(color) = self.0.clone().or_else(Color::current) {
            // Whoever wants its result has other ways to it.
            drop(color.spawn(future));
        }
    }
}
