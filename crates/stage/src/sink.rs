//! Where events go in.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::error::{Refusal, Refused};
use crate::shared::gate::Downstream;
use crate::shared::{Place, Shared, Turnstile};

/// The way into a stage, to be cloned and sent anywhere.
///
/// It may outlive the stage and the runtime: offers are refused then.
///
/// ```
/// use mely_stage::{Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let log = Manager::new(&rt).create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
/// let sink = log.sink();
/// assert_eq!(sink.name(), "log");
/// sink.offer(7)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sink<E: Send + 'static> {
    shared: Arc<Shared<E>>,
}

impl<E: Send + 'static> Sink<E> {
    pub(crate) fn new(shared: &Arc<Shared<E>>) -> Self {
        Self {
            shared: Arc::clone(shared),
        }
    }

    pub(crate) fn downstream(&self) -> Arc<dyn Downstream> {
        Arc::clone(&self.shared) as Arc<dyn Downstream>
    }

    /// The name of the stage.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Offers an event; never blocks.
    ///
    /// Order: events of one key that one thread offers are handled in that order, unless the
    /// stage [reorders](crate::StageOptions::urgency) its queue.
    ///
    /// # Errors
    ///
    /// The event is given back with the reason: [`Refusal::Full`], what a policy of admission
    /// says, or [`Refusal::Closed`]; [`Refusal::Clogged`] where the stage is full because it is held
    /// by one that it [feeds](crate::StageOptions::feeds).
    ///
    /// # Panics
    ///
    /// When one of the stage's functions of events does; the event is dropped and not counted.
    pub fn offer(&self, event: E) -> Result<(), Refused<E>> {
        self.shared.offer(event)
    }

    /// Offers an event; one that is refused is given to the stage's hook, or dropped. Whether it
    /// was accepted.
    ///
    /// # Panics
    ///
    /// As [`offer`](Self::offer).
    pub fn offer_or_shed(&self, event: E) -> bool {
        self.shared.offer_or_shed(event)
    }

    /// Reserves a place for an event, of which key and class are asked now, and admission too.
    ///
    /// ```
    /// use mely_stage::{Manager, Refusal, StageOptions, each};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let one = StageOptions::new().capacity(1);
    /// let log = Manager::new(&rt).create("log", one, |_| each(|_: u32| ()))?;
    /// let place = log.sink().reserve(&7)?;
    /// assert_eq!(log.sink().reserve(&8).err(), Some(Refusal::Full));
    /// drop(place); // gives the room back
    /// log.sink().reserve(&8)?.fill(8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Why there is no place.
    ///
    /// # Panics
    ///
    /// As [`offer`](Self::offer).
    pub fn reserve(&self, event: &E) -> Result<Reservation<E>, Refusal> {
        self.shared.reserve(event).map(Reservation)
    }

    /// Waits until there is room, or never will be again: a future for any async runtime.
    ///
    /// Those who wait are woken in the order in which they came, as many as there is room for;
    /// others may be faster to use it.
    ///
    /// ```
    /// use mely_stage::{Manager, StageOptions, each};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let log = Manager::new(&rt).create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
    /// let room = log.sink().room();
    /// rt.new_color().spawn(room).wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn room(&self) -> Room<E> {
        Room(Turnstile::new(&self.shared))
    }

    /// Offers an event as soon as there is room: a future for any async runtime.
    ///
    /// ```
    /// use mely_stage::{Manager, StageOptions, each};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let two = StageOptions::new().capacity(2);
    /// let log = Manager::new(&rt).create("log", two, |_| each(|_: u32| ()))?;
    /// let sink = log.sink();
    /// let writer = rt.new_color().spawn(async move {
    ///     for n in 0..100 {
    ///         sink.offer_when_room(n).await.ok();
    ///     }
    /// });
    /// writer.wait()?;
    /// # rt.wait_idle();
    /// assert_eq!(log.snapshot().counts.handled, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The future gives the event back when admission refuses it, when the stage is ending, and
    /// at once, as [`Refusal::Full`], if the capacity is 0.
    pub fn offer_when_room(&self, event: E) -> OfferWhenRoom<E> {
        OfferWhenRoom {
            turnstile: Turnstile::new(&self.shared),
            event: Some(event),
        }
    }
}

impl<E: Send + 'static> Clone for Sink<E> {
    fn clone(&self) -> Self {
        Self::new(&self.shared)
    }
}

/// Two are equal if they lead into the same stage.
impl<E: Send + 'static> PartialEq for Sink<E> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<E: Send + 'static> Eq for Sink<E> {}

impl<E: Send + 'static> fmt::Debug for Sink<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sink").field(&self.shared.name).finish()
    }
}

/// A place in the queue of a stage, as [`Sink::reserve`] gives it; dropped, it is given back.
#[must_use = "a place that is dropped is given back"]
pub struct Reservation<E: Send + 'static>(Place<E>);

impl<E: Send + 'static> Reservation<E> {
    /// Puts an event in, in the order of the key that the place was reserved for.
    ///
    /// It is always accepted. If the stage has ended meanwhile, the event is given to its hook.
    pub fn fill(self, event: E) {
        self.0.fill(event);
    }
}

impl<E: Send + 'static> fmt::Debug for Reservation<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").finish_non_exhaustive()
    }
}

/// Waits for room in a stage, as [`Sink::room`] returns it.
#[must_use = "nothing waits until it is awaited"]
pub struct Room<E: Send + 'static>(Turnstile<E>);

impl<E: Send + 'static> Future for Room<E> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll(cx)
    }
}

impl<E: Send + 'static> fmt::Debug for Room<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room").finish_non_exhaustive()
    }
}

/// An event that is offered when there is room, as [`Sink::offer_when_room`] returns it.
///
/// Dropping it before drops the event.
#[must_use = "the event is offered only when this is awaited"]
pub struct OfferWhenRoom<E: Send + 'static> {
    turnstile: Turnstile<E>,
    event: Option<E>,
}

// The event is moved, never pinned.
impl<E: Send + 'static> Unpin for OfferWhenRoom<E> {}

impl<E: Send + 'static> Future for OfferWhenRoom<E> {
    type Output = Result<(), Refused<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            ready!(this.turnstile.poll(cx));
            let event = this.event.take().expect("not polled after its end");
            let shared = Arc::clone(this.turnstile.shared());
            match shared.offer(event) {
                // Somebody was faster.
                Err(Refused {
                    event,
                    why: Refusal::Full | Refusal::Clogged,
                }) if shared.may_have_room() => this.event = Some(event),
                offered => {
                    this.turnstile.leave();
                    return Poll::Ready(offered);
                }
            }
        }
    }
}

impl<E: Send + 'static> fmt::Debug for OfferWhenRoom<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfferWhenRoom").finish_non_exhaustive()
    }
}
