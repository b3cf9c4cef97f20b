//! A snapshot in the text format of Prometheus.

use core::fmt;

use super::counting::Tally;
use super::histogram::Histogram;
use super::metrics::{HandlerMetrics, Snapshot, WorkerMetrics};
use super::waiting::Waiting;

/// The first and the last end of an interval that is told: 256 ns and 69 s.
const LE_MIN_NS: u128 = 1 << 8;
const LE_MAX_NS: u128 = 1 << 36;

impl Snapshot {
    /// The snapshot in the text format of Prometheus.
    pub fn to_prometheus(&self) -> String {
        Prometheus::default().write(self)
    }
}

#[derive(Default)]
struct Prometheus(String);

impl Prometheus {
    fn write(mut self, of: &Snapshot) -> String {
        let events = &of.events;
        self.counter("events_posted_total", "Events posted.", events.posted);
        self.counter("events_run_total", "Events run.", events.run);
        self.counter("events_shed_total", "Events refused.", events.shed);
        self.counter(
            "events_cancelled_total",
            "Delayed events cancelled.",
            events.cancelled,
        );
        self.counter(
            "events_abandoned_total",
            "Events dropped at shutdown.",
            events.abandoned,
        );
        self.gauge(
            "events_pending",
            "Events that wait or run.",
            events.pending(),
        );
        self.gauge(
            "steal_cost_cycles",
            "Measured cost of a steal.",
            of.steal_cost_cycles,
        );
        let help = "Cycles a second of the counter that all cycles here are of.";
        self.family("cycles_per_second", help, "gauge");
        self.sample("cycles_per_second", "", of.cycles_per_second);
        for (name, help, count) in WORKER_COUNTERS {
            self.family(name, help, "counter");
            for (at, worker) in of.workers.iter().enumerate() {
                self.sample(name, &format!("{{worker=\"{at}\"}}"), count(worker));
            }
        }
        self.family("worker_ready_colors", "Colors ready on the core.", "gauge");
        for (at, worker) in of.workers.iter().enumerate() {
            let label = format!("{{worker=\"{at}\"}}");
            self.sample("worker_ready_colors", &label, worker.ready_colors);
        }
        let help = "1 while the worker is pinned to its core, 0 while it is free.";
        self.family("worker_pinned", help, "gauge");
        for (at, worker) in of.workers.iter().enumerate() {
            let label = format!("{{worker=\"{at}\"}}");
            self.sample("worker_pinned", &label, u8::from(worker.core.is_some()));
        }
        self.sleeps(of);
        for (name, help, kind, count) in HANDLER_SAMPLES {
            self.family(name, help, kind);
            for handler in &of.handlers {
                let label = format!("{{handler=\"{}\"}}", escaped(handler.name));
                self.sample(name, &label, count(handler));
            }
        }
        self.histograms("handler_run_seconds", "How long events ran.", of, |h| {
            &h.run
        });
        let help = "How long events waited from their post to their run.";
        self.histograms("handler_wait_seconds", help, of, |h| &h.wait);
        self.waiting(&of.waiting);
        self.counted(of);
        self.0
    }

    fn sleeps(&mut self, of: &Snapshot) {
        let help = "How long the worker has slept.";
        self.family("worker_slept_seconds_total", help, "counter");
        for (at, worker) in of.workers.iter().enumerate() {
            let label = format!("{{worker=\"{at}\"}}");
            let seconds = worker.slept.as_secs_f64();
            self.sample("worker_slept_seconds_total", &label, seconds);
        }
        self.family("worker_sleeps", "1 while the worker sleeps.", "gauge");
        for (at, worker) in of.workers.iter().enumerate() {
            let label = format!("{{worker=\"{at}\"}}");
            self.sample("worker_sleeps", &label, u8::from(worker.sleeps));
        }
    }

    /// By powers of two: who scrapes keeps each line as a series of its own. How many were noted
    /// is one, too.
    fn histograms(
        &mut self,
        name: &str,
        help: &str,
        of: &Snapshot,
        which: fn(&HandlerMetrics) -> &Histogram,
    ) {
        self.family(
            name,
            &format!("{help} Estimated from samples."),
            "histogram",
        );
        let known = || of.handlers.iter().filter(|h| which(h).samples() > 0);
        for handler in known() {
            let (histogram, handler) = (which(handler), escaped(handler.name));
            let mut so_far = 0;
            for (end, count) in histogram.intervals() {
                so_far += count;
                let ns = end.as_nanos();
                if ns.is_power_of_two() && (LE_MIN_NS..=LE_MAX_NS).contains(&ns) {
                    let end = end.as_secs_f64();
                    let label = format!("{{handler=\"{handler}\",le=\"{end}\"}}");
                    self.sample(&format!("{name}_bucket"), &label, so_far);
                }
            }
            let label = format!("{{handler=\"{handler}\",le=\"+Inf\"}}");
            self.sample(&format!("{name}_bucket"), &label, so_far);
            let label = format!("{{handler=\"{handler}\"}}");
            let sum = histogram.sum().as_secs_f64();
            self.sample(&format!("{name}_sum"), &label, sum);
            self.sample(&format!("{name}_count"), &label, so_far);
        }
        let name = name.replace("seconds", "samples_total");
        self.family(&name, "How many of them were noted.", "counter");
        for handler in known() {
            let label = format!("{{handler=\"{}\"}}", escaped(handler.name));
            self.sample(&name, &label, which(handler).samples());
        }
    }

    /// By rank: numbers of colors would be series without end.
    fn waiting(&mut self, waiting: &[Waiting]) {
        let help = "How long the noted events that wait longest have waited, one of each color.";
        self.family("waiting_seconds", help, "gauge");
        for (rank, one) in waiting.iter().enumerate() {
            let (handler, pinned) = (escaped(one.handler), u8::from(one.is_pinned));
            let label = format!("{{rank=\"{rank}\",handler=\"{handler}\",pinned=\"{pinned}\"}}");
            self.sample("waiting_seconds", &label, one.age.as_secs_f64());
        }
        let help = "Their colors; none of one that is new.";
        self.family("waiting_color", help, "gauge");
        for (rank, one) in waiting.iter().enumerate() {
            if let Some(color) = one.color {
                self.sample("waiting_color", &format!("{{rank=\"{rank}\"}}"), color);
            }
        }
    }

    /// Nothing, where nothing is to be counted.
    fn counted(&mut self, of: &Snapshot) {
        if let Some(reason) = &of.counting.reason {
            let help = "Why nothing is counted by handler, or not by all workers.";
            self.family("counter_refused", help, "gauge");
            let label = format!("{{reason=\"{}\"}}", escaped(reason));
            self.sample("counter_refused", &label, 1);
        }
        let Some(counter) = of.counting.counter else {
            return;
        };
        let help = "Workers that count this by handler.";
        self.family("counter_workers", help, "gauge");
        let label = format!("{{counter=\"{counter}\"}}");
        self.sample("counter_workers", &label, of.counting.workers);
        for (name, help, count) in HANDLER_TALLIES {
            self.family(name, help, "counter");
            for handler in of.handlers.iter().filter(|h| h.counted.samples > 0) {
                let handler_label = escaped(handler.name);
                let label = format!("{{handler=\"{handler_label}\",counter=\"{counter}\"}}");
                self.sample(name, &label, count(&handler.counted));
            }
        }
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, help, "counter");
        self.sample(name, "", value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, help, "gauge");
        self.sample(name, "", value);
    }

    fn family(&mut self, name: &str, help: &str, kind: &str) {
        let text = format!("# HELP mely_{name} {help}\n# TYPE mely_{name} {kind}\n");
        self.0.push_str(&text);
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl fmt::Display) {
        self.0.push_str(&format!("mely_{name}{labels} {value}\n"));
    }
}

fn escaped(label: &str) -> String {
    label
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

type WorkerCounter = (&'static str, &'static str, fn(&WorkerMetrics) -> u64);

const WORKER_COUNTERS: [WorkerCounter; 19] = [
    (
        "worker_events_run_total",
        "Events run by the worker.",
        |w| w.events.run,
    ),
    (
        "worker_pins_let_go_total",
        "How often the worker's pin to its core was let go.",
        |w| w.pins_let_go,
    ),
    ("worker_panics_total", "Handlers that panicked.", |w| {
        w.panics
    }),
    ("worker_turns_total", "Batches of one color.", |w| w.turns),
    ("worker_steals_total", "Successful steals.", |w| w.steals),
    (
        "worker_steal_misses_total",
        "Steals that found nothing.",
        |w| w.steal_misses,
    ),
    (
        "worker_steal_cycles_total",
        "Cycles of successful steals.",
        |w| w.steal_cycles,
    ),
    (
        "worker_scanned_events_total",
        "Events that steals looked at.",
        |w| w.scanned_events,
    ),
    ("worker_stolen_colors_total", "Colors stolen.", |w| {
        w.stolen_colors
    }),
    ("worker_stolen_events_total", "Events stolen.", |w| {
        w.stolen_events
    }),
    (
        "worker_stolen_cycles_total",
        "Time left of what was stolen.",
        |w| w.stolen_cycles,
    ),
    (
        "worker_stolen_cost_cycles_total",
        "Time left of what was stolen, without penalties.",
        |w| w.stolen_cost_cycles,
    ),
    (
        "worker_lock_cycles_total",
        "Cycles in locked queues.",
        |w| w.lock_cycles,
    ),
    (
        "worker_lock_wait_cycles_total",
        "Cycles of waiting for locked queues.",
        |w| w.lock_wait_cycles,
    ),
    ("worker_parks_total", "How often the worker slept.", |w| {
        w.parks
    }),
    (
        "worker_wakes_total",
        "How often it was woken to search.",
        |w| w.wakes,
    ),
    ("worker_timers_fired_total", "Timers that fired.", |w| {
        w.timers_fired
    }),
    ("worker_readiness_total", "Descriptors found ready.", |w| {
        w.readiness
    }),
    (
        "worker_takeovers_total",
        "Times others did what waited behind it.",
        |w| w.takeovers,
    ),
];

type HandlerSample = (
    &'static str,
    &'static str,
    &'static str,
    fn(&HandlerMetrics) -> f64,
);

/// Prometheus keeps every value as a floating-point number.
const HANDLER_SAMPLES: [HandlerSample; 5] = [
    ("handler_events_total", "Events run.", "counter", |h| {
        h.events as f64
    }),
    (
        "handler_panics_total",
        "Events that panicked.",
        "counter",
        |h| h.panics as f64,
    ),
    (
        "handler_cost_cycles",
        "Learned mean cost of an event.",
        "gauge",
        |h| h.cost_cycles as f64,
    ),
    (
        "handler_penalty",
        "Stealing penalty, annotated or learned.",
        "gauge",
        |h| h.penalty,
    ),
    (
        "handler_moves_total",
        "Events timed right after their color moved.",
        "counter",
        |h| h.moves as f64,
    ),
];

type HandlerTally = (&'static str, &'static str, fn(&Tally) -> u64);

const HANDLER_TALLIES: [HandlerTally; 3] = [
    (
        "handler_counted_total",
        "What was counted while events ran. Estimated from samples.",
        |tally| tally.total,
    ),
    (
        "handler_counted_events_total",
        "For how many events that is. Estimated from samples.",
        |tally| tally.events,
    ),
    (
        "handler_counted_samples_total",
        "How many of them were noted.",
        |tally| tally.samples,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
