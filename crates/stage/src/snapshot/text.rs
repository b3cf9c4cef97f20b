//! Snapshots as text: for Prometheus, and as JSON.

use std::fmt::Write as _;

use super::Snapshot;
use crate::histogram::Histogram;

/// The first and the last end of an interval of times that is told: 256 ns and 69 s.
const LE_MIN_NS: u64 = 1 << 8;
const LE_MAX_NS: u64 = 1 << 36;

/// Where the largest interval of batches that is told ends.
const LE_MAX_EVENTS: u64 = 1 << 12;

const NS_PER_S: f64 = 1e9;

type Gauge = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Snapshot) -> u64,
);

const SAMPLES: [Gauge; 14] = [
    ("offered_total", "counter", "Events offered.", |s| {
        s.counts.offered
    }),
    ("accepted_total", "counter", "Events accepted.", |s| {
        s.counts.accepted
    }),
    ("handled_total", "counter", "Events handled.", |s| {
        s.counts.handled
    }),
    (
        "withdrawn_total",
        "counter",
        "Reserved places given back.",
        |s| s.counts.withdrawn,
    ),
    ("panics_total", "counter", "Handlers that panicked.", |s| {
        s.counts.panics
    }),
    ("queued", "gauge", "Events that wait.", |s| s.queued as u64),
    (
        "running",
        "gauge",
        "Events in the hands of handlers.",
        |s| s.counts.running,
    ),
    ("reserved", "gauge", "Places that are reserved.", |s| {
        s.reserved as u64
    }),
    ("capacity", "gauge", "How many events may wait.", |s| {
        s.capacity as u64
    }),
    (
        "held",
        "gauge",
        "Colors or threads held by a full stage.",
        |s| s.held as u64,
    ),
    ("threads", "gauge", "Threads that serve the stage.", |s| {
        s.threads as u64
    }),
    ("colors", "gauge", "Colors that serve the stage.", |s| {
        s.colors as u64
    }),
    (
        "batch",
        "gauge",
        "Events that a handler may be given at once.",
        |s| u64::from(s.batch),
    ),
    ("open", "gauge", "1 while the stage takes events.", |s| {
        u64::from(s.is_open)
    }),
];

type ByReason = fn(&Snapshot) -> Vec<(&'static str, u64)>;

const REASONS: [(&str, &str, ByReason); 2] = [
    (
        "refused_total",
        "Events refused when they were offered.",
        Snapshot::refused,
    ),
    (
        "shed_total",
        "Accepted events that were not handled.",
        Snapshot::shed,
    ),
];

/// Snapshots in the text format of Prometheus, as series with a label `stage`.
///
/// They go with those of the runtime's own `to_prometheus`: the names are others.
///
/// ```
/// use mely_stage::{Manager, StageOptions, each, to_prometheus};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stages = Manager::new(&rt);
/// stages.create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
/// let text = to_prometheus(&stages.snapshots());
/// assert!(text.contains("mely_stage_capacity{stage=\"log\"} 1000\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_prometheus(stages: &[Snapshot]) -> String {
    let mut text = Prometheus(String::new());
    for (name, kind, help, value) in SAMPLES {
        text.family(name, help, kind);
        for stage in stages {
            text.sample(name, &stage.name, "", value(stage) as f64);
        }
    }
    for (name, help, reasons) in REASONS {
        text.family(name, help, "counter");
        for stage in stages {
            for (reason, count) in reasons(stage) {
                let label = format!(",reason=\"{reason}\"");
                text.sample(name, &stage.name, &label, count as f64);
            }
        }
    }
    let times = LE_MIN_NS..=LE_MAX_NS;
    let help = "How long events waited until they were taken.";
    text.histograms(
        "wait_seconds",
        help,
        stages,
        |s| &s.wait,
        (times.clone(), NS_PER_S),
    );
    let help = "How long handlers had events in hand.";
    text.histograms(
        "service_seconds",
        help,
        stages,
        |s| &s.service,
        (times, NS_PER_S),
    );
    let sizes = (2..=LE_MAX_EVENTS, 1.0);
    let help = "How many events handlers took at once.";
    text.histograms("batch_events", help, stages, |s| &s.batches, sizes);
    text.0
}

struct Prometheus(String);

impl Prometheus {
    fn family(&mut self, name: &str, help: &str, kind: &str) {
        let text = format!("# HELP mely_stage_{name} {help}\n# TYPE mely_stage_{name} {kind}\n");
        self.0.push_str(&text);
    }

    fn sample(&mut self, name: &str, stage: &str, labels: &str, value: f64) {
        let stage = quoted(stage, |letter| letter.to_string());
        let line = format!("mely_stage_{name}{{stage={stage}{labels}}} {value}\n");
        self.0.push_str(&line);
    }

    /// By powers of two: who scrapes keeps each line as a series of its own.
    fn histograms(
        &mut self,
        name: &str,
        help: &str,
        stages: &[Snapshot],
        which: fn(&Snapshot) -> &Histogram,
        (ends, unit): (std::ops::RangeInclusive<u64>, f64),
    ) {
        self.family(name, help, "histogram");
        for stage in stages {
            let (histogram, stage) = (which(stage), &stage.name);
            let mut so_far = 0;
            for (last, count) in histogram.intervals() {
                so_far += count;
                // An interval of times ends where the next begins; one of numbers with its last.
                let end = last.saturating_add(1);
                if end.is_power_of_two() && ends.contains(&end) {
                    let le = if unit == 1.0 { last } else { end };
                    let label = format!(",le=\"{}\"", le as f64 / unit);
                    self.sample(&format!("{name}_bucket"), stage, &label, so_far as f64);
                }
            }
            let (bucket, label) = (format!("{name}_bucket"), ",le=\"+Inf\"");
            self.sample(&bucket, stage, label, so_far as f64);
            self.sample(
                &format!("{name}_sum"),
                stage,
                "",
                histogram.sum() as f64 / unit,
            );
            self.sample(&format!("{name}_count"), stage, "", so_far as f64);
        }
    }
}

/// Snapshots as a JSON array with an object for each: numbers, reasons with their counts, and of
/// each histogram count, sum, and quantiles, `null` where there is nothing. Times are in
/// nanoseconds.
///
/// ```
/// use mely_stage::{Manager, StageOptions, each, to_json};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stages = Manager::new(&rt);
/// stages.create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
/// let json = to_json(&stages.snapshots());
/// assert!(json.starts_with("[{\"stage\":\"log\",\"offered_total\":0,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_json(stages: &[Snapshot]) -> String {
    let stages: Vec<_> = stages.iter().map(object).collect();
    format!("[{}]", stages.join(","))
}

fn object(stage: &Snapshot) -> String {
    let mut fields = vec![format!("\"stage\":{}", quoted(&stage.name, in_json))];
    for (name, _, _, value) in SAMPLES {
        fields.push(format!("\"{name}\":{}", value(stage)));
    }
    for (name, _, reasons) in REASONS {
        let reasons = reasons(stage).into_iter();
        let reasons: Vec<_> = reasons
            .map(|(reason, n)| format!("\"{reason}\":{n}"))
            .collect();
        fields.push(format!("\"{name}\":{{{}}}", reasons.join(",")));
    }
    let histograms = [
        ("wait_ns", &stage.wait),
        ("service_ns", &stage.service),
        ("batch_events", &stage.batches),
    ];
    for (name, histogram) in histograms {
        fields.push(format!("\"{name}\":{}", quantiles(histogram)));
    }
    format!("{{{}}}", fields.join(","))
}

fn quantiles(histogram: &Histogram) -> String {
    let mut text = format!(
        "{{\"count\":{},\"sum\":{}",
        histogram.count(),
        histogram.sum()
    );
    for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
        let value = histogram.quantile(part);
        let value = value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        _ = write!(text, ",\"{name}\":{value}");
    }
    text + "}"
}

/// A control character: Prometheus takes it as it is.
fn in_json(control: char) -> String {
    format!("\\u{:04x}", u32::from(control))
}

/// A name in quotation marks, as Prometheus and JSON both read it, but for control characters.
fn quoted(name: &str, control: impl Fn(char) -> String) -> String {
    let mut text = String::from("\"");
    for letter in name.chars() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            letter if letter.is_control() => text.push_str(&control(letter)),
            letter => text.push(letter),
        }
    }
    text + "\""
}
