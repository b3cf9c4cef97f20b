//! Benchmarks of Mely beside its peers, interleaved in one run.

fn main() {}
