//! What a program did between two looks.

use std::collections::BTreeMap;

use super::look::{Durations, HandlerLook, Look, Values, Waiting};

/// What a program did between two looks.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) seconds: f64,
    /// The program was started anew in between: all is since then.
    pub(super) is_new: bool,
    pub(super) events_per_second: f64,
    pub(super) pending: f64,
    pub(super) shed_per_second: f64,
    /// What a steal costs, in seconds; nothing if the program does not tell.
    pub(super) steal_seconds: Option<f64>,
    pub(super) workers: Vec<WorkerChange>,
    /// Those that took most time first.
    pub(super) handlers: Vec<HandlerChange>,
    /// Longest first.
    pub(super) waiting: Vec<Waiting>,
    /// What is counted by handler; nothing if the program does not tell.
    pub(super) counter: Option<String>,
    pub(super) not_counted: Option<String>,
}

#[derive(Debug)]
pub(super) struct WorkerChange {
    pub(super) worker: usize,
    /// The part of the time that it did not sleep; nothing if the program does not tell.
    pub(super) busy: Option<f64>,
    pub(super) sleeps: bool,
    pub(super) is_pinned: bool,
    pub(super) ready_colors: f64,
    pub(super) events_per_second: f64,
    pub(super) steals_per_second: f64,
    pub(super) stolen_colors_per_second: f64,
    pub(super) steal_misses_per_second: f64,
    /// In all: one is worth a question.
    pub(super) takeovers: f64,
    pub(super) panics: f64,
}

#[derive(Debug)]
pub(super) struct HandlerChange {
    pub(super) name: String,
    pub(super) events_per_second: f64,
    /// The part of all workers' time that it took, estimated; nothing if the program does not
    /// tell.
    pub(super) time_share: Option<f64>,
    pub(super) run: Durations,
    pub(super) wait: Durations,
    /// The learned mean cost of an event, in seconds.
    pub(super) cost_seconds: Option<f64>,
    /// How much was counted, an event and in all; nothing if nothing is known.
    pub(super) counted_per_event: Option<f64>,
    pub(super) counted_per_second: Option<f64>,
    pub(super) penalty: f64,
    pub(super) moves_per_second: f64,
    /// In all.
    pub(super) moves: f64,
    pub(super) panics: f64,
}

fn value(of: &Values, name: &str) -> f64 {
    of.get(name).copied().unwrap_or(0.0)
}

/// Numbers of two looks.
struct Pair<'a> {
    before: Option<&'a Values>,
    now: &'a Values,
    seconds: f64,
}

impl Pair<'_> {
    fn grown(&self, name: &str) -> f64 {
        let before = self.before.map_or(0.0, |before| value(before, name));
        (value(self.now, name) - before).max(0.0)
    }

    fn rate(&self, name: &str) -> f64 {
        self.grown(name) / self.seconds
    }
}

impl Change {
    pub(super) fn between(before: &Look, now: &Look) -> Self {
        let run = |look: &Look| value(&look.totals, "events_run_total");
        let is_new = run(now) < run(before);
        let before = (!is_new).then_some(before);
        let elapsed = before.map_or(0.0, |before| (now.at - before.at).as_secs_f64());
        let seconds = match elapsed > 0.0 {
            true => elapsed,
            false => 1.0,
        };
        let totals = Pair {
            before: before.map(|look| &look.totals),
            now: &now.totals,
            seconds,
        };
        let cycles_per_second = now.totals.get("cycles_per_second").copied();
        let mut change = Self {
            seconds,
            is_new,
            events_per_second: totals.rate("events_run_total"),
            pending: value(&now.totals, "events_pending"),
            shed_per_second: totals.rate("events_shed_total"),
            steal_seconds: cycles_per_second
                .map(|rate| value(&now.totals, "steal_cost_cycles") / rate),
            workers: Vec::new(),
            handlers: Vec::new(),
            waiting: now.waiting.clone(),
            counter: now.counter.clone(),
            not_counted: now.not_counted.clone(),
        };
        for (&worker, values) in &now.workers {
            let before = before.and_then(|look| look.workers.get(&worker));
            let pair = Pair {
                before,
                now: values,
                seconds,
            };
            change.workers.push(WorkerChange::of(worker, &pair));
        }
        change.handlers = handlers(before, now, seconds, cycles_per_second);
        change
    }
}

impl WorkerChange {
    fn of(worker: usize, pair: &Pair<'_>) -> Self {
        let slept = "slept_seconds_total";
        let tells = pair.now.contains_key(slept) && pair.before.is_some();
        Self {
            worker,
            busy: tells.then(|| (1.0 - pair.rate(slept)).clamp(0.0, 1.0)),
            sleeps: value(pair.now, "sleeps") > 0.0,
            is_pinned: value(pair.now, "pinned") > 0.0,
            ready_colors: value(pair.now, "ready_colors"),
            events_per_second: pair.rate("events_run_total"),
            steals_per_second: pair.rate("steals_total"),
            stolen_colors_per_second: pair.rate("stolen_colors_total"),
            steal_misses_per_second: pair.rate("steal_misses_total"),
            takeovers: value(pair.now, "takeovers_total"),
            panics: value(pair.now, "panics_total"),
        }
    }
}

fn handlers(
    before: Option<&Look>,
    now: &Look,
    seconds: f64,
    cycles_per_second: Option<f64>,
) -> Vec<HandlerChange> {
    let nothing: &BTreeMap<String, HandlerLook> = &BTreeMap::new();
    let earlier = before.map_or(nothing, |look| &look.handlers);
    let change = |(name, look): (&String, &HandlerLook)| {
        let before = earlier.get(name);
        let pair = Pair {
            before: before.map(|look| &look.values),
            now: &look.values,
            seconds,
        };
        let none = Durations::default();
        let run = look.run.since(before.map_or(&none, |look| &look.run));
        let wait = look.wait.since(before.map_or(&none, |look| &look.wait));
        let all_seconds = seconds * now.workers.len() as f64;
        let tells = !look.run.buckets.is_empty();
        let counted_events = pair.grown("counted_events_total");
        let counted = |part: f64| (counted_events > 0.0).then_some(part);
        HandlerChange {
            name: name.clone(),
            events_per_second: pair.rate("events_total"),
            time_share: tells.then(|| (run.sum / all_seconds).min(1.0)),
            run,
            wait,
            cost_seconds: cycles_per_second.map(|rate| value(pair.now, "cost_cycles") / rate),
            counted_per_event: counted(pair.grown("counted_total") / counted_events),
            counted_per_second: counted(pair.rate("counted_total")),
            penalty: value(pair.now, "penalty").max(1.0),
            moves_per_second: pair.rate("moves_total"),
            moves: value(pair.now, "moves_total"),
            panics: value(pair.now, "panics_total"),
        }
    };
    let mut handlers: Vec<_> = now.handlers.iter().map(change).collect();
    // Without estimates those that run most often come first.
    let by =
        |handler: &HandlerChange| (handler.time_share.unwrap_or(0.0), handler.events_per_second);
    handlers.sort_by(|a, b| {
        let (a, b) = (by(a), by(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    handlers
}
