//! Random programs: the scheduler stands, and each check finds what it is for.

use mely_sim::explore::{Fault, Program, execute, shrink};
use mely_sim::mely::Policy;

/// In four parts, which the test harness may run beside each other.
fn explore(seeds: std::ops::Range<u64>) {
    let mut hash = 0_u64;
    for seed in seeds {
        let program = Program::random(seed);
        let run = execute(&program, None);
        if let Some(violation) = run.violation {
            panic!("seed {seed}: {violation}\n{program}\nagain: mely sim explore --first {seed} --seeds 1");
        }
        hash = hash.rotate_left(5) ^ run.hash;
    }
    println!("{hash:016x}");
}

#[test]
fn seeds_0_to_249_break_nothing() {
    explore(0..250);
}

#[test]
fn seeds_250_to_499_break_nothing() {
    explore(250..500);
}

#[test]
fn seeds_500_to_749_break_nothing() {
    explore(500..750);
}

#[test]
fn seeds_750_to_999_break_nothing() {
    explore(750..1_000);
}

#[test]
fn a_thousand_seeds_are_of_every_kind() {
    let programs: Vec<_> = (0..1_000).map(Program::random).collect();
    for policy in Policy::ALL {
        assert!(programs.iter().any(|p| p.policy == policy), "{policy}");
    }
    for cores in 1..=8 {
        assert!(programs.iter().any(|p| p.cores == cores), "{cores} cores");
    }
    assert!(programs.iter().any(|p| p.poison));
}

/// A planted bug is found by its check, in that many seeds, and by no other.
#[test]
fn each_check_finds_its_planted_bug() {
    const SEEDS: u64 = 60;
    for fault in Fault::ALL {
        let found: Vec<_> = (0..SEEDS)
            .filter_map(|seed| Some((seed, execute(&Program::random(seed), Some(fault)).violation?)))
            .collect();
        assert!(!found.is_empty(), "{fault:?} is not found in {SEEDS} seeds");
        for (seed, violation) in found {
            assert_eq!(violation.invariant, fault.check(), "{fault:?}, seed {seed}: {violation}");
        }
    }
}

#[test]
fn what_fails_is_made_smaller() {
    let broken = |program: &Program| execute(program, Some(Fault::SwappedPosts));
    let find = |seed| Some((seed, broken(&Program::random(seed)).violation?));
    let (seed, violation) = (0..20).find_map(find).unwrap();
    let small = shrink(&Program::random(seed), violation, 500, broken);
    let text = small.program.to_string();
    // A head, a color, an arrival, what it posts, the end; perhaps what that posts.
    assert!(text.lines().count() <= 8, "{text}");
    assert_eq!(broken(&small.program).violation, Some(small.violation));
}
