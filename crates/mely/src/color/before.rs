//! Names of before, for programs that use them.

use super::{Color, Colored, WithHandler};
use crate::color::context::Context;
use crate::color::error::{CallError, PostError};
use crate::color::options::{ColorOptions, NoSuchWorker};
use crate::event::handler::Handler;

/// See [`WithHandler`].
#[deprecated(note = "renamed to `WithHandler`")]
pub type Via<'a, T> = WithHandler<'a, T>;

impl<T: Send + 'static> WithHandler<'_, T> {
    /// See [`post`](Self::post).
    ///
    /// # Errors
    ///
    /// As there.
    #[deprecated(note = "renamed to `post`")]
    pub fn try_post<F>(&self, event: F) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.post(event)
    }
}

impl<T: Send + 'static> Colored<T> {
    /// See [`with_handler`](Self::with_handler).
    #[deprecated(note = "renamed to `with_handler`")]
    pub fn via(&self, handler: &'static Handler) -> WithHandler<'_, T> {
        self.with_handler(handler)
    }

    /// See [`post`](Self::post).
    ///
    /// # Errors
    ///
    /// As there.
    #[deprecated(note = "renamed to `post`")]
    pub fn try_post<F>(&self, event: F) -> Result<(), PostError<F>>
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.post(event)
    }

    /// See [`blocking_with`](Self::blocking_with).
    ///
    /// # Panics
    ///
    /// As there.
    #[track_caller]
    #[deprecated(note = "renamed to `blocking_with`")]
    pub fn with<R, F>(&self, section: F) -> R
    where
        R: Send,
        F: FnOnce(&mut T) -> R + Send,
    {
        self.blocking_with(section)
    }

    /// See [`try_blocking_with`](Self::try_blocking_with).
    ///
    /// # Errors
    ///
    /// As there.
    #[deprecated(note = "renamed to `try_blocking_with`")]
    pub fn try_with<R, F>(&self, section: F) -> Result<R, CallError>
    where
        R: Send,
        F: FnOnce(&mut T) -> R + Send,
    {
        self.try_blocking_with(section)
    }
}

impl<T: Send + 'static> Context<'_, T> {
    /// See [`cpu`](Self::cpu).
    #[deprecated(note = "renamed to `cpu`")]
    pub fn core(&self) -> Option<usize> {
        self.cpu()
    }

    /// See [`with_handler`](Self::with_handler).
    #[deprecated(note = "now `with_handler(..).post_or_shed(..)`")]
    pub fn post_via<F>(&mut self, handler: &'static Handler, event: F)
    where
        F: FnOnce(&mut T, &mut Context<'_, T>) + Send + 'static,
    {
        self.with_handler(handler).post_or_shed(event);
    }

    /// See [`post_parallel`](Self::post_parallel).
    #[deprecated(note = "renamed to `post_parallel`")]
    pub fn post_fresh<F>(&mut self, event: F)
    where
        F: FnOnce(&mut (), &mut Context<'_, ()>) + Send + 'static,
    {
        self.post_parallel(event);
    }

    /// See [`with_handler`](Self::with_handler).
    #[deprecated(note = "now `with_handler(..).post_parallel(..)`")]
    pub fn post_fresh_via<F>(&mut self, handler: &'static Handler, event: F)
    where
        F: FnOnce(&mut (), &mut Context<'_, ()>) + Send + 'static,
    {
        self.with_handler(handler).post_parallel(event);
    }
}

impl ColorOptions {
    /// See [`start_on`](Self::start_on).
    #[must_use]
    #[deprecated(note = "renamed to `start_on`")]
    pub fn home(self, worker: usize) -> Self {
        self.start_on(worker)
    }

    /// See [`pin_to`](Self::pin_to).
    #[must_use]
    #[deprecated(note = "renamed to `pin_to`")]
    pub fn pinned(self, worker: usize) -> Self {
        self.pin_to(worker)
    }

    /// See [`pin_by_policy`](Self::pin_by_policy).
    #[must_use]
    #[deprecated(note = "renamed to `pin_by_policy`")]
    pub fn pinned_by_policy(self, worker: usize) -> Self {
        self.pin_by_policy(worker)
    }

    /// See [`new_color`](Self::new_color).
    ///
    /// # Errors
    ///
    /// As there.
    #[deprecated(note = "renamed to `new_color`")]
    pub fn fresh(self) -> Result<Color, NoSuchWorker> {
        self.new_color()
    }
}
