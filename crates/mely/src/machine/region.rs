//! Memory, as a program tells a simulation of it.

use core::ops::Range;

/// How memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written in one, as by a locked instruction.
    Update,
}

/// A piece of memory that a handler touches: what a simulation charges
/// [`Context::touch`](crate::Context::touch) by.
///
/// ```
/// use mely::Region;
/// let table = Region::logical(7, 4096);
/// assert_eq!(table.part(64..128).bytes(), 64);
/// assert_eq!(table.part(4000..9999).bytes(), 96);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    address: u64,
    bytes: usize,
}

impl Region {
    /// The most bytes that a logical region has: 2 GiB.
    pub const LOGICAL_BYTES_MAX: usize = 1 << 31;

    /// The memory of a value: of a slice its elements, of a `Vec` its three words.
    pub fn of<T: ?Sized>(value: &T) -> Self {
        Self {
            address: core::ptr::from_ref(value).addr() as u64,
            bytes: size_of_val(value),
        }
    }

    /// Memory that only the simulation has: it begins a cache line, and is the same
    /// in every run. Regions with different numbers do not overlap.
    #[must_use]
    pub const fn logical(number: u32, bytes: usize) -> Self {
        let bytes = if bytes < Self::LOGICAL_BYTES_MAX {
            bytes
        } else {
            Self::LOGICAL_BYTES_MAX
        };
        Self {
            // No address of user space has the topmost bit.
            address: (1 << 63) | ((number as u64) << 31),
            bytes,
        }
    }

    /// A part of it, in bytes from its beginning; what would be outside is left out.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        let end = range.end.min(self.bytes);
        let start = range.start.min(end);
        Self {
            address: self.address + start as u64,
            bytes: end - start,
        }
    }

    /// Where it begins.
    #[must_use]
    pub fn address(self) -> u64 {
        self.address
    }

    /// Its size.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bytes
    }
}
