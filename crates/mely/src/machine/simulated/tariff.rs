//! What things take on a simulated machine.

use crate::machine::region::Access;

/// Work of the scheduler that takes time besides the memory that it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// An event is made and put into a queue.
    Post,
    /// An event is taken from a queue and called.
    Event,
    /// A turn of a color begins.
    Turn,
    /// A thief looks at a victim that may have something.
    Steal,
    /// A thief follows one link of the list of events of a core, and reads the color
    /// of the event.
    Scan,
}

impl Work {
    /// How many kinds there are.
    pub const KINDS: usize = Work::Scan as usize + 1;
}

/// What touching memory takes.
pub trait LineMemory {
    /// The core of a CPU touches memory at the time `now`. Returns the cycles that it
    /// takes, and a number for the last line that does not depend on addresses.
    fn access(&mut self, cpu: usize, at: (u64, usize), how: Access, now: u64) -> (u64, u64);

    /// It asks for the line at an address ahead.
    fn prefetch(&mut self, cpu: usize, address: u64, how: Access, now: u64);

    /// The allocator made this memory: it is none that was used before.
    fn born(&mut self, address: u64, bytes: usize);
}

/// What things take on a machine.
pub struct Tariff {
    /// Of each kind of [`Work`], in its order: cycles.
    pub work: [u64; Work::KINDS],
    /// Reading the cycle counter.
    pub clock: u64,
    /// Touching memory.
    pub memory: MemoryTariff,
    /// The machine wants to be told of each access, by [`Hooks::access`](super::Hooks).
    pub told: bool,
}

/// What touching memory takes.
pub enum MemoryTariff {
    /// Every line the same: cycles, by [`Access`] in its order.
    Flat([u64; 3]),
    /// By lines.
    Lines(Box<dyn LineMemory>),
}
