//! Whose turn it is: when each core goes on, and which is the first.

use core::cell::Cell;

/// When a core goes on that must be woken.
pub(super) const NEVER: u64 = u64::MAX;

/// How many cores are looked at together: all of them on the papers' machine.
const BLOCK: usize = 8;

type Block = [Cell<u64>; BLOCK];

/// When each core goes on.
///
/// The soonest of each eight is kept, so that with 256 cores 40 are looked at. A tree
/// in which the sooner of each two wins took twice the instructions with 8 cores.
pub(super) struct Turns {
    due: Box<[Block]>,
    /// The soonest of each block.
    soonest: Box<[Cell<u64>]>,
    cores: usize,
}

impl Turns {
    /// All go on at the time 0.
    pub(super) fn new(cores: usize) -> Self {
        let due = |core| Cell::new(if core < cores { 0 } else { NEVER });
        let blocks = cores.div_ceil(BLOCK);
        let block = |block| core::array::from_fn(|at| due(block * BLOCK + at));
        Self {
            due: (0..blocks).map(block).collect(),
            soonest: (0..blocks).map(|_| Cell::new(0)).collect(),
            cores,
        }
    }

    /// When the first one goes on.
    #[inline(always)]
    pub(super) fn first_due(&self) -> u64 {
        let soonest = self.soonest.iter().map(Cell::get);
        soonest.min().unwrap_or(NEVER)
    }

    /// The core that goes on at that time, which is that of the first; of several the
    /// one with the least number.
    #[inline(always)]
    pub(super) fn first_at(&self, due: u64) -> usize {
        let of_block = |block: &Cell<u64>| block.get() == due;
        let block = self.soonest.iter().position(of_block).unwrap_or(0);
        let mut first = 0;
        // Without branches: which one it is nobody can predict.
        for (at, cell) in self.due[block].iter().enumerate().rev() {
            first = if cell.get() == due { at } else { first };
        }
        block * BLOCK + first
    }

    /// When a core goes on.
    #[inline]
    pub(super) fn due(&self, core: usize) -> u64 {
        self.due[core / BLOCK][core % BLOCK].get()
    }

    /// The cores that go on up to `now`, in their order.
    #[inline]
    pub(super) fn up_to(&self, now: u64) -> impl Iterator<Item = usize> {
        let all = self.due.as_flattened().iter().take(self.cores).enumerate();
        all.filter(move |(_, due)| due.get() <= now)
            .map(|(core, _)| core)
    }

    #[inline(always)]
    pub(super) fn set(&self, core: usize, due: u64) {
        let block = &self.due[core / BLOCK];
        block[core % BLOCK].set(due);
        let soonest = block.iter().fold(NEVER, |least, due| least.min(due.get()));
        self.soonest[core / BLOCK].set(soonest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_the_soonest_and_of_these_the_least() {
        let mut chance = fastrand::Rng::with_seed(7);
        for cores in 1..=20 {
            let turns = Turns::new(cores);
            for _ in 0..200 {
                let due = match chance.u32(..4) {
                    0 => NEVER,
                    _ => chance.u64(..6),
                };
                turns.set(chance.usize(..cores), due);
                let soonest = (0..cores).map(|core| (turns.due(core), core)).min();
                let due = turns.first_due();
                assert_eq!(Some((due, turns.first_at(due))), soonest);
                let ready: Vec<_> = (0..cores).filter(|&core| turns.due(core) <= 3).collect();
                assert_eq!(turns.up_to(3).collect::<Vec<_>>(), ready);
            }
        }
    }
}
