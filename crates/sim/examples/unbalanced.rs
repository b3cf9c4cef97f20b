//! How fast the simulator is: the `unbalanced` workload of seed 000 (section V-B) on
//! eight virtual cores, in simulated events a second of real time.
//!
//! `cargo run --release -p mely-sim --example unbalanced [ROUNDS] [SLACK] [POLICY] [MEMORY]`
//!
//! `MEMORY` is `flat`, where every line costs the same, `owners`, where the line that
//! another core wrote last is far away, or `caches`, all caches of the papers' machine.

use std::error::Error;
use std::time::{Duration, Instant};

use mely_sim::engine::{LINE_BYTES, Memory, MemoryModel, Order, Settings, Simulation};
use mely_sim::machine::Machine;
use mely_sim::mely::{Access, Builder, Context, Handler, Policy};

const ROUND: u64 = 50_000;

static SHORT: Handler = Handler::new("short").cost_cycles(100);
static LONG: Handler = Handler::new("long").cost_cycles(30_000);

/// Memory in which the line that another core wrote last is far away.
#[derive(Default)]
struct Owners(Vec<u16>);

impl Memory for Owners {
    fn access(&mut self, cpu: usize, line: u32, how: Access, _now: u64) -> u64 {
        let line = line as usize;
        if line >= self.0.len() {
            self.0.resize(2 * line + 2, u16::MAX);
        }
        let near = self.0[line] == cpu as u16;
        if !near && (how != Access::Read || self.0[line] == u16::MAX) {
            self.0[line] = cpu as u16;
        }
        match near {
            true => 4,
            false => 110,
        }
    }
}

/// One round: 98 % of 100 cycles, 2 % of 10 to 50 Kcycles, each with its own color.
fn post_round(cx: &mut Context<'_, u64>) {
    for event in 0..ROUND {
        if event % 50 == 49 {
            let cycles = 10_000 + event * 7919 % 40_001;
            cx.with_handler(&LONG)
                .post_parallel(move |(), cx| cx.spend(cycles));
        } else {
            cx.with_handler(&SHORT)
                .post_parallel(|(), cx| cx.spend(100));
        }
    }
}

const MEMORIES: [&str; 3] = ["flat", "owners", "caches"];

fn run(policy: Policy, rounds: u64, order: Order, memory: &str) -> Result<(), Box<dyn Error>> {
    let mut settings = match memory {
        "caches" => Settings::on(&Machine::find("xeon-e5410")?, policy)?.0,
        _ => Settings::xeon_e5410(),
    };
    if memory == "owners" {
        settings.memory = MemoryModel::lines(Owners::default());
    }
    settings.order = order;
    let simulation = Simulation::new(Builder::default().policy(policy), settings)?;
    let source = simulation.handle().color_options().start_on(0).colored(0)?;
    let round = || {
        source.post_or_shed(|_, cx| post_round(cx));
        simulation.run_until_idle()
    };
    round()?;
    let (start, before) = (Instant::now(), simulation.handle().metrics().events.run);
    for _ in 0..rounds {
        round()?;
    }
    let took = start.elapsed().as_secs_f64();
    let metrics = simulation.handle().metrics();
    let virtual_seconds = simulation.elapsed().as_secs_f64();
    println!(
        "{policy:>22} {:6}: {:6.2} M simulated events/s; {:7.0} Kev/s virtual, {} steals, \
         {:.0} cycles each, {} switches, {} B lines",
        memory,
        (metrics.events.run - before) as f64 / took / 1e6,
        metrics.events.run as f64 / virtual_seconds / 1e3,
        metrics.total(|w| w.steals),
        metrics.cycles_per_steal().unwrap_or(0.0),
        simulation.counts().switches,
        LINE_BYTES,
    );
    simulation.shutdown(Duration::from_secs(1))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let rounds = args.next().map_or(Ok(4), |text| text.parse())?;
    let slack = args.next().map_or(Ok(100), |text| text.parse())?;
    let (only, only_memory) = (args.next(), args.next());
    let chosen = |policy: &Policy| only.as_ref().is_none_or(|name| *name == policy.to_string());
    let wanted = |memory: &&str| only_memory.as_ref().is_none_or(|name| name == memory);
    for memory in MEMORIES.into_iter().filter(wanted) {
        for policy in Policy::ALL.into_iter().filter(chosen) {
            run(policy, rounds, Order::Time { slack }, memory)?;
        }
    }
    Ok(())
}
