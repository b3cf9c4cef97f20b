//! Figures do not depend on where the allocator puts things.

use mely_sim::engine::{Settings, Simulation};
use mely_sim::machine::Machine;
use mely_sim::mely::{Builder, Colored, Context, Policy, Region};
use mely_sim::paper::{Assumed, Size, Table};

/// Holes of all sizes between blocks that stay: what is allocated next comes to lie in
/// them, at any place in a cache line.
fn scatter(seed: u64) -> Vec<Vec<u8>> {
    let mut chance = fastrand::Rng::with_seed(seed);
    let all: Vec<_> = (0..50_000)
        .map(|_| vec![0; chance.usize(1..2_000)])
        .collect();
    all.into_iter().filter(|_| chance.bool()).collect()
}

/// The same on threads whose memory looks different: each has its own part of the heap.
fn on_other_layouts<R: PartialEq + std::fmt::Debug + Send>(what: &str, run: impl Fn() -> R + Sync) {
    let of = |seed| {
        let _kept = scatter(seed);
        run()
    };
    let of = &of;
    let [one, other] = std::thread::scope(|scope| {
        [1, 2]
            .map(|seed| scope.spawn(move || of(seed)))
            .map(|thread| thread.join().unwrap())
    });
    assert_eq!(one, other, "{what}");
}

fn check(table: Table) {
    let machine = Machine::find(table.machine()).unwrap();
    for policy in table.policies() {
        on_other_layouts(&format!("{table} {policy}"), || {
            let assumed = Assumed::default();
            table
                .run_assuming(policy, &machine, Size::Small, &assumed)
                .unwrap()
        });
    }
}

/// Its connections' states are in boxes, and so are asked for ahead.
#[test]
fn of_the_web_server() {
    check(Table::Web);
}

#[test]
fn of_rounds_of_long_and_short_events() {
    check(Table::Unbalanced);
}

/// What asks, and what answers.
struct Asker {
    other: Colored<u64>,
    left: u32,
}

impl Asker {
    fn ask(&mut self, cx: &mut Context<'_, Self>) {
        self.left -= 1;
        let left = u64::from(self.left);
        let answer = self.other.call(move |sum, cx| {
            cx.spend(200 + 40 * (left % 7));
            *sum += 1;
            *sum
        });
        let _reply = cx.colored().spawn(async move {
            let _answered = answer.await;
        });
        // Now and then a long event, behind which others wait.
        cx.spend(if left.is_multiple_of(9) { 60_000 } else { 300 });
        if self.left > 0 {
            cx.post_or_shed(Self::ask);
        }
    }
}

/// The hash of each operation that is charged, with the number of its line.
fn of_calls(policy: Policy) -> u64 {
    let machine = Machine::find("xeon-e5410").unwrap();
    let (mut settings, _) = Settings::on(&machine, policy).unwrap();
    settings.trace = true;
    let simulation = Simulation::new(Builder::default().policy(policy), settings).unwrap();
    let handle = simulation.handle();
    for asker in 0..40 {
        let other = handle.colored(asker);
        let options = handle.color_options().start_on(0);
        let asker = options.colored(Asker { other, left: 20 }).unwrap();
        asker.post_or_shed(Asker::ask);
    }
    simulation.run_until_idle().unwrap();
    simulation.trace_hash()
}

#[test]
fn of_calls_tasks_and_held_colors() {
    for policy in [Policy::Mely, Policy::Adaptive, Policy::LibasyncSmp] {
        on_other_layouts(policy.name(), || of_calls(policy));
    }
}

/// The check can fail: this tells of memory by its place.
#[test]
#[should_panic(expected = "boxes")]
fn of_memory_that_is_told_by_its_place_they_do() {
    on_other_layouts("boxes", || {
        let machine = Machine::find("xeon-e5410").unwrap();
        let (mut settings, _) = Settings::on(&machine, Policy::Mely).unwrap();
        settings.trace = true;
        let simulation = Simulation::new(Builder::default(), settings).unwrap();
        let boxes: Vec<_> = (0..64).map(|number| Box::new([number; 5])).collect();
        simulation.handle().new_color().post_or_shed(move |(), cx| {
            for one in &boxes {
                cx.touch(Region::of(&**one), mely_sim::mely::Access::Read);
            }
        });
        simulation.run_until_idle().unwrap();
        simulation.trace_hash()
    });
}
