//! How fast the caches are charged, in nanoseconds of this machine for each access:
//! `cargo run --release -p mely-sim --example access_speed`.

use std::hint::black_box;
use std::time::Instant;

use mely_sim::machine::{Access, Caches, Machine, MachineError, Memory};

const ACCESSES: u32 = 4_000_000;
const REPEATS: usize = 5;

fn measure(what: &str, caches: &mut Caches, mut run: impl FnMut(&mut Caches) -> u32) {
    let mut best = f64::MAX;
    for _ in 0..REPEATS {
        let start = Instant::now();
        let accesses = run(caches);
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(accesses));
    }
    println!("  {what:42} {best:6.2} ns");
}

fn main() -> Result<(), MachineError> {
    for name in ["xeon-e5410", "xeon-8592-2s"] {
        let machine = Machine::find(name)?;
        println!("{name}");
        let caches = &mut Caches::new(&machine)?;
        measure("load, the same line", caches, |caches| {
            for _ in 0..ACCESSES {
                black_box(caches.access(0, 5, Access::Load));
            }
            ACCESSES
        });
        for how in [Access::Load, Access::Store] {
            measure(&format!("{how:?}, 400 lines in its L1"), caches, |caches| {
                for step in 0..ACCESSES {
                    black_box(caches.access(0, step.wrapping_mul(167) % 400, how));
                }
                ACCESSES
            });
        }
        for (called, lines) in [("its L1", 400), ("its L2", 10_000)] {
            measure(&format!("walk over {lines} lines, {called}"), caches, |c| {
                let walks = ACCESSES / lines;
                for _ in 0..walks {
                    black_box(c.access_range(0, 0, lines, Access::Load));
                }
                walks * lines
            });
        }
        measure("walk over 1000000 lines, memory", caches, |caches| {
            black_box(caches.access_range(0, 0, 1_000_000, Access::Load));
            1_000_000
        });
        measure("store, a line between two cores", caches, |caches| {
            for step in 0..ACCESSES {
                black_box(caches.access(step as usize % 2, 5, Access::Store));
            }
            ACCESSES
        });
    }
    Ok(())
}
