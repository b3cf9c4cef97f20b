//! What is told of stages.

use mely_stage::{Ending, Manager, StageOptions, each, to_json, to_prometheus};

use crate::{LONG, runtime};

#[test]
fn snapshots_are_text_for_prometheus_and_json() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let options = StageOptions::new().colors(1).capacity(5);
    let stage = stages.create("a \"b\"", options, |_| each(|_: u32| ()));
    let stage = stage.expect("created");
    (0..5).for_each(|n| stage.sink().offer(n).expect("room"));
    rt.wait_idle();
    stage.set_capacity(0);
    stage.sink().offer(5).expect_err("no room");
    let seen = stages.snapshots();
    let text = to_prometheus(&seen);
    for line in [
        "# TYPE mely_stage_wait_seconds histogram",
        "mely_stage_handled_total{stage=\"a \\\"b\\\"\"} 5",
        "mely_stage_refused_total{stage=\"a \\\"b\\\"\",reason=\"full\"} 1",
        "mely_stage_service_seconds_count{stage=\"a \\\"b\\\"\"} 5",
        "mely_stage_batch_events_sum{stage=\"a \\\"b\\\"\"} 5",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    let json = to_json(&seen);
    assert!(
        json.starts_with("[{\"stage\":\"a \\\"b\\\"\",\"offered_total\":6,"),
        "{json}"
    );
    assert!(
        json.contains("\"refused_total\":{\"full\":1},\"shed_total\":{},"),
        "{json}"
    );
    assert!(json.contains("\"batch_events\":{\"count\":"), "{json}");
    stage.destroy(Ending::Drain, LONG).expect("drained");
    assert!(stages.snapshots().is_empty());
    assert_eq!(to_json(&[]), "[]");
}

#[test]
fn intervals_of_batches_include_their_ends() {
    let rt = runtime();
    let options = StageOptions::new().colors(1);
    let stage = Manager::new(&rt)
        .create("ones", options, |_| each(|_: u32| ()))
        .expect("created");
    stage.sink().offer(7).expect("room");
    stage.destroy(Ending::Drain, LONG).expect("drained");
    let text = to_prometheus(&[stage.snapshot()]);
    assert!(text.contains("mely_stage_batch_events_bucket{stage=\"ones\",le=\"1\"} 1\n"));
}

#[test]
fn names_stay_apart() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    for name in ["a b", "a\tb", "a\rb", "a\u{0}b"] {
        stages
            .create(name, StageOptions::new(), |_| each(|_: u32| ()))
            .expect("created");
    }
    let json = to_json(&stages.snapshots());
    assert!(json.contains("\"a\\u0009b\"") || json.contains("a\\tb"));
    let text = to_prometheus(&stages.snapshots());
    let mut lines: Vec<_> = text
        .split('\n')
        .filter(|line| !line.starts_with('#'))
        .collect();
    let all = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), all);
}
