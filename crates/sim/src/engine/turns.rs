//! Whose turn it is: a tree in which the sooner of each two wins.

use core::cell::Cell;

/// When a core goes on that must be woken.
pub(super) const NEVER: u64 = u64::MAX;

/// When each core goes on, and which is the first.
///
/// A core that goes on is set to [`NEVER`], and once more when it stops: two ways up
/// the tree. With 8 cores they are three levels each, where a look at all cores took
/// 160 instructions.
pub(super) struct Turns {
    /// From the root, at 1, down; the second half are the cores, in their order.
    nodes: Box<[Cell<Turn>]>,
    cores: usize,
}

/// When a core goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) due: u64,
    pub(super) core: usize,
}

impl Turns {
    /// All go on at the time 0.
    pub(super) fn new(cores: usize) -> Self {
        let width = cores.next_power_of_two();
        let leaf = |core| Turn {
            due: if core < cores { 0 } else { NEVER },
            core,
        };
        let turns = Self {
            nodes: (0..2 * width)
                .map(|node| Cell::new(leaf(node % width)))
                .collect(),
            cores,
        };
        for node in (1..width).rev() {
            turns.decide(node);
        }
        turns
    }

    /// The core whose time comes first; of several the one with the least number.
    #[inline]
    pub(super) fn first(&self) -> Turn {
        self.nodes[1].get()
    }

    /// When a core goes on.
    #[inline]
    pub(super) fn due(&self, core: usize) -> u64 {
        self.nodes[self.nodes.len() / 2 + core].get().due
    }

    /// When each goes on, in the order of the cores.
    #[inline]
    pub(super) fn all(&self) -> impl Iterator<Item = Turn> {
        let leaves = self.nodes[self.nodes.len() / 2..].iter();
        leaves.take(self.cores).map(Cell::get)
    }

    #[inline]
    pub(super) fn set(&self, core: usize, due: u64) {
        let mut node = self.nodes.len() / 2 + core;
        self.nodes[node].set(Turn { due, core });
        while node > 1 {
            node /= 2;
            self.decide(node);
        }
    }

    #[inline]
    fn decide(&self, node: usize) {
        let (left, right) = (self.nodes[2 * node].get(), self.nodes[2 * node + 1].get());
        let sooner = match right.due < left.due {
            true => right,
            false => left,
        };
        self.nodes[node].set(sooner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_the_soonest_and_of_these_the_least() {
        let mut chance = fastrand::Rng::with_seed(7);
        for cores in 1..=9 {
            let turns = Turns::new(cores);
            for _ in 0..200 {
                let due = match chance.u32(..4) {
                    0 => NEVER,
                    _ => chance.u64(..6),
                };
                turns.set(chance.usize(..cores), due);
                let soonest = turns.all().min_by_key(|turn| (turn.due, turn.core));
                assert_eq!(Some(turns.first()), soonest);
            }
        }
    }
}
