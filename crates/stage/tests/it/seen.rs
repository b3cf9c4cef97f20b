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
