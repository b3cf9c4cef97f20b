//! Costs, learned and told.

use mely_sched::{MOVE_CYCLES, Policy};

use super::*;
use crate::event::handler::Handler;

static PLAIN: Handler = Handler::new("costs::Plain");
static ANNOTATED: Handler = Handler::new("costs::Annotated").penalty(2);
static UNMOVED: Handler = Handler::new("costs::Unmoved").penalty(1);

const CYCLES: u64 = 10_000;

struct Core {
    costs: Costs,
    counts: HandlerCounts,
}

impl Core {
    /// Two cores of a runtime that know what the events of a handler cost.
    fn two(policy: Policy, kind: Kind) -> [Core; 2] {
        let penalties = Arc::new(Penalties::new());
        [0, 1].map(|_| {
            let core = Core {
                costs: Costs::new(policy.heuristics(), Arc::clone(&penalties)),
                counts: HandlerCounts::default(),
            };
            core.run(kind, 50);
            core
        })
    }

    fn run(&self, kind: Kind, events: usize) {
        let id = self.costs.weight(kind).id;
        (0..events).for_each(|_| self.costs.sample(id, CYCLES, &self.counts));
    }

    fn run_stolen(&self, kind: Kind, events: usize, times: u64) {
        let id = self.costs.weight(kind).id;
        let cycles = CYCLES * times + u64::from(MOVE_CYCLES);
        (0..events).for_each(|_| self.costs.sample_after_move(id, cycles, &self.counts));
    }

    fn weight(&self, kind: Kind) -> u64 {
        u64::from(self.costs.weight(kind).time_left_cycles)
    }
}

/// What an event weighs on the victim after it was ten times slower on the thief.
fn weight_after_steals(policy: Policy, handler: &'static Handler) -> u64 {
    let kind = Kind::of::<()>(Some(handler));
    let [victim, thief] = Core::two(policy, kind);
    thief.run_stolen(kind, 20, 10);
    assert_eq!(thief.counts.moves.get(), 20);
    victim.run(kind, 1);
    let id = thief.costs.weight(kind).id;
    let divided = thief.weight(kind) < CYCLES;
    let stolen = thief.costs.undivided_cycles(id, 3, 7);
    assert_eq!(stolen, if divided { 3 * CYCLES } else { 7 });
    victim.weight(kind)
}

#[test]
fn a_victim_weighs_by_what_a_thief_learned() {
    let weight = weight_after_steals(Policy::Adaptive, &PLAIN);
    // The one event that was timed since has taken a little off.
    assert!((CYCLES / 10..CYCLES / 9).contains(&weight), "{weight}");
}

#[test]
fn an_annotation_wins_and_the_papers_policies_learn_nothing() {
    let annotated = [
        (Policy::Adaptive, CYCLES / 2),
        (Policy::MelyPenalty, CYCLES / 2),
        (Policy::MelyTimeLeft, CYCLES),
    ];
    for (policy, weight) in annotated {
        assert_eq!(weight_after_steals(policy, &ANNOTATED), weight, "{policy}");
    }
    assert_eq!(weight_after_steals(Policy::Adaptive, &UNMOVED), CYCLES);
    assert_eq!(weight_after_steals(Policy::Mely, &PLAIN), CYCLES);
}

#[test]
fn a_penalty_fades_until_a_steal_confirms_or_refutes_it() {
    let kind = Kind::of::<()>(Some(&PLAIN));
    let [victim, thief] = Core::two(Policy::Adaptive, kind);
    thief.run_stolen(kind, 20, 10);
    victim.run(kind, 3_000);
    assert!(victim.weight(kind) > CYCLES * 9 / 10);
    thief.run(kind, 3_000);
    thief.run_stolen(kind, 1, 10);
    victim.run(kind, 1);
    assert!(victim.weight(kind) < CYCLES / 9);
    for _ in 0..12 {
        thief.run(kind, 3_000);
        thief.run_stolen(kind, 1, 1);
    }
    victim.run(kind, 1);
    assert!(victim.weight(kind) > CYCLES / 3, "{}", victim.weight(kind));
}

#[test]
fn a_handler_is_light_by_its_mean_and_before_it_is_known() {
    let kind = Kind::of::<()>(Some(&PLAIN));
    let costs = Costs::new(Policy::Adaptive.heuristics(), Arc::new(Penalties::new()));
    let core = Core {
        costs,
        counts: HandlerCounts::default(),
    };
    let id = core.costs.weight(kind).id;
    assert!(core.costs.is_light(id), "nothing is known of it");
    core.run(kind, 20);
    core.costs.sample(id, 1_000 * CYCLES, &core.counts);
    assert_eq!(core.costs.manner(id), Manner::WithCare);
    assert!(core.costs.is_light(id), "it was interrupted once");
    (0..50).for_each(|_| core.costs.sample(id, 10 * CYCLES, &core.counts));
    assert!(!core.costs.is_light(id));
}

#[test]
fn a_core_that_only_steals_learns_what_an_event_costs() {
    let kind = Kind::of::<()>(Some(&PLAIN));
    let costs = Costs::new(Policy::Adaptive.heuristics(), Arc::new(Penalties::new()));
    let core = Core {
        costs,
        counts: HandlerCounts::default(),
    };
    core.run_stolen(kind, 10, 1);
    assert!(core.weight(kind) >= CYCLES);
    assert!(!core.costs.is_new(core.costs.weight(kind).id));
}
