//! The papers' conclusions, in the small form of their workloads.

use mely_sim::machine::Machine;
use mely_sim::mely::Policy;
use mely_sim::paper::{Assumed, Column, ORDERINGS, Report, Row, Size, Table};

fn report(table: Table) -> Report {
    let machine = Machine::find(table.machine()).unwrap();
    let row = |policy| Row {
        table,
        policy,
        measured: table.run(policy, &machine, Size::Small).unwrap(),
    };
    Report {
        rows: table.policies().into_iter().map(row).collect(),
    }
}

/// Orderings of the table that do not hold; `docs/decisions` says why.
fn check(table: Table, known: &[(Column, Policy, Policy)]) {
    let orderings = report(table).orderings();
    let of_table = ORDERINGS.iter().filter(|ordering| ordering.table == table);
    assert_eq!(orderings.len(), of_table.count(), "every row was run");
    for (ordering, holds) in orderings {
        let known = known.contains(&(ordering.column, ordering.more, ordering.less));
        assert!(holds || known, "{ordering:?}");
    }
}

#[test]
fn unbalanced_is_ordered_as_in_the_paper() {
    check(Table::Unbalanced, &[]);
}

#[test]
fn pinning_is_ordered_as_in_the_paper() {
    use Policy::{CfsePinning, LibasyncSmp, LibasyncSmpNoSteal};
    let known = [
        (Column::KiloEvents, LibasyncSmpNoSteal, CfsePinning),
        (Column::KiloEvents, CfsePinning, LibasyncSmp),
    ];
    check(Table::Pinning, &known);
}

#[test]
fn the_file_server_gains_by_stealing() {
    let known = [(Column::KiloEvents, Policy::Cfse, Policy::LibasyncSmp)];
    check(Table::CfseFiles, &known);
}

#[test]
fn thieves_that_poll_and_spin_are_what_slows_libasync_smp() {
    let machine = Machine::find("xeon-e5410").unwrap();
    let rate = |assumption: Option<&str>| {
        let mut assumed = Assumed::default();
        if let Some(one) = assumption {
            assumed.set(one.parse().unwrap());
        }
        let (policy, size) = (Policy::LibasyncSmp, Size::Small);
        let run = Table::Unbalanced.run_assuming(policy, &machine, size, &assumed);
        run.unwrap().events_per_second
    };
    let (polling, sleeping) = (rate(None), rate(Some("idle-poll-cycles=0")));
    assert!(2.0 * polling < sleeping, "{polling} {sleeping}");
}

#[test]
fn a_workload_is_the_same_every_time() {
    let machine = Machine::find("xeon-e5410").unwrap();
    let run = || Table::Pinning.run(Policy::Cfse, &machine, Size::Small);
    assert_eq!(run().unwrap(), run().unwrap());
}

#[test]
fn a_machine_with_too_few_cores_is_refused() {
    let machine = Machine::find("kvm-xeon-2").unwrap();
    let refused = Table::CacheEfficient.run(Policy::Mely, &machine, Size::Small);
    let said = refused.unwrap_err();
    assert!(said.is_usage(), "{said}");
    assert!(said.to_string().contains("more cores"), "{said}");
}
