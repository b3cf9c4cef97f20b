//! Posting to the one queue of events that a core has under the older policies.

use super::Shared;
use super::fifo::Append;
use crate::event::Event;
use crate::machine::lock_time::{Untimed, Waiter};
use crate::shared::{ColorRef, Posted};

/// Where an event went.
pub(crate) struct Appended {
    home: usize,
    can_be_stolen: bool,
}

impl Shared {
    /// Posts to the queue of the color's home.
    #[cold]
    ///
    /// # Errors
    ///
    /// The event, if the color was stopped.
    pub(crate) fn post_event(&self, color: ColorRef, event: Event) -> Result<(), Event> {
        if let Some(appended) = self.append(&mut Untimed, Posted::new(color, event))? {
            self.announce(&appended);
        }
        Ok(())
    }

    /// Appends an event to the queue of its color's home; after the end, drops it.
    ///
    /// # Errors
    ///
    /// The event, if the color was stopped.
    pub(crate) fn append(
        &self,
        waiter: &mut impl Waiter,
        posted: Posted,
    ) -> Result<Option<Appended>, Event> {
        let mut posted = posted.unless_stopped()?;
        loop {
            let home = posted.home();
            posted = match self.remotes[home].fifo.append(waiter, home, posted) {
                Append::Done { can_be_stolen } => {
                    return Ok(Some(Appended {
                        home,
                        can_be_stolen,
                    }));
                }
                Append::Moved(posted) => posted,
                Append::Shut(posted) => {
                    posted.abandon();
                    return Ok(None);
                }
            };
        }
    }

    /// After an event was appended: wakes whoever sleeps and can run it.
    pub(crate) fn announce(&self, appended: &Appended) {
        let remote = &self.remotes[appended.home];
        if remote.mailbox.open() {
            remote.driver.wake();
        }
        if appended.can_be_stolen {
            self.wake_for_events();
        }
    }

    /// After a queue was changed under its lock so that thieves may find a color in
    /// it: wakes one sleeper, as [`wake_a_thief`](Self::wake_a_thief) does.
    pub(crate) fn wake_for_events(&self) {
        // A hint is enough, and spares an exchange each time: a sleeper has taken
        // the lock after it lay down, and found nothing, or comes to it yet.
        if self.idle.hint().sleeping() > 0 {
            self.wake_a_thief();
        }
    }
}
