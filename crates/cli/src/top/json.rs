//! What `mely top --json` prints: an object a line.

use serde_json::{Value, json};

use super::advice::{self, Advice};
use super::change::{Change, HandlerChange, WorkerChange};
use super::look::{Durations, Waiting};

pub(super) fn of(change: &Change) -> String {
    let object = json!({
        "seconds": change.seconds,
        "is_new": change.is_new,
        "events_per_second": change.events_per_second,
        "pending": change.pending,
        "shed_per_second": change.shed_per_second,
        "steal_seconds": change.steal_seconds,
        "counter": change.counter,
        "not_counted": change.not_counted,
        "workers": change.workers.iter().map(worker).collect::<Vec<_>>(),
        "handlers": change.handlers.iter().map(handler).collect::<Vec<_>>(),
        "waiting": change.waiting.iter().map(waiting).collect::<Vec<_>>(),
        "advice": advice::of(change).iter().map(one_advice).collect::<Vec<_>>(),
    });
    format!("{object}\n")
}

fn worker(of: &WorkerChange) -> Value {
    json!({
        "worker": of.worker,
        "busy": of.busy,
        "sleeps": of.sleeps,
        "pinned": of.is_pinned,
        "ready_colors": of.ready_colors,
        "events_per_second": of.events_per_second,
        "steals_per_second": of.steals_per_second,
        "stolen_colors_per_second": of.stolen_colors_per_second,
        "steal_misses_per_second": of.steal_misses_per_second,
        "takeovers": of.takeovers,
        "panics": of.panics,
    })
}

fn handler(of: &HandlerChange) -> Value {
    json!({
        "handler": of.name,
        "events_per_second": of.events_per_second,
        "time_share": of.time_share,
        "run": durations(&of.run),
        "wait": durations(&of.wait),
        "cost_seconds": of.cost_seconds,
        "counted_per_event": of.counted_per_event,
        "counted_per_second": of.counted_per_second,
        "penalty": of.penalty,
        "moves_per_second": of.moves_per_second,
        "moves": of.moves,
        "panics": of.panics,
    })
}

fn durations(of: &Durations) -> Value {
    json!({
        "p50_seconds": of.quantile(0.5),
        "p99_seconds": of.quantile(0.99),
        "sum_seconds": of.sum,
        "samples": of.samples,
    })
}

fn waiting(of: &Waiting) -> Value {
    json!({
        "color": of.color,
        "handler": of.handler,
        "seconds": of.seconds,
        "pinned": of.is_pinned,
    })
}

fn one_advice(of: &Advice) -> Value {
    let mut object = json!({ "advice": of.word(), "text": of.text() });
    match of {
        Advice::Pin { handler, loss, .. } => {
            object["handler"] = json!(handler);
            object["loss"] = json!(loss);
        }
        Advice::Unpin { color, handler, .. } => {
            object["handler"] = json!(handler);
            object["color"] = json!(color);
        }
    }
    object
}
