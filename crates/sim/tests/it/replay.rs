//! Traces on other machines.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mely_sim::engine::Settings;
use mely_sim::machine::Machine;
use mely_sim::mely::Policy;
use mely_sim::replay::{Arrivals, Conditions, Homes, Program, Replayed, replay};
use mely_trace::{Block, Header, Reader, Run, Writer};

fn read(trace: &[u8]) -> Arc<Program> {
    let mut reader = Reader::new(trace).unwrap();
    let (program, end) = Program::read(&mut reader);
    end.unwrap();
    Arc::new(program)
}

fn on(cores: usize, program: &Arc<Program>, conditions: Conditions) -> Replayed {
    let machine = Machine::find("epyc-9554").unwrap();
    let machine = machine.with_cores(cores).unwrap();
    let (settings, _) = Settings::on(&machine, conditions.policy).unwrap();
    replay(program, settings, conditions, |_| ()).unwrap()
}

/// Computes for some microseconds.
fn compute(turns: u64) {
    let sum = (0..turns).fold(1, |sum, turn| std::hint::black_box(sum ^ (turn * sum)));
    assert_ne!(std::hint::black_box(sum), 7);
}

/// A program of 1 + 12 + 12 * 10 * 2 events and 10 from outside: a start that posts to
/// twelve numbered colors, each of which posts to fresh colors and to itself.
fn record(file: &Path) -> u64 {
    let runtime = mely::Runtime::builder()
        .workers(2)
        .affinity(mely::Affinity::Free)
        .trace(file);
    let runtime = runtime.build().unwrap();
    let starts = runtime.colored(());
    starts.post_or_shed(move |(), cx| {
        let handle = cx.handle();
        for number in 0..12 {
            handle.numbered_color(number).post_or_shed(move |(), cx| {
                for turn in 0..10 {
                    cx.post_or_shed(move |(), _| compute(turn));
                    cx.post_parallel(|(), _| compute(500));
                }
            });
        }
    });
    for number in 0..10 {
        runtime
            .numbered_color(number)
            .post_or_shed(|(), _| compute(100));
    }
    runtime.wait_idle();
    let report = runtime.shutdown(Duration::from_secs(60)).unwrap();
    report.events_run
}

/// One event of a color at a time, and those of a poster in their order.
fn check_order(program: &Program, replayed: &Replayed) {
    let times = &replayed.times;
    let mut by_color: HashMap<u64, Vec<u32>> = HashMap::new();
    for event in 0..program.events() as u32 {
        by_color
            .entry(program.color_of(event))
            .or_default()
            .push(event);
        let times = times[event as usize];
        assert!(times.posted <= times.start && times.start <= times.end);
    }
    for events in by_color.values_mut() {
        events.sort_by_key(|&event| (times[event as usize].start, times[event as usize].end));
        for pair in events.windows(2) {
            let [first, second] = [pair[0], pair[1]].map(|event| times[event as usize]);
            assert!(first.end <= second.start, "{first:?} {second:?}");
        }
    }
    let mut last = HashMap::new();
    for (cause, child, place) in program.posts() {
        let start = times[child as usize].start;
        let key = (cause, program.color_of(child));
        if let Some((before, earlier)) = last.insert(key, (place, start)) {
            assert!(before < place && earlier <= start, "of {cause}: {place}");
        }
    }
}

#[test]
fn a_recorded_program_runs_again_on_any_machine() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("program.trace");
    let events = record(&file);
    let (program, end) = Program::read(&mut Reader::new(File::open(&file).unwrap()).unwrap());
    end.unwrap();
    assert_eq!(program.events() as u64, events);
    assert!(program.roots() >= 11 && program.roots() < 100);
    assert_eq!(program.recorded().events, events);
    assert!(program.recorded().seconds > 0.0);
    let program = Arc::new(program);
    for policy in Policy::ALL {
        for cores in [1, 2, 8] {
            for homes in [Homes::Poster, Homes::Spread] {
                let conditions = Conditions {
                    homes,
                    ..Conditions::new(policy)
                };
                let replayed = on(cores, &program, conditions);
                assert_eq!(replayed.figures.events, events, "{policy} on {cores}");
                assert_eq!(replayed.metrics.events.run, events, "{policy} on {cores}");
                assert_eq!(replayed.figures.utilisation.len(), cores);
                check_order(&program, &replayed);
            }
        }
        let of = |_| on(8, &program, Conditions::new(policy));
        let [one, other] = [0, 1].map(of);
        assert_eq!(
            (one.hash, &one.times),
            (other.hash, &other.times),
            "{policy}"
        );
    }
}

/// A trace of 64 roots of 100 000 cycles, each of a color of its own, that arrive
/// 1000 cycles apart and each post one event of 50 000 cycles to another color.
fn parallel() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Header::new(1, 1e9)).unwrap();
    writer
        .handlers(&[(1, "replay::Root"), (2, "replay::Child")])
        .unwrap();
    let mut block = Block::new(0);
    let mut start = 70_000;
    for root in 0..64 {
        block.root(1_000 * root, 1, root + 1);
    }
    for root in 0..64 {
        block.post(2, 1_000_000 + root);
        block.run(run(1, root + 1, start, 100_000));
        start += 100_000;
    }
    for root in 0..64 {
        block.run(run(2, 1_000_000 + root, start, 50_000));
        start += 50_000;
    }
    writer.block(&block).unwrap();
    writer.finish(start).unwrap()
}

fn run(handler: u32, color: u64, start: u64, cost: u64) -> Run {
    Run {
        handler,
        color,
        posted_by: 0,
        start,
        cost,
        panicked: false,
    }
}

#[test]
fn more_cores_make_a_parallel_program_faster() {
    let program = read(&parallel());
    let work = 64.0 * 150e-6;
    assert!((program.recorded().seconds - (work + 70e-6)).abs() < 1e-6);
    for policy in Policy::ALL {
        let at_once = Conditions {
            arrivals: Arrivals::AtOnce,
            ..Conditions::new(policy)
        };
        let seconds = [1, 2, 8].map(|cores| on(cores, &program, at_once).figures.seconds);
        assert!(
            (work..1.1 * work).contains(&seconds[0]),
            "{policy}: {seconds:?}"
        );
        assert!(seconds[1] < 0.7 * seconds[0], "{policy}: {seconds:?}");
        assert!(seconds[2] < 0.7 * seconds[1], "{policy}: {seconds:?}");
    }
}

#[test]
fn time_is_scaled_as_asked() {
    let program = read(&parallel());
    let conditions = Conditions::new(Policy::Adaptive);
    let of = |conditions| on(64, &program, conditions).figures;
    // The last root arrives after 63 µs, takes 100, and posts in the middle of that.
    let recorded = of(conditions);
    assert!((163e-6..320e-6).contains(&recorded.seconds), "{recorded:?}");
    let half = of(Conditions {
        cost_scale: 0.5,
        ..conditions
    });
    assert!((113e-6..245e-6).contains(&half.seconds), "{half:?}");
    let slow = of(Conditions {
        arrivals: Arrivals::Recorded { speed: 0.1 },
        ..conditions
    });
    assert!((730e-6..890e-6).contains(&slow.seconds), "{slow:?}");
    // Nothing waits for a core but to be woken.
    assert!(slow.delays.p50 < 20e-6, "{slow:?}");
}

#[test]
fn what_is_whole_of_a_cut_trace_can_be_replayed() {
    let trace = parallel();
    let (program, end) = Program::read(&mut Reader::new(&trace[..trace.len() - 3]).unwrap());
    assert!(end.unwrap_err().is_truncation());
    let program = Arc::new(program);
    let replayed = on(2, &program, Conditions::new(Policy::Mely));
    assert_eq!(replayed.figures.events, 128);
}

/// Damage that no checksum finds: events that would cause each other.
#[test]
fn causes_in_a_circle_are_cut() {
    let mut writer = Writer::new(Vec::new(), &Header::new(1, 1e9)).unwrap();
    writer.handlers(&[(1, "replay::Circle")]).unwrap();
    let mut block = Block::new(0);
    block.post(1, 80_000);
    block.run(run(1, 70_000, 50, 10));
    block.post(1, 70_000);
    block.run(run(1, 80_000, 50, 10));
    writer.block(&block).unwrap();
    let program = read(&writer.finish(100).unwrap());
    assert_eq!((program.events(), program.roots()), (2, 2));
    assert_eq!(
        on(2, &program, Conditions::new(Policy::Mely))
            .figures
            .events,
        2
    );
}
