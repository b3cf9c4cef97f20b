//! Memory for what there is much of, events and colors: where it comes from, and free
//! blocks kept for reuse.

pub(crate) mod pool;
pub(crate) mod slab;
