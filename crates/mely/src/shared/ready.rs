//! What a core can run next.

use mely_sched::{Event as _, ReadyColor};

use crate::event::Event;
use crate::shared::OwnedColor;

/// A color that is ready, or an event that is all there is of a fresh color.
///
/// Nobody can refer to a fresh color before its first event runs, so until then the
/// event stands for it: a core that has thousands of them ready touches one cache
/// line for each, and the color is made in memory that the last one has just left.
pub(crate) enum Ready {
    Color(OwnedColor),
    Fresh(Event),
}

impl Ready {
    /// Whether it must stay on its core.
    #[inline]
    pub(crate) fn is_pinned(&self) -> bool {
        match self {
            Ready::Color(color) => color.is_pinned(),
            Ready::Fresh(_) => false,
        }
    }

    /// The color, if it is one.
    pub(crate) fn as_color(&self) -> Option<&OwnedColor> {
        match self {
            Ready::Color(color) => Some(color),
            Ready::Fresh(_) => None,
        }
    }

    /// Asks for its cache line before it is needed.
    #[inline]
    pub(crate) fn prefetch(&self) {
        match self {
            Ready::Color(color) => color.prefetch(),
            Ready::Fresh(event) => event.prefetch(),
        }
    }

    /// Asks for the line of its first event, for which its own must have come.
    #[inline]
    pub(crate) fn prefetch_event(&self) {
        if let Ready::Color(color) = self {
            color.prefetch_event();
        }
    }

    /// Asks for the line of one more event of its inbox, behind so many newer ones.
    #[inline]
    pub(crate) fn prefetch_inbox(&self, behind: usize) {
        if let Ready::Color(color) = self {
            color.prefetch_inbox(behind);
        }
    }

    /// Asks for the line of the state of its first event, for which both must have
    /// come.
    #[inline]
    pub(crate) fn prefetch_state(&self) {
        if let Ready::Color(color) = self {
            color.prefetch_state();
        }
    }
}

impl ReadyColor for Ready {
    #[inline]
    fn len(&self) -> u32 {
        match self {
            Ready::Color(color) => color.len(),
            Ready::Fresh(_) => 1,
        }
    }

    #[inline]
    fn time_left_cycles(&self) -> u64 {
        match self {
            Ready::Color(color) => color.time_left_cycles(),
            Ready::Fresh(event) => u64::from(event.time_left_cycles()),
        }
    }
}
