//! The benchmarks in a process whose global allocator is mimalloc.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    mely_bench::main()
}
