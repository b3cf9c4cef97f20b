//! References that do not keep a color alive.

use core::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::Colored;
use crate::cell::origin::Origin;
use crate::event::StatePtr;
use crate::shared::{ColorRef, WeakRef};

/// A reference to a color that does not keep it alive: what a registry, a cache or the
/// color's own state may hold.
///
/// ```
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let session = rt.colored(String::from("open"));
/// let weak = session.downgrade();
/// assert_eq!(weak.upgrade().map(|session| session.blocking_with(|s| s.len())), Some(4));
/// drop(session);
/// rt.wait_idle();
/// # // The last event may still be giving up the color.
/// # while weak.upgrade().is_some() {}
/// assert!(weak.upgrade().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is of the same type of state, and of none that lives longer:
///
/// ```compile_fail
/// use mely::WeakColored;
/// fn longer(color: WeakColored<for<'a> fn(&'a str)>) -> WeakColored<fn(&'static str)> {
///     color
/// }
/// ```
pub struct WeakColored<T = ()> {
    color: WeakRef,
    state: StatePtr<T>,
    origin: Origin,
}

impl<T: Send + 'static> Colored<T> {
    /// A reference that does not keep the color alive.
    ///
    /// The first one for a color takes some memory and 50 ns, others as much as a clone.
    pub fn downgrade(&self) -> WeakColored<T> {
        WeakColored {
            color: self.color.downgrade(),
            state: self.state,
            origin: self.origin,
        }
    }

    pub(super) fn into_color_ref(self) -> ColorRef {
        self.color
    }
}

impl<T: Send + 'static> WeakColored<T> {
    /// The color, if it lives: while anybody has a [`Colored`] of it, or an event of it is
    /// pending or being run.
    pub fn upgrade(&self) -> Option<Colored<T>> {
        Some(Colored {
            color: self.color.upgrade()?,
            state: self.state,
            origin: self.origin,
        })
    }
}

// As for `Colored`.
impl<T> UnwindSafe for WeakColored<T> {}
impl<T> RefUnwindSafe for WeakColored<T> {}

impl<T> Clone for WeakColored<T> {
    fn clone(&self) -> Self {
        Self {
            color: self.color.clone(),
            state: self.state,
            origin: self.origin,
        }
    }
}

impl<T> fmt::Debug for WeakColored<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let color = self.color.upgrade();
        let id = color.as_ref().map(ColorRef::id);
        f.debug_tuple("WeakColored").field(&id).finish()
    }
}
