//! The figures as curves: a picture for each workload.

use mely_plot::{Curve, Panel, Picture};

use super::{Point, Workload, efficiency};
use crate::mely::Policy;

/// Draws the points of a workload as SVG; `machine` says on what they were simulated.
///
/// # Errors
///
/// What the plotting library says.
pub fn draw(workload: Workload, machine: &str, points: &[Point]) -> Result<String, String> {
    let points: Vec<&Point> = points.iter().filter(|p| p.workload == workload).collect();
    let mut policies: Vec<Policy> = Vec::new();
    for point in &points {
        if !policies.contains(&point.policy) {
            policies.push(point.policy);
        }
    }
    let curves = |figure: &dyn Fn(&Point) -> f64| {
        let curve = |&policy: &Policy| Curve {
            name: policy.to_string(),
            ours: policy == Policy::default(),
            points: points
                .iter()
                .filter(|point| point.policy == policy)
                .map(|point| (point.cores, figure(point)))
                .collect(),
        };
        policies.iter().map(curve).collect()
    };
    let panel = |title: &str, doubling, figure: &dyn Fn(&Point) -> f64| Panel {
        title: title.to_owned(),
        doubling,
        curves: curves(figure),
    };
    let gain = |point: &Point| {
        let all = points.iter().copied();
        100.0 * efficiency(point, all).unwrap_or(0.0)
    };
    let picture = Picture {
        title: format!("scale: {workload}"),
        subtitle: format!("simulated: {machine}"),
        panels: vec![
            panel(workload.unit(), true, &|point| point.per_second),
            panel("efficiency, % of the rate of one core", false, &gain),
            panel("steals/s", false, &|point| point.steals_per_second),
            panel("locking, % of all time", false, &|point| {
                100.0 * point.locking
            }),
        ],
    };
    picture.draw()
}
