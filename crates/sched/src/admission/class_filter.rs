//! Bounding how much of one kind waits.

use super::{Admission, CLASSES, Class, Offer, Reason, Tag, Taken};

/// Bounds how many events of a class wait, and leaves all others alone.
///
/// *Performance Aspects of the Staged Event-Driven Architecture*, Application-Specific Event
/// Filtering: a threshold on the whole queue of the Gnutella router dropped the timer that
/// cleaned up its list of packets, too, and the heap grew; a threshold on queries alone did
/// not.
///
/// ```
/// use mely_sched::admission::{Admission, Class, ClassFilter, Offer, Reason, Tag};
/// let query = Class::new(1);
/// let mut filter = ClassFilter::new().with(query, 1);
/// let offer = |class| Offer { tag: Tag { class, ..Tag::default() }, ..Offer::default() };
/// assert_eq!(filter.offer(&offer(query)), Ok(()));
/// assert_eq!(filter.offer(&offer(query)), Err(Reason::Filtered));
/// assert_eq!(filter.offer(&offer(Class::FIRST)), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFilter {
    waiting: [u64; CLASSES],
    waiting_max: [u64; CLASSES],
}

impl ClassFilter {
    /// Bounds no class.
    pub const fn new() -> Self {
        Self {
            waiting: [0; CLASSES],
            waiting_max: [u64::MAX; CLASSES],
        }
    }

    /// Bounds a class too.
    #[must_use]
    pub fn with(mut self, class: Class, waiting_max: u64) -> Self {
        self.set_waiting_max(class, waiting_max);
        self
    }

    /// How many events of a class may wait; `u64::MAX` if it is not bounded.
    pub fn waiting_max(&self, class: Class) -> u64 {
        self.waiting_max[class.number()]
    }

    /// Changes how many events of a class may wait; 0 refuses them all, `u64::MAX` none. What
    /// waits already stays.
    pub fn set_waiting_max(&mut self, class: Class, waiting_max: u64) {
        self.waiting_max[class.number()] = waiting_max;
    }

    /// How many events of a class wait, of those that were offered to this filter.
    pub fn waiting(&self, class: Class) -> u64 {
        self.waiting[class.number()]
    }

    fn one_less(&mut self, class: Class) {
        let waiting = &mut self.waiting[class.number()];
        *waiting = waiting.saturating_sub(1);
    }
}

impl Default for ClassFilter {
    fn default() -> Self {
        Self::new()
    }
}

impl Admission for ClassFilter {
    fn offer(&mut self, offer: &Offer) -> Result<(), Reason> {
        let class = offer.tag.class.number();
        if self.waiting[class] >= self.waiting_max[class] {
            return Err(Reason::Filtered);
        }
        self.waiting[class] += 1;
        Ok(())
    }

    fn give_back(&mut self, tag: Tag) {
        self.one_less(tag.class);
    }

    fn take(&mut self, tag: Tag, _taken: &Taken) -> Result<(), Reason> {
        self.one_less(tag.class);
        Ok(())
    }
}
