//! One timer that a future waits for.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mely::{Color, Handler, Timer};

use super::after;
use crate::error::Error;
use crate::wake::{drop_safely, lock, wake_safely};

/// The event that ends a sleep.
static SLEEP: Handler = Handler::new("Sleep");

/// What the event of a timer and the sleep share.
enum Alarm {
    Waits(Option<Waker>),
    /// The time has come.
    Rang,
    /// The event was dropped: there will be none.
    Lost,
}

type SharedAlarm = Arc<Mutex<Alarm>>;

/// Ends the wait of a sleep, once: also where the runtime drops the event.
struct Ring(Option<SharedAlarm>);

impl Ring {
    fn ring(mut self) {
        if let Some(waker) = self.end(Alarm::Rang) {
            waker.wake();
        }
    }

    fn end(&mut self, how: Alarm) -> Option<Waker> {
        let alarm = self.0.take()?;
        let before = std::mem::replace(&mut *lock(&alarm), how);
        match before {
            Alarm::Waits(waker) => waker,
            Alarm::Rang | Alarm::Lost => None,
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let waker = self.end(Alarm::Lost);
        wake_safely(waker);
    }
}

/// A timer that is set.
struct Armed {
    at: Instant,
    color: Color,
    timer: Timer,
    alarm: SharedAlarm,
}

impl Armed {
    fn new(at: Instant) -> Result<Self, Error> {
        let color = Color::current().ok_or(Error::OutsideColor)?;
        let alarm = Arc::new(Mutex::new(Alarm::Waits(None)));
        let ring = Ring(Some(Arc::clone(&alarm)));
        let timer = color
            .with_handler(&SLEEP)
            .post_at(at, move |(), _cx| ring.ring());
        Ok(Self {
            at,
            color,
            timer,
            alarm,
        })
    }

    /// Waits for the event.
    fn poll(&self, waker: &Waker) -> Poll<Fate> {
        let waker = waker.clone();
        let mut alarm = lock(&self.alarm);
        match &mut *alarm {
            Alarm::Waits(place) => {
                let before = place.replace(waker);
                drop(alarm);
                drop_safely(before);
                Poll::Pending
            }
            Alarm::Rang => Poll::Ready(Fate::Rang),
            Alarm::Lost => Poll::Ready(Fate::Lost),
        }
    }
}

/// What has become of a timer.
enum Fate {
    Rang,
    Lost,
}

impl Drop for Armed {
    fn drop(&mut self) {
        // Who drops it is not woken by the event that goes with it.
        let before = std::mem::replace(&mut *lock(&self.alarm), Alarm::Lost);
        self.timer.cancel();
        if let Alarm::Waits(waker) = before {
            drop_safely(waker);
        }
    }
}

/// A future that is ready once its time has come ([`sleep`], [`sleep_until`]).
///
/// Its timer is an event of the color that polls it first, and is cancelled with it. It may
/// be polled under other colors after that. A shutdown cancels the timers of its runtime: a
/// sleep that is set then never ends, and is dropped with its task.
///
/// # Errors
///
/// [`Error::OutsideColor`] where it is polled first outside of any color,
/// [`Error::Refused`] where the runtime sets no timer.
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    deadline: Instant,
    armed: Option<Armed>,
    /// No timer was set for it, which its next poll tells.
    refused: bool,
}

/// Waits for so long: never less, and more by what the core is busy with.
///
/// ```
/// use std::time::Duration;
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let slept = rt.new_color().spawn(mely_async::sleep(Duration::from_millis(1)));
/// assert_eq!(slept.wait()?, Ok(()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(after(Instant::now(), duration))
}

/// Waits until a time: never less, and more by what the core is busy with.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep {
        deadline,
        armed: None,
        refused: false,
    }
}

impl Sleep {
    /// When it ends.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether its time has come.
    pub fn is_elapsed(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Waits until another time. To a later one costs nothing: the timer that is set goes
    /// on, and is set anew once it has fired too early. It must be polled again.
    pub fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        if self.armed.as_ref().is_some_and(|armed| armed.at > deadline) {
            self.armed = None;
        }
    }
}

impl Future for Sleep {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if std::mem::take(&mut self.refused) {
            return Poll::Ready(Err(Error::Refused));
        }
        loop {
            let (armed, is_new) = match self.armed.take() {
                Some(armed) => (armed, false),
                None if self.is_elapsed() => return Poll::Ready(Ok(())),
                None => (Armed::new(self.deadline)?, true),
            };
            match armed.poll(cx.waker()) {
                Poll::Ready(Fate::Rang) if armed.at >= self.deadline => {
                    return Poll::Ready(Ok(()));
                }
                // It was reset meanwhile.
                Poll::Ready(Fate::Rang) => {}
                // Who tries again at once, whatever the error, lets others run in between.
                Poll::Ready(Fate::Lost) if is_new => {
                    self.refused = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                // Its runtime has ended; that of the color that polls now may go on.
                Poll::Ready(Fate::Lost) if !armed.color.is_current() => {}
                Poll::Pending | Poll::Ready(Fate::Lost) => {
                    self.armed = Some(armed);
                    return Poll::Pending;
                }
            }
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline)
            .field("armed", &self.armed.is_some())
            .finish()
    }
}
