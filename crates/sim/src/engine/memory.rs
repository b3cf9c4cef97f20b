//! What touching memory costs.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::mely::Access;
pub use crate::mely::simulated::meter::LINE_BYTES;
use crate::mely::simulated::{LineMemory, MemoryTariff};

/// How many lines are numbered together: 16 KiB, four pages of the system.
const BLOCK_LINES: usize = 256;

/// How many blocks are found without hashing.
const RECENT_BLOCKS: usize = 256;

/// The caches and the memory of a machine.
///
/// Lines are numbered from 0 in the order of their first use, so that it does not
/// matter where the allocator puts things.
pub trait Memory {
    /// A core, by the number of its CPU in the topology, touches a line at the time
    /// `now`. Returns the cycles that it takes.
    fn access(&mut self, cpu: usize, line: u32, how: Access, now: u64) -> u64;

    /// The same, of a line of a walk over consecutive ones, which a processor fetches
    /// ahead.
    fn walk(&mut self, cpu: usize, line: u32, how: Access, now: u64) -> u64 {
        self.access(cpu, line, how, now)
    }

    /// A core asks for a line ahead, and does not wait for it.
    fn prefetch(&mut self, cpu: usize, line: u32, how: Access, now: u64) {
        let _ = (cpu, line, how, now);
    }
}

/// What memory costs where all lines are alike, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatCosts {
    /// Reading a line.
    pub read: u64,
    /// Writing a line.
    pub write: u64,
    /// A locked instruction.
    pub update: u64,
}

impl Default for FlatCosts {
    /// The first cache's 4 cycles (*Efficient Workstealing*, section V-A), and 20 for a
    /// locked instruction on a line that is there.
    fn default() -> Self {
        Self {
            read: 4,
            write: 4,
            update: 20,
        }
    }
}

/// How touching memory is charged.
pub enum MemoryModel {
    /// Every line costs the same: for finding bugs. Nothing depends on addresses.
    Flat(FlatCosts),
    /// By caches: see [`MemoryModel::lines`].
    Lines(Box<dyn LineMemory>),
}

impl MemoryModel {
    /// By caches.
    pub fn lines(memory: impl Memory + 'static) -> Self {
        let lines = Lines::default();
        MemoryModel::Lines(Box::new(Numbered { memory, lines }))
    }

    pub(super) fn tariff(self) -> MemoryTariff {
        match self {
            MemoryModel::Flat(FlatCosts {
                read,
                write,
                update,
            }) => MemoryTariff::Flat([read, write, update]),
            MemoryModel::Lines(memory) => MemoryTariff::Lines(memory),
        }
    }
}

/// A memory, and the numbers of the lines.
struct Numbered<M> {
    memory: M,
    lines: Lines,
}

impl<M: Memory> Numbered<M> {
    /// Several lines, or none.
    #[cold]
    #[inline(never)]
    fn walk(
        &mut self,
        cpu: usize,
        (address, bytes): (u64, usize),
        how: Access,
        now: u64,
    ) -> (u64, u64) {
        let (mut cycles, mut number) = (0, 0);
        if bytes == 0 {
            return (cycles, 0);
        }
        for line in address / LINE_BYTES..(address + bytes as u64).div_ceil(LINE_BYTES) {
            number = self.lines.number(line);
            cycles += self.memory.walk(cpu, number, how, now + cycles);
        }
        (cycles, u64::from(number))
    }
}

impl<M: Memory> LineMemory for Numbered<M> {
    /// The number is that of the last line.
    #[inline]
    fn access(
        &mut self,
        cpu: usize,
        (address, bytes): (u64, usize),
        how: Access,
        now: u64,
    ) -> (u64, u64) {
        if bytes != 1 && (address % LINE_BYTES + bytes as u64 > LINE_BYTES || bytes == 0) {
            return self.walk(cpu, (address, bytes), how, now);
        }
        let number = self.lines.number(address / LINE_BYTES);
        let cycles = self.memory.access(cpu, number, how, now);
        (cycles, u64::from(number))
    }

    fn prefetch(&mut self, cpu: usize, address: u64, how: Access, now: u64) {
        let number = self.lines.number(address / LINE_BYTES);
        self.memory.prefetch(cpu, number, how, now);
    }

    /// Lines that the allocator gave out are new ones, whatever was there before.
    fn born(&mut self, address: u64, bytes: usize) {
        let first = address.div_ceil(LINE_BYTES);
        let end = (address + bytes as u64) / LINE_BYTES;
        for line in first..end {
            self.lines.renew(line);
        }
    }
}

/// Blocks are numbers that are spread already, but for their lowest bits.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, value: u64) {
        // Fibonacci hashing: the golden ratio of 64 bits. The table takes its bucket
        // from the lowest bits, and its tag from the topmost.
        let mixed = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

pub(super) type Spreading = BuildHasherDefault<Spread>;

/// The numbers of lines, by address.
pub(super) struct Lines {
    /// Block by block.
    numbers: Vec<u32>,
    /// Where a block begins in `numbers`.
    places: HashMap<u64, usize, Spreading>,
    recent: Box<[(u64, usize); RECENT_BLOCKS]>,
    next: u32,
}

/// No line has this number.
const NONE: u32 = u32::MAX;

impl Default for Lines {
    fn default() -> Self {
        Self {
            numbers: Vec::new(),
            places: HashMap::default(),
            recent: Box::new([(u64::MAX, 0); RECENT_BLOCKS]),
            next: 0,
        }
    }
}

impl Lines {
    #[inline]
    fn number(&mut self, line: u64) -> u32 {
        let at = self.place_of(line);
        match self.numbers[at] {
            NONE => self.renew(line),
            number => number,
        }
    }

    #[cold]
    #[inline(never)]
    fn renew(&mut self, line: u64) -> u32 {
        let number = self.next;
        assert!(
            number != NONE,
            "a simulation has 2^32 - 1 lines at the most"
        );
        self.next += 1;
        let at = self.place_of(line);
        self.numbers[at] = number;
        number
    }

    /// Where the number of a line is.
    #[inline]
    fn place_of(&mut self, line: u64) -> usize {
        let (block, at) = (line / BLOCK_LINES as u64, line % BLOCK_LINES as u64);
        let (known, place) = self.recent[(block % RECENT_BLOCKS as u64) as usize];
        let place = match known == block {
            true => place,
            false => self.find_block(block),
        };
        place + at as usize
    }

    #[cold]
    #[inline(never)]
    fn find_block(&mut self, block: u64) -> usize {
        let place = *self.places.entry(block).or_insert_with(|| {
            let place = self.numbers.len();
            self.numbers.resize(place + BLOCK_LINES, NONE);
            place
        });
        self.recent[(block % RECENT_BLOCKS as u64) as usize] = (block, place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_in_the_order_of_their_first_use() {
        let mut lines = Lines::default();
        let far = (RECENT_BLOCKS * BLOCK_LINES) as u64;
        let numbers = [9, 9 + far, 10, 9, 9 + far].map(|line| lines.number(line));
        assert_eq!(numbers, [0, 1, 2, 0, 1]);
        lines.renew(9);
        assert_eq!([9, 10].map(|line| lines.number(line)), [3, 2]);
    }

    #[test]
    fn a_region_costs_all_its_lines() {
        struct Uniform;
        impl Memory for Uniform {
            fn access(&mut self, _cpu: usize, _line: u32, _how: Access, _now: u64) -> u64 {
                4
            }
        }
        let mut memory = Numbered {
            memory: Uniform,
            lines: Lines::default(),
        };
        let mut cycles = |at| memory.access(0, at, Access::Read, 0).0;
        assert_eq!([(60, 0), (60, 4), (60, 5)].map(&mut cycles), [0, 4, 8]);
    }
}
