//! Virtual time: what takes it, and what happens when.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use mely_sim::engine::{Memory, MemoryModel, Outcome, Settings, Simulation, SimulationError};
use mely_sim::mely::{Access, Builder, Region};

fn simulation(workers: usize) -> Simulation {
    let builder = Builder::default().workers(workers);
    Simulation::new(builder, Settings::xeon_e5410()).unwrap()
}

#[test]
fn handlers_take_the_time_that_they_spend() {
    let simulation = simulation(1);
    let color = simulation.handle().new_color();
    (0..3).for_each(|_| color.post_or_shed(|(), cx| cx.spend(10_000)));
    assert_eq!(simulation.now(), 0, "nothing runs by itself");
    assert_eq!(simulation.run_until_idle().unwrap(), Outcome::Idle);
    let now = simulation.now();
    assert!((30_000..60_000).contains(&now), "{now}");
    assert_eq!(simulation.handle().metrics().cycles_per_second, 2.33e9);
}

#[test]
fn time_goes_on_when_nothing_happens() {
    let simulation = simulation(2);
    assert_eq!(simulation.run_until(1_000_000).unwrap(), Outcome::Idle);
    assert_eq!(simulation.now(), 1_000_000);
    let color = simulation.handle().new_color();
    simulation.at(5_000_000, move |_| {
        color.post_or_shed(|(), cx| cx.spend(10))
    });
    assert_eq!(simulation.run_until(4_000_000).unwrap(), Outcome::TimeIsUp);
    assert_eq!(simulation.now(), 4_000_000);
    assert_eq!(simulation.handle().metrics().events.run, 0);
    simulation.run_until_idle().unwrap();
    assert!(simulation.now() > 5_000_000);
    assert_eq!(simulation.handle().metrics().events.run, 1);
    assert!(simulation.slept_cycles(0) + simulation.slept_cycles(1) > 9_000_000);
}

#[test]
fn timers_fire_at_their_virtual_time() {
    let simulation = simulation(2);
    let fired = Arc::new(AtomicU64::new(0));
    let color = simulation.handle().colored(None::<Instant>);
    let note = Arc::clone(&fired);
    color.post_or_shed(move |start, cx| {
        *start = Some(cx.now());
        cx.colored()
            .post_after(Duration::from_millis(20), move |start, cx| {
                let waited = cx.now() - start.take().unwrap();
                note.store(waited.as_micros() as u64, Relaxed);
            });
    });
    simulation.run_until_idle().unwrap();
    let waited = fired.load(Relaxed);
    assert!((20_000..20_100).contains(&waited), "{waited} µs");
    assert!(simulation.elapsed() >= Duration::from_millis(20));
    let metrics = simulation.handle().metrics();
    assert_eq!(metrics.total(|w| w.timers_fired), 1);
    assert!(metrics.total(|w| w.parks) >= 2, "both slept");
}

#[test]
fn outside_can_wait_for_what_the_workers_do() {
    let simulation = simulation(3);
    let sum = simulation.handle().colored(0);
    (1..=4).for_each(|n| sum.post_or_shed(move |sum, _| *sum += n));
    assert_eq!(sum.blocking_with(|sum| *sum), 10);
    sum.post_after(Duration::from_millis(1), |sum, _| *sum = 0);
    simulation.handle().wait_idle();
    assert_eq!(sum.call(|sum, _| *sum).wait(), Ok(0));
}

/// Memory that tells what it was asked for.
struct Told(Arc<AtomicU64>);

impl Memory for Told {
    fn access(&mut self, _cpu: usize, _line: u32, how: Access, _now: u64) -> u64 {
        if how == Access::Write {
            self.0.fetch_add(1, Relaxed);
        }
        1
    }
}

#[test]
fn what_handlers_touch_is_charged_by_the_line() {
    let writes = Arc::new(AtomicU64::new(0));
    let settings = Settings {
        memory: MemoryModel::lines(Told(Arc::clone(&writes))),
        ..Settings::xeon_e5410()
    };
    let simulation = Simulation::new(Builder::default().workers(1), settings).unwrap();
    let color = simulation.handle().new_color();
    let told = Arc::clone(&writes);
    color.post_or_shed(move |(), cx| {
        let before = (told.load(Relaxed), cx.now());
        cx.touch(Region::logical(1, 80 << 10), Access::Write);
        assert_eq!(told.load(Relaxed) - before.0, (80 << 10) / 64);
        assert!(cx.now() > before.1);
    });
    simulation.run_until_idle().unwrap();
    assert_eq!(simulation.handle().metrics().total(|w| w.panics), 0);
}

#[test]
fn a_thread_has_one_simulation_at_a_time() {
    let first = simulation(1);
    let second = Simulation::new(Builder::default(), Settings::xeon_e5410());
    assert!(matches!(second, Err(SimulationError::Busy)));
    drop(first);
    simulation(1);
    let none = Simulation::new(Builder::default().workers(0), Settings::xeon_e5410());
    assert!(matches!(none, Err(SimulationError::Build(_))));
}
