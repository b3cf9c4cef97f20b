//! Ready colors as queues hold them, and bundles of them that travel together.

use std::collections::VecDeque;

/// A color that has events to run, as the queues of a core see it.
pub trait ReadyColor {
    /// Pending events.
    fn len(&self) -> u32;

    /// Whether no event is pending; a ready color may be empty for a moment, when
    /// its events still wait in its inbox.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Summed time left of the pending events, in cycles.
    fn time_left_cycles(&self) -> u64;
}

/// A color with its place in the order in which the colors of a core became ready, and
/// with what it weighed then.
///
/// The queues keep both beside the color, so that they never touch one: a thief that
/// did would fetch a cache line from the victim for each color it takes.
#[derive(Debug)]
pub struct Ticketed<C> {
    ticket: u64,
    time_left_cycles: u32,
    events: u32,
    color: C,
}

impl<C: ReadyColor> Ticketed<C> {
    /// Weighs a color, and gives it a place.
    #[inline]
    pub fn new(ticket: u64, color: C) -> Self {
        Self {
            ticket,
            // More than 4 G cycles make no difference to any decision.
            time_left_cycles: u32::try_from(color.time_left_cycles()).unwrap_or(u32::MAX),
            events: color.len(),
            color,
        }
    }

    /// Gives it another place.
    #[inline]
    #[must_use]
    pub fn at(self, ticket: u64) -> Self {
        Self { ticket, ..self }
    }
}

impl<C> Ticketed<C> {
    /// The place.
    #[inline]
    pub fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Summed time left of the events that were pending then, in cycles.
    #[inline]
    pub fn time_left_cycles(&self) -> u64 {
        u64::from(self.time_left_cycles)
    }

    /// How many events were pending then. A color whose events all waited in its inbox
    /// had none.
    #[inline]
    pub fn events(&self) -> u32 {
        self.events
    }

    /// The color.
    #[inline]
    pub fn color(&self) -> &C {
        &self.color
    }

    /// The color, without the rest.
    #[inline]
    pub fn into_color(self) -> C {
        self.color
    }
}

/// How many colors travel together at the most.
///
/// A bundle is handed over by one lock operation (about 20 ns uncontended, 120 ns
/// when the line comes from another core), so 64 colors pay 2 ns each; larger
/// bundles would make sharing coarser than half of a small backlog.
pub const BUNDLE_COLORS: usize = 64;

/// Colors that travel together: too short to be stolen one by one.
#[derive(Debug)]
pub struct Bundle<C: ReadyColor> {
    colors: VecDeque<Ticketed<C>>,
    time_left_cycles: u64,
}

impl<C: ReadyColor> Bundle<C> {
    /// A bundle without colors.
    pub const fn new() -> Self {
        Self {
            colors: VecDeque::new(),
            time_left_cycles: 0,
        }
    }

    /// A bundle of colors whose time left sums up to `time_left_cycles`.
    pub(crate) fn of(colors: VecDeque<Ticketed<C>>, time_left_cycles: u64) -> Self {
        Self {
            colors,
            time_left_cycles,
        }
    }

    /// The colors, to be taken out by who gives the bundle up.
    pub(crate) fn colors_mut(&mut self) -> &mut VecDeque<Ticketed<C>> {
        &mut self.colors
    }

    /// A bundle without colors, with room for so many.
    pub(crate) fn with_capacity(colors: usize) -> Self {
        Self::of(VecDeque::with_capacity(colors), 0)
    }

    /// Adds a color behind the others.
    pub fn push(&mut self, color: Ticketed<C>) {
        self.time_left_cycles += color.time_left_cycles();
        self.colors.push_back(color);
    }

    /// Adds a color before the others.
    pub(crate) fn push_front(&mut self, color: Ticketed<C>) {
        self.time_left_cycles += color.time_left_cycles();
        self.colors.push_front(color);
    }

    /// Takes the color that is ready longest.
    pub fn pop(&mut self) -> Option<Ticketed<C>> {
        let first = self.colors.pop_front()?;
        self.time_left_cycles -= first.time_left_cycles();
        Some(first)
    }

    /// The colors, the one that is ready longest first.
    pub fn iter(&self) -> impl Iterator<Item = &Ticketed<C>> {
        self.colors.iter()
    }

    /// How many colors there are.
    pub fn len(&self) -> usize {
        self.colors.len()
    }

    /// Whether there is no color.
    pub fn is_empty(&self) -> bool {
        self.colors.is_empty()
    }

    /// Summed time left of the colors, in cycles.
    pub fn time_left_cycles(&self) -> u64 {
        self.time_left_cycles
    }

    /// The ticket of the color that is ready longest; `u64::MAX` without colors.
    pub fn oldest_ticket(&self) -> u64 {
        oldest(&self.colors)
    }
}

/// The ticket of the first; `u64::MAX` if there is none.
pub(crate) fn oldest<C>(colors: &VecDeque<Ticketed<C>>) -> u64 {
    colors.front().map_or(u64::MAX, |first| first.ticket)
}

impl<C: ReadyColor> FromIterator<Ticketed<C>> for Bundle<C> {
    fn from_iter<I: IntoIterator<Item = Ticketed<C>>>(colors: I) -> Self {
        let colors: VecDeque<_> = colors.into_iter().collect();
        let time_left_cycles = colors.iter().map(Ticketed::time_left_cycles).sum();
        Self::of(colors, time_left_cycles)
    }
}

impl<C: ReadyColor> IntoIterator for Bundle<C> {
    type Item = Ticketed<C>;
    type IntoIter = std::collections::vec_deque::IntoIter<Ticketed<C>>;

    fn into_iter(self) -> Self::IntoIter {
        self.colors.into_iter()
    }
}

impl<C: ReadyColor> Default for Bundle<C> {
    fn default() -> Self {
        Self::new()
    }
}
