//! What a trace comes to.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Read;

use hdrhistogram::Histogram;
use mely_trace::{Origin, Reader, Record, Run, Sourced};
use serde_json::{Value, json};

/// What the events of a handler cost.
struct Costs {
    panics: u64,
    cycles: u64,
    /// In cycles, to three digits.
    costs: Histogram<u64>,
}

/// What the records of a trace come to.
#[derive(Default)]
pub(super) struct Summary {
    posts: u64,
    roots: u64,
    handlers: BTreeMap<u32, Costs>,
    colors: HashSet<u64>,
    /// When the last event that was recorded ended.
    last: u64,
}

/// A handler, as it is printed.
struct Line<'a> {
    name: &'a str,
    events: u64,
    panics: u64,
    cycles: u64,
    mean: f64,
    p99: u64,
}

impl Summary {
    pub(super) fn add(&mut self, read: &Sourced) {
        match read.record {
            Record::Post { origin, .. } => {
                self.posts += 1;
                self.roots += u64::from(matches!(origin, Origin::Root(_)));
            }
            Record::Run(run) => self.run(&run),
            // The reader counts them.
            Record::Lost(_) => {}
        }
    }

    fn run(&mut self, run: &Run) {
        self.colors.insert(run.color);
        self.last = self.last.max(run.start.saturating_add(run.cost));
        let new = || Costs {
            panics: 0,
            cycles: 0,
            costs: three_digits(),
        };
        let costs = self.handlers.entry(run.handler).or_insert_with(new);
        costs.panics += u64::from(run.panicked);
        costs.cycles = costs.cycles.saturating_add(run.cost);
        // It grows as it must, for any number.
        let _ = costs.costs.record(run.cost);
    }

    fn events(&self) -> u64 {
        self.handlers.values().map(|costs| costs.costs.len()).sum()
    }

    fn seconds<R: Read>(&self, reader: &Reader<R>) -> f64 {
        let end = reader.end().unwrap_or(self.last);
        end as f64 / reader.header().cycles_per_second
    }

    /// The handlers, the one that took most first.
    fn lines<'a, R: Read>(&'a self, reader: &'a Reader<R>) -> Vec<Line<'a>> {
        let line = |(&handler, costs): (&u32, &'a Costs)| Line {
            name: reader.handlers().name(handler).unwrap_or("(unnamed)"),
            events: costs.costs.len(),
            panics: costs.panics,
            cycles: costs.cycles,
            mean: costs.cycles as f64 / costs.costs.len().max(1) as f64,
            p99: costs.costs.value_at_quantile(0.99),
        };
        let mut lines: Vec<_> = self.handlers.iter().map(line).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.cycles));
        lines
    }

    pub(super) fn to_json<R: Read>(&self, reader: &Reader<R>) -> Value {
        let header = reader.header();
        let handlers = self.lines(reader).into_iter().map(|line| {
            json!({
                "name": line.name,
                "events": line.events,
                "panics": line.panics,
                "mean_cycles": line.mean,
                "p99_cycles": line.p99,
            })
        });
        json!({
            "complete": reader.end().is_some(),
            "workers": header.workers(),
            "policy": header.policy,
            "topology": header.topology,
            "cycles_per_second": header.cycles_per_second,
            "seconds": self.seconds(reader),
            "events": self.events(),
            "posts": self.posts,
            "roots": self.roots,
            "colors": self.colors.len(),
            "lost": reader.lost(),
            "handlers": handlers.collect::<Vec<_>>(),
        })
    }

    pub(super) fn to_text<R: Read>(&self, reader: &Reader<R>) -> String {
        let header = reader.header();
        let mut text = String::new();
        let facts = [
            ("workers", header.workers().to_string()),
            ("policy", header.policy.clone()),
            ("seconds", format!("{:.3}", self.seconds(reader))),
            (
                "cycles a second",
                format!("{:.0}", header.cycles_per_second),
            ),
            ("events", self.events().to_string()),
            ("posts", self.posts.to_string()),
            ("  by no event", self.roots.to_string()),
            ("colors", self.colors.len().to_string()),
            ("lost records", reader.lost().to_string()),
        ];
        // Writing to a string does not fail.
        for (name, fact) in facts {
            let _ = writeln!(text, "{name:<16}{fact}");
        }
        let lines = self.lines(reader);
        let width = lines.iter().map(|line| line.name.len()).max();
        let width = width.unwrap_or(0).max("handler".len());
        let _ = writeln!(
            text,
            "\n{:<width$}{:>12}{:>8}{:>14}{:>14}",
            "handler", "events", "panics", "mean cycles", "p99 cycles"
        );
        for line in lines {
            let _ = writeln!(
                text,
                "{:<width$}{:>12}{:>8}{:>14.0}{:>14}",
                line.name, line.events, line.panics, line.mean, line.p99
            );
        }
        text
    }
}

/// A histogram that grows as it must.
fn three_digits() -> Histogram<u64> {
    match Histogram::new(3) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("three digits are possible"),
    }
}
