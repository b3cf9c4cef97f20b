//! Developer tasks of the Mely workspace.

fn main() {}
