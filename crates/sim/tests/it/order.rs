//! The same seed is the same simulation.

use mely_sim::engine::{Order, Settings, Simulation};
use mely_sim::mely::{Builder, Context, Policy};

/// Posts to colors of its own, deeper and deeper.
fn spread(cx: &mut Context<'_, ()>, depth: u64) {
    cx.spend(13 * depth + 50);
    for child in 0..depth {
        cx.post_parallel(move |(), cx| spread(cx, child));
    }
}

fn hash(policy: Policy, settings: Settings) -> u64 {
    let simulation = Simulation::new(Builder::default().policy(policy), settings).unwrap();
    simulation
        .handle()
        .numbered_color(3)
        .post_or_shed(|(), cx| spread(cx, 7));
    simulation.run_until_idle().unwrap();
    let metrics = simulation.handle().metrics();
    assert_eq!(metrics.events.run, 1 << 7);
    simulation.note(metrics.total(|w| w.steals));
    simulation.trace_hash()
}

#[test]
fn a_seed_is_always_the_same_simulation_and_another_is_not() {
    for policy in Policy::ALL {
        let of = |seed| hash(policy, Settings::random(4, seed).unwrap());
        assert_eq!(of(1), of(1), "{policy}");
        assert_ne!(of(1), of(2), "{policy}");
    }
}

/// Nor does the build: `--release --nocapture` prints the same hash.
#[test]
fn where_memory_lies_does_not_matter() {
    let once = hash(Policy::Mely, Settings::random(4, 42).unwrap());
    // Other memory layouts: some more allocations, and another thread.
    let _elsewhere: Vec<_> = (0..999).map(|size| vec![0_u8; size]).collect();
    let again = std::thread::spawn(|| hash(Policy::Mely, Settings::random(4, 42).unwrap()));
    assert_eq!(again.join().unwrap(), once);
    println!("trace hash of seed 42: {once:016x}");
}

#[test]
fn the_order_of_time_is_always_the_same_too() {
    for policy in Policy::ALL {
        let settings = |slack| Settings {
            order: Order::Time { slack },
            trace: true,
            ..Settings::xeon_e5410()
        };
        let of = |slack| hash(policy, settings(slack));
        assert_eq!(of(0), of(0), "{policy}");
        assert_eq!(of(500), of(500), "{policy}");
    }
}
