//! Random programs: the scheduler stands, and each check finds what it is for.

use mely_sim::explore::{Fault, Program, execute, shrink};
use mely_sim::mely::Policy;

/// Policies and numbers of cores are spread over all seeds. In four parts, which may
/// run beside each other.
fn explore(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let program = Program::random(seed);
        if let Some(violation) = execute(&program, None).violation {
            let again = format!("mely sim explore --first {seed} --seeds 1");
            panic!("seed {seed}: {violation}\n{program}\nagain: {again}");
        }
    }
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
    let has_number = |p: &Program| p.colors.iter().any(|color| color.number.is_some());
    assert!(programs.iter().any(has_number));
    let texts: Vec<_> = programs.iter().map(Program::to_string).collect();
    for action in [
        "wait for a section",
        "spawn on",
        "cancel",
        "panic\n",
        "drop the",
        "dropped:\n",
        "ask",
        "drop what its state refers to",
        "Control to",
        "waits for room in",
        "calls, once there is room,",
        "stop 0, Run",
        "stop 0, Drop",
        "end the program",
        "its state refers to",
        "and to the runtime",
        "a thread, at",
        " later:\n",
    ] {
        assert!(texts.iter().any(|text| text.contains(action)), "{action}");
    }
}

/// A planted bug is found by its check, within so many seeds, and by no other.
#[test]
fn each_check_finds_its_planted_bug() {
    for fault in Fault::ALL {
        // On a thread of its own: a core that is given up while it panics has the thread
        // count as panicking for ever.
        let found = std::thread::spawn(move || times_found(fault)).join();
        assert!(found.unwrap() > 0, "{fault:?} is not found");
    }
}

fn times_found(fault: Fault) -> u32 {
    let seeds = match fault {
        // A program that never ends takes as long as a hundred others.
        Fault::NoSleep => 6,
        // Who waits for a lock for ever may leave others asleep beside work, too.
        Fault::KeptLock => 20,
        _ => 200,
    };
    let mut found = 0;
    for seed in 0..seeds {
        if let Some(violation) = execute(&Program::random(seed), Some(fault)).violation {
            let check = fault.check();
            assert_eq!(
                violation.invariant, check,
                "{fault:?}, seed {seed}: {violation}"
            );
            found += 1;
        }
    }
    found
}

/// On every machine, in debug and release: a hash that changes with the scheduler or
/// with the programs is written anew; one that differs between builds is a bug.
#[test]
fn a_seed_is_the_same_run_everywhere() {
    let hash = |seed| execute(&Program::random(seed), None).hash;
    let hashes: Vec<_> = (0..HASHES.len() as u64).map(hash).collect();
    assert_eq!(hashes, HASHES, "{hashes:#018x?}");
}

const HASHES: [u64; 8] = [
    0xb548_6511_dd73_2548,
    0xdebc_d120_ffb7_2200,
    0xf7cd_d756_b263_5cbe,
    0x7aff_9886_4553_7c3c,
    0xe8cb_6d83_4ba2_7e03,
    0x3980_61b3_8e91_1a60,
    0x42e2_7987_0f75_89ed,
    0x3c6a_add7_24e6_7c0b,
];

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
