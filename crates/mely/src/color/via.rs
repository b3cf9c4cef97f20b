//! Posting to a color, as events of a handler.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use super::Colored;
use crate::cell::room::Room;
use crate::color::context::{Context, NOTHING, Taking};
use crate::color::error::{CallError, PostError};
use crate::color::refused::{given_back, not_admitted};
use crate::color::reply::{self, Answerer, Reply};
use crate::color::spans::Inside;
use crate::event::handler::{Handler, HandlerOf, Weight};
use crate::event::{Call, Event};
use crate::machine::panics::drop_refused;
use crate::shared::admission::Poster;
use crate::shared::timers::Timer;
use crate::worker::{self, Worker};

/// A color together with the [`Handler`] that its events are of.
///
/// The methods are those of [`Colored`], which see. Nor is it more than that:
///
/// ```compile_fail
/// use mely::WithHandler;
/// fn longer<'v>(
///     posts: WithHandler<'v, for<'a> fn(&'a str)>,
/// ) -> WithHandler<'v, fn(&'static str)> {
///     posts
/// }
/// ```
#[derive(Debug)]
pub struct WithHandler<'a, T> {
    pub(crate) target: &'a Colored<T>,
    pub(super) handler: Option<&'static Handler>,
}

impl<T: Send + 'static> WithHandler<'_, T> {
    /// See [`Colored::post`].
    ///
    /// # Errors
    ///
    /// A [`PostError`] that says why, with the event.
    #[inline]
    pub fn post<F>(&self, event: F) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.post_taking(&mut Inside::here(), event)
    }

    /// See [`Colored::post_or_shed`].
    #[inline]
    pub fn post_or_shed<F>(&self, event: F)
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        if let Err(refused) = self.post(event) {
            drop_refused(refused);
        }
    }

    /// The same; without a handler, as events of a closure type of the program's.
    pub(super) fn or_of<F>(&self) -> Self {
        Self {
            handler: self.handler.or(Some(HandlerOf::<F>::HANDLER)),
            ..*self
        }
    }

    /// Posts what comes only once, to a full color too, where it takes no place, and is of no
    /// span: who happens to post it did not make it.
    pub(crate) fn post_always<F>(&self, event: F) -> bool
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        let event = Taking::<_, NOTHING>(event);
        let posted = self.post_taking(&mut Inside::nothing(), event);
        posted.map_err(drop_refused).is_ok()
    }

    /// Posts what takes of the room that its type says.
    #[inline]
    pub(super) fn post_taking<F>(&self, inside: &mut Inside, event: F) -> Result<(), PostError<F>>
    where
        F: Call<T>,
    {
        self.post_with_room(inside, Room::of(F::TAKES), event)
    }

    #[inline]
    pub(super) fn post_with_room<F>(
        &self,
        inside: &mut Inside,
        room: Room,
        event: F,
    ) -> Result<(), PostError<F>>
    where
        F: Call<T>,
    {
        let (color, origin) = (&self.target.color, self.target.origin);
        let poster = match room {
            Room::Last => Poster::Itself,
            _ => Poster::Outside,
        };
        let room = match origin.is_bounded() {
            true => room,
            false => Room::NotNeeded,
        };
        worker::with_any_current(|worker| {
            // Of the color itself nothing is read until its line has come.
            match worker.filter(|worker| origin.is_of(worker.shared().number)) {
                Some(worker) => {
                    let admitted = worker.shared().admit(worker.poster(), || room.take(color));
                    if let Err(refusal) = admitted {
                        return Err(not_admitted(color, refusal, event));
                    }
                    // While the event is made, the color comes from wherever it is.
                    color.prefetch_for_post();
                    let event = worker.event(self.handler, self.target.state, event);
                    let post = |event| worker.post(color, event);
                    if let Err(stopped) = inside.carry(Some(worker), event, post) {
                        worker.shared().count_shed(worker.poster());
                        // SAFETY: it was made with that just now.
                        return Err(unsafe { given_back::<T, F>(color, stopped) });
                    }
                }
                None => {
                    let shared = color.shared();
                    if let Err(refusal) = shared.admit(poster, || room.take(color)) {
                        return Err(not_admitted(color, refusal, event));
                    }
                    let event = self.unweighed(event);
                    let post = |event| worker::post_from_outside(shared, color, event);
                    if let Err(stopped) = inside.carry(None, event, post) {
                        shared.count_shed(poster);
                        // SAFETY: as above.
                        return Err(unsafe { given_back::<T, F>(color, stopped) });
                    }
                }
            }
            Ok(())
        })
    }

    /// An event in a node of no worker, to be weighed by the one that gets it.
    pub(super) fn unweighed<F>(&self, event: F) -> Event
    where
        F: Call<T>,
    {
        Event::new(
            None,
            self.handler,
            Weight::UNKNOWN,
            self.target.state,
            event,
        )
    }

    /// See [`Colored::post_after`].
    pub fn post_after<F>(&self, delay: Duration, event: F) -> Timer
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.post_at(self.target.color.shared().after(delay), event)
    }

    /// See [`Colored::post_at`].
    pub fn post_at<F>(&self, at: Instant, event: F) -> Timer
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        let color = &self.target.color;
        let (shared, inside) = (color.shared(), Inside::here());
        worker::with_current(shared, |worker| {
            let poster = worker.map_or(Poster::Outside, Worker::poster);
            // It takes its place when it is due, full or not.
            if shared.admit(poster, || true).is_err() {
                drop_refused(event);
                return Timer::refused(shared);
            }
            let keeper = worker.map_or(usize::from(color.traits().home), Worker::index);
            let event = inside.around(worker, self.unweighed(event));
            Timer::pending(keeper, at, color.clone(), event).set(color)
        })
    }

    /// See [`Colored::call`].
    pub fn call<R, F>(&self, event: F) -> Reply<R>
    where
        R: Send + 'static,
        F: FnOnce(&mut T, &mut Context<'_, T>) -> R + Send + 'static,
    {
        let runtime = self.target.color.shared().number;
        let (answerer, mut reply) = reply::channel(runtime);
        let event = answering(event, answerer);
        let call = worker::note_called(&self.target.color);
        match self.or_of::<F>().post(event) {
            Ok(()) => {
                reply.note_call(call);
                reply
            }
            Err(refused) => {
                let error = CallError::from(&refused);
                drop_refused(refused);
                let (answerer, reply) = reply::channel(runtime);
                answerer.answer(Err(error));
                reply
            }
        }
    }
}

/// The event of a call, which answers with what `event` gives, unless that was taken back.
pub(super) fn answering<T, R>(
    event: impl FnOnce(&mut T, &mut Context<'_, T>) -> R,
    answerer: Answerer<R>,
) -> impl FnOnce(&mut T, &mut Context<'_, T>) {
    move |state, cx| match answerer.begins() {
        true => answerer.answer_by(|| event(state, cx)),
        false => drop(event),
    }
}
