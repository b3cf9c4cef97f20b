//! What the rest of the simulator knows of a machine's memory.

/// How a line is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it.
    Load,
    /// Writes it: other cores lose their copies.
    Store,
    /// Reads and writes it atomically.
    Rmw,
}

/// A memory that is charged for.
///
/// Lines are numbered densely from 0 by whoever allocates them: a line's number is
/// its address divided by the line size.
///
/// ```
/// use mely_sim::machine::{Access, Memory};
///
/// /// Every access costs the same.
/// struct Uniform;
/// impl Memory for Uniform {
///     fn access(&mut self, _core: usize, _line: u32, _how: Access) -> u64 {
///         3
///     }
/// }
/// assert_eq!(Uniform.access_range(0, 100, 8, Access::Load), 24);
/// ```
pub trait Memory {
    /// Charges one access of a core, and returns its cycles.
    fn access(&mut self, core: usize, line: u32, how: Access) -> u64;

    /// Charges a walk over consecutive lines, and returns its cycles.
    fn access_range(&mut self, core: usize, first_line: u32, lines: u32, how: Access) -> u64 {
        (first_line..first_line.saturating_add(lines))
            .map(|line| self.access(core, line, how))
            .sum()
    }
}
