//! Benchmarks of Mely beside its peers, interleaved in one run.

use std::process::ExitCode;

fn main() -> ExitCode {
    mely_bench::main()
}
