//! Refusing the less important first.

use super::{Admission, Class, Offer, Reason};

/// Refuses the less important classes first as the queue fills.
///
/// Of `classes` classes the first may use all of the room, and each further one an equal part
/// less: of four, the last is refused when a quarter of the room is taken. So an important
/// event finds room as long as there is any, without a search through the queue.
///
/// *Performance Aspects of the Staged Event-Driven Architecture*, SEDA Benefits, names
/// priorities under overload; room that is kept back for what matters more is trunk
/// reservation, as telephone networks do it.
///
/// ```
/// use mely_sched::admission::{Admission, Class, Offer, Priority, Reason, Tag};
/// let mut priority = Priority::new(100, 4);
/// let offer = |queued, class| Offer {
///     queued,
///     tag: Tag { class: Class::new(class), ..Tag::default() },
///     ..Offer::default()
/// };
/// assert_eq!(priority.offer(&offer(60, 3)), Err(Reason::Unimportant));
/// assert_eq!(priority.offer(&offer(60, 1)), Ok(()));
/// assert_eq!(priority.offer(&offer(100, 0)), Err(Reason::QueueLong));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priority {
    room: u64,
    classes: u8,
}

impl Priority {
    /// Shares room for so many waiting events between so many classes, at least one; less
    /// important ones count as the last of them.
    pub fn new(room: u64, classes: u8) -> Self {
        Self {
            room,
            classes: classes.max(1),
        }
    }

    /// How many events may wait in all.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Changes how many events may wait in all. What waits already stays.
    pub fn set_room(&mut self, room: u64) {
        self.room = room;
    }

    /// Changes between how many classes the room is shared, at least one.
    pub fn set_classes(&mut self, classes: u8) {
        self.classes = classes.max(1);
    }

    /// From which length of the queue on a class is refused.
    pub fn room_of(&self, class: Class) -> u64 {
        let classes = u64::from(self.classes);
        let last = classes - 1;
        let shares = classes - (class.number() as u64).min(last);
        // In two parts, as the room times the shares may be more than there is.
        self.room / classes * shares + self.room % classes * shares / classes
    }
}

impl Admission for Priority {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        if offer.queued < self.room_of(offer.tag.class) {
            Ok(())
        } else if offer.queued < self.room {
            Err(Reason::Unimportant)
        } else {
            Err(Reason::QueueLong)
        }
    }
}
