//! Workloads on more and more cores.

use mely_sim::machine::Machine;
use mely_sim::mely::Policy;
use mely_sim::scale::{Point, Size, Workload, draw, efficiency, measure};

fn point(workload: Workload, policy: Policy, cores: usize) -> Point {
    let machine = Machine::find("xeon-8592-2s").unwrap();
    let machine = machine.with_cores(cores).unwrap();
    measure(workload, policy, &machine, Size::Small).unwrap()
}

#[test]
fn every_workload_runs_under_every_policy() {
    for workload in Workload::ALL {
        for policy in Policy::ALL {
            let points = [1, 4].map(|cores| point(workload, policy, cores));
            let [one, four] = &points;
            assert_eq!((one.cores, four.cores), (1, 4));
            assert!(one.per_second > 0.0, "{one:?}");
            assert_eq!(one.steals_per_second, 0.0, "{one:?}");
            assert!((0.0..1.0).contains(&four.locking), "{four:?}");
            if !policy.heuristics().steal {
                assert_eq!(four.steals_per_second, 0.0, "{four:?}");
            }
            let gain = efficiency(four, points.iter()).unwrap();
            assert!((0.0..1.5).contains(&gain), "{gain}: {four:?}");
        }
    }
}

#[test]
fn what_spreads_by_itself_and_what_is_worth_a_steal_gains_by_cores() {
    let gain = |workload, policy| {
        let points = [1, 8].map(|cores| point(workload, policy, cores));
        8.0 * efficiency(&points[1], points.iter()).unwrap()
    };
    for policy in [Policy::MelyNoSteal, Policy::Mely, Policy::Adaptive] {
        let web = gain(Workload::Web, policy);
        assert!(web > 6.0, "{policy}: {web}");
    }
    let steals = gain(Workload::CacheEfficient, Policy::Mely);
    let stays = gain(Workload::CacheEfficient, Policy::MelyNoSteal);
    // Every second core has all the work.
    assert!(stays < 4.1 && steals > stays, "{stays} {steals}");
}

#[test]
fn a_point_is_the_same_every_time() {
    for workload in Workload::ALL {
        let of = || point(workload, Policy::Adaptive, 16);
        assert_eq!(of(), of());
    }
}

#[test]
fn points_become_a_picture() {
    let points: Vec<Point> = [1, 2]
        .map(|cores| point(Workload::Web, Policy::Adaptive, cores))
        .to_vec();
    let svg = draw(Workload::Web, "a machine", &points).unwrap();
    for text in [
        "scale: web",
        "a machine",
        "requests/s",
        "adaptive",
        "</svg>",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(efficiency(&points[0], std::iter::empty()).is_none());
}
