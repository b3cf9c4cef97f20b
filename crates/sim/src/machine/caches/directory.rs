//! Who has a line, and where it lives.

/// No core owns the line, or no node has it yet.
pub(super) const NOBODY: u16 = u16::MAX;

const _: () = assert!(super::super::CORES_MAX < NOBODY as usize);

/// What is known of a line.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The core that has it modified; then no other has it.
    pub(super) owner: u16,
    /// The node whose memory it is in.
    pub(super) home: u16,
}

const UNKNOWN: Entry = Entry {
    owner: NOBODY,
    home: NOBODY,
};

/// Every line that was touched.
pub(super) struct Directory {
    entries: Vec<Entry>,
    /// A bit for each core that may have the line in a cache of its path: caches
    /// forget silently.
    readers: Vec<u64>,
    /// Of `readers`, for each line.
    words: usize,
}

impl Directory {
    pub(super) fn new(cores: usize) -> Self {
        Self {
            entries: Vec::new(),
            readers: Vec::new(),
            words: cores.div_ceil(64),
        }
    }

    #[inline]
    pub(super) fn words(&self) -> usize {
        self.words
    }

    #[inline]
    pub(super) fn is_owner(&self, line: u32, core: usize) -> bool {
        let entry = self.entries.get(line as usize);
        entry.is_some_and(|entry| usize::from(entry.owner) == core)
    }

    #[inline]
    pub(super) fn entry(&mut self, line: u32) -> &mut Entry {
        let line = line as usize;
        if line >= self.entries.len() {
            self.grow(line);
        }
        &mut self.entries[line]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, line: usize) {
        // Doubled, or a walk over new lines would copy all at each.
        let lines = (line + 1).next_power_of_two();
        self.entries.resize(lines, UNKNOWN);
        self.readers.resize(lines * self.words, 0);
    }

    #[inline]
    pub(super) fn add_reader(&mut self, line: u32, core: usize) {
        self.entry(line);
        self.readers[line as usize * self.words + core / 64] |= 1 << (core % 64);
    }

    /// A word of the cores that may have the line, `core` left out.
    #[inline]
    pub(super) fn readers(&mut self, line: u32, word: usize, core: usize) -> u64 {
        self.entry(line);
        let own = match core / 64 == word {
            true => 1 << (core % 64),
            false => 0,
        };
        self.readers[line as usize * self.words + word] & !own
    }

    #[inline]
    pub(super) fn own(&mut self, line: u32, core: usize) {
        // `CORES_MAX` fits.
        self.entry(line).owner = core as u16;
        let first = line as usize * self.words;
        self.readers[first..first + self.words].fill(0);
        self.add_reader(line, core);
    }
}
