//! One queue of events for each core, all colors mixed: the structure of
//! Libasync-smp, which the older policies steal from.

use std::collections::VecDeque;

/// How much of a victim's load a steal by batch takes at the most, as 1/N of its
/// events (*Vol de tâches*, section 3.2: half).
const BATCH_SHARE: usize = 2;

/// The count of a color that a thief has chosen and not yet taken out.
const CHOSEN: u32 = u32::MAX;

/// An event as an [`EventFifo`] sees it.
pub trait FifoEvent {
    /// What tells one color from another.
    type Color: Copy + Eq;

    /// The color of the event.
    fn color(&self) -> Self::Color;

    /// Whether the color must stay on its core.
    fn is_pinned(&self) -> bool;

    /// How many events of the color wait, as last set; 0 for a color that was never
    /// queued. One count for all events of the color.
    fn waiting(&self) -> u32;

    /// Sets that count.
    fn set_waiting(&self, events: u32);
}

/// The events of a core, oldest first, all colors mixed.
///
/// *Efficient Workstealing*, section II. The event that is being run counts as one of the
/// queue's until the next [`pop`](Self::pop): that is why two colors are needed for a
/// steal.
///
/// All events of a color wait in the same queue, and no event of it is being run
/// elsewhere; whoever moves a color to another queue moves all.
#[derive(Debug)]
pub struct EventFifo<E: FifoEvent> {
    events: VecDeque<E>,
    /// Colors that wait, and how many of them are pinned.
    colors: usize,
    pinned_colors: usize,
    running: Option<Running<E::Color>>,
    exposed: bool,
}

/// The color of the event that is being run.
#[derive(Clone, Copy, Debug)]
struct Running<C> {
    color: C,
    pinned: bool,
    /// Its events that wait.
    waiting: u32,
}

/// What a thief got.
#[derive(Debug)]
pub struct Stolen<E> {
    /// All events of the colors that were taken, in the order of the queue; none if
    /// nothing may be taken.
    pub events: VecDeque<E>,
    /// How many colors they are of.
    pub colors: usize,
    /// How many events of the queue were looked at.
    pub scanned: usize,
}

impl<E: FifoEvent> EventFifo<E> {
    /// A queue without events.
    pub const fn new() -> Self {
        Self {
            events: VecDeque::new(),
            colors: 0,
            pinned_colors: 0,
            running: None,
            exposed: false,
        }
    }

    /// Appends an event.
    pub fn push(&mut self, event: E) {
        let waiting = event.waiting();
        if waiting == 0 {
            self.colors += 1;
            self.pinned_colors += usize::from(event.is_pinned());
        }
        event.set_waiting(waiting + 1);
        match &mut self.running {
            Some(running) if running.color == event.color() => running.waiting += 1,
            _ => {}
        }
        self.events.push_back(event);
    }

    /// Takes the oldest event, which is being run from now on; the one before has
    /// ended.
    pub fn pop(&mut self) -> Option<E> {
        let ended = self.running.take();
        self.exposed = false;
        let event = self.events.pop_front()?;
        let (color, pinned, waiting) = (event.color(), event.is_pinned(), event.waiting() - 1);
        event.set_waiting(waiting);
        if waiting == 0 {
            self.colors -= 1;
            self.pinned_colors -= usize::from(pinned);
        }
        self.running = Some(Running {
            color,
            pinned,
            waiting,
        });
        self.exposed = ended.is_some_and(|ended| {
            let left = ended.color != color && !ended.pinned && ended.waiting > 0;
            left && self.is_small(ended.waiting)
        });
        Some(event)
    }

    /// Whether the last [`pop`](Self::pop) left a color to thieves that they could
    /// not take before it: that of the event which ended.
    pub fn exposed(&self) -> bool {
        self.exposed
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// How many colors have events that wait.
    pub fn colors(&self) -> usize {
        self.colors
    }

    /// Whether a thief may look for a color here: there are two, of which one may
    /// move (`can_be_stolen` in *Efficient Workstealing*, figure 2).
    pub fn can_be_stolen(&self) -> bool {
        let (mut colors, mut movable) = (self.colors, self.colors - self.pinned_colors);
        match self.running {
            Some(running) if running.waiting == 0 => colors += 1,
            Some(running) if !running.pinned => movable -= 1,
            _ => {}
        }
        colors >= 2 && movable >= 1
    }

    /// For a thief: takes all events of the first color that is not being run, not
    /// pinned, and has fewer than half of the events; by batch, of more such colors,
    /// up to half of the events in all.
    ///
    /// *Efficient Workstealing*, figure 2, and *Vol de tâches*, section 3.2. The search for
    /// the color and the search for its events begin at the oldest event; the second one
    /// ends with the last event of the color, whose number is known.
    pub fn steal(&mut self, by_batch: bool) -> Stolen<E> {
        let mut stolen = Stolen {
            events: VecDeque::new(),
            colors: 0,
            scanned: 0,
        };
        if self.can_be_stolen() {
            let events = self.choose_colors(by_batch, &mut stolen);
            self.take_chosen(events, &mut stolen);
        }
        stolen
    }

    /// Takes everything, at the end.
    pub fn take_all(&mut self) -> VecDeque<E> {
        let events = std::mem::take(self).events;
        events.iter().for_each(|event| event.set_waiting(0));
        events
    }

    /// Marks the colors to steal, and returns how many events they have
    /// (`choose_color_to_steal`).
    fn choose_colors(&self, by_batch: bool, stolen: &mut Stolen<E>) -> usize {
        let running = self.running.map(|running| running.color);
        let enough = self.load() / BATCH_SHARE;
        let mut events = 0;
        for event in &self.events {
            stolen.scanned += 1;
            let waiting = event.waiting();
            let may_move = waiting != CHOSEN
                && running != Some(event.color())
                && !event.is_pinned()
                && self.is_small(waiting);
            let more = waiting as usize;
            if !may_move || (stolen.colors > 0 && events + more > enough) {
                continue;
            }
            event.set_waiting(CHOSEN);
            stolen.colors += 1;
            events += more;
            if !by_batch || events >= enough {
                break;
            }
        }
        events
    }

    /// Takes the marked colors out (`construct_event_set`).
    fn take_chosen(&mut self, events: usize, stolen: &mut Stolen<E>) {
        let mut passed = Vec::new();
        stolen.events.reserve(events);
        while stolen.events.len() < events {
            let Some(event) = self.events.pop_front() else {
                break;
            };
            stolen.scanned += 1;
            if event.waiting() == CHOSEN {
                stolen.events.push_back(event);
            } else {
                passed.push(event);
            }
        }
        while let Some(event) = passed.pop() {
            self.events.push_front(event);
        }
        self.colors -= stolen.colors;
        for event in &stolen.events {
            event.set_waiting(0);
        }
    }

    /// Events that wait or are being run.
    fn load(&self) -> usize {
        self.events.len() + usize::from(self.running.is_some())
    }

    /// Whether a color with so many events has less than half of all. One event is
    /// never too many: the paper's cores that find nothing go on looking, ours sleep,
    /// and a lone event behind a long one must not wait beside a sleeping core.
    fn is_small(&self, waiting: u32) -> bool {
        waiting == 1 || 2 * (waiting as usize) < self.load()
    }
}

impl<E: FifoEvent> Default for EventFifo<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
