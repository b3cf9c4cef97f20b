//! What `mely top` shows to people.

use super::advice::{self, Advice};
use super::change::{Change, HandlerChange, WorkerChange};
use super::look::Waiting;
use super::number::{number, percent, time};
use super::screen::{Rows, Style};

/// How many waiting colors a screen shows, and how many lines of advice.
const WAITING_MAX: usize = 5;
const ADVICE_LINES_MAX: usize = 8;
/// What a name may take of a line, at the least.
const NAME_MIN: usize = 12;
/// What text is wrapped to where nothing says how wide a line is.
const COLUMNS: usize = 100;

const BOLD: &str = "\x1b[1m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// How many rows each part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    workers: usize,
    handlers: usize,
    waiting: usize,
    advice_lines: usize,
}

impl Room {
    fn of(change: &Change, rows: Rows, head_lines: usize, advice_lines: usize) -> Self {
        match rows {
            Rows::Wanted(rows) => Self {
                workers: change.workers.len(),
                handlers: rows,
                waiting: rows,
                advice_lines: usize::MAX,
            },
            Rows::Screen(rows) => {
                let workers = change.workers.len().min((rows / 3).max(2));
                let waiting = change.waiting.len().min(WAITING_MAX);
                let advice_lines = advice_lines.min(ADVICE_LINES_MAX);
                // The title and what is below it, a blank line and a heading for each part, one for
                // what is left out of each of the first two, and the last, where the cursor is.
                let part = |lines: usize| if lines > 0 { lines + 2 } else { 0 };
                let parts = part(workers) + part(waiting) + part(advice_lines);
                let others = head_lines + parts + 2 + 2 + 1;
                Self {
                    workers,
                    handlers: rows.saturating_sub(others).max(1),
                    waiting,
                    advice_lines,
                }
            }
        }
    }
}

pub(super) fn of(change: &Change, source: &str, style: &Style) -> String {
    let advice = advice_lines(&advice::of(change), style);
    let head = head_lines(change, source, style);
    let room = Room::of(change, style.rows, head.len(), advice.len());
    let mut text = head.join("\n") + "\n";
    let workers = change.workers.iter().take(room.workers).map(worker_row);
    push_table(&mut text, WORKER_HEADINGS, workers.collect(), style);
    push_rest(
        &mut text,
        change.workers.len(),
        room.workers,
        "workers",
        style,
    );
    push_handlers(&mut text, change, room.handlers, style);
    push_rest(
        &mut text,
        change.handlers.len(),
        room.handlers,
        "handlers",
        style,
    );
    let waiting = change.waiting.iter().take(room.waiting).map(waiting_row);
    push_table(&mut text, WAITING_HEADINGS, waiting.collect(), style);
    if !advice.is_empty() {
        text.push_str(&format!("\n{}\n", painted(BOLD, "ADVICE", style)));
        for line in advice.iter().take(room.advice_lines) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The title, and why something is not counted.
fn head_lines(change: &Change, source: &str, style: &Style) -> Vec<String> {
    let mut lines = vec![clipped(&title(change, source), style)];
    if let Some(reason) = &change.not_counted {
        let reason = shown(&format!("not counted: {reason}"));
        lines.extend(wrapped(&reason, style.columns.unwrap_or(COLUMNS)));
    }
    lines
}

fn title(change: &Change, source: &str) -> String {
    let mut parts = vec![
        format!("mely top {source}"),
        format!("{} events/s", number(change.events_per_second)),
        format!("{} pending", number(change.pending)),
    ];
    if change.shed_per_second > 0.0 {
        parts.push(format!("{} shed/s", number(change.shed_per_second)));
    }
    if let Some(seconds) = change.steal_seconds {
        parts.push(format!("a steal costs {}", time(seconds)));
    }
    let panics: f64 = change.workers.iter().map(|worker| worker.panics).sum();
    if panics > 0.0 {
        parts.push(format!("{} panics", number(panics)));
    }
    if change.is_new {
        parts.push("started anew".to_owned());
    }
    shown(&parts.join("   "))
}

/// The headings of columns; the one with a name takes what room there is.
type Headings<'a> = &'a [&'a str];

const WORKER_HEADINGS: Headings<'static> = &[
    "WORKER",
    "BUSY",
    "EVENTS/S",
    "READY",
    "STEALS/S",
    "COLORS/S",
    "MISSES/S",
    "TAKEOVERS",
    "CORE",
    "STATE",
];

fn worker_row(of: &WorkerChange) -> Vec<String> {
    vec![
        of.worker.to_string(),
        of.busy.map_or("-".to_owned(), percent),
        number(of.events_per_second),
        number(of.ready_colors),
        number(of.steals_per_second),
        number(of.stolen_colors_per_second),
        number(of.steal_misses_per_second),
        number(of.takeovers),
        if of.is_pinned { "pinned" } else { "free" }.to_owned(),
        if of.sleeps { "sleeps" } else { "works" }.to_owned(),
    ]
}

const HANDLER_HEADINGS: Headings<'static> = &[
    "HANDLER", "EVENTS/S", "TIME", "RUN p50", "p99", "WAIT p50", "p99", "COST", "PENALTY",
    "MOVES/S",
];

/// The heading of what is counted, an event.
fn counter_heading(counter: &str) -> &'static str {
    match counter {
        "l2_cache_misses" => "L2 MISS",
        "cache_misses" => "MISSES",
        "page_faults" => "FAULTS",
        _ => "COUNTED",
    }
}

/// The handlers, with a column for what the program counts, if it does.
fn push_handlers(text: &mut String, change: &Change, rows: usize, style: &Style) {
    let shown = change.handlers.iter().take(rows);
    let counted = |of: &HandlerChange| of.counted_per_event.map_or("-".to_owned(), number);
    let (headings, rows): (Vec<_>, _) = match &change.counter {
        None => (HANDLER_HEADINGS.to_vec(), shown.map(handler_row).collect()),
        Some(counter) => {
            let row = |of| [handler_row(of), vec![counted(of)]].concat();
            let heading = [counter_heading(counter)];
            (
                [HANDLER_HEADINGS, &heading].concat(),
                shown.map(row).collect(),
            )
        }
    };
    push_table(text, &headings, rows, style);
}

fn handler_row(of: &HandlerChange) -> Vec<String> {
    let quantile = |seconds: Option<f64>| seconds.map_or("-".to_owned(), time);
    vec![
        shown(&of.name),
        number(of.events_per_second),
        of.time_share.map_or("-".to_owned(), percent),
        quantile(of.run.quantile(0.5)),
        quantile(of.run.quantile(0.99)),
        quantile(of.wait.quantile(0.5)),
        quantile(of.wait.quantile(0.99)),
        quantile(of.cost_seconds),
        format!("{:.1}", of.penalty),
        number(of.moves_per_second),
    ]
}

const WAITING_HEADINGS: Headings<'static> = &["WAITING", "COLOR", "FOR", "PLACE"];

fn waiting_row(of: &Waiting) -> Vec<String> {
    vec![
        shown(&of.handler),
        of.color
            .map_or("a new one".to_owned(), |color| color.to_string()),
        time(of.seconds),
        if of.is_pinned { "pinned" } else { "any" }.to_owned(),
    ]
}

/// A table, if it has rows.
fn push_table(
    text: &mut String,
    headings: Headings<'_>,
    mut rows: Vec<Vec<String>>,
    style: &Style,
) {
    if rows.is_empty() {
        return;
    }
    rows.insert(
        0,
        headings.iter().map(|&heading| heading.to_owned()).collect(),
    );
    let mut widths: Vec<_> = (0..headings.len())
        .map(|column| {
            rows.iter()
                .map(|row| width(&row[column]))
                .max()
                .unwrap_or(0)
        })
        .collect();
    if let Some(columns) = style.columns {
        let others: usize = widths[1..].iter().map(|width| width + 2).sum();
        widths[0] = widths[0].min(columns.saturating_sub(others).max(NAME_MIN));
    }
    text.push('\n');
    for (at, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            match column {
                0 => line.push_str(&format!("{:<width$}", ending(cell, width))),
                _ => line.push_str(&format!("  {cell:>width$}")),
            }
        }
        let line = clipped(line.trim_end(), style);
        text.push_str(&match at {
            0 => painted(BOLD, &line, style),
            _ => line,
        });
        text.push('\n');
    }
}

fn push_rest(text: &mut String, all: usize, shown: usize, what: &str, style: &Style) {
    if all > shown {
        let rest = format!("... and {} more {what}", all - shown);
        text.push_str(&clipped(&rest, style));
        text.push('\n');
    }
}

/// A line as far as there is room.
fn clipped(line: &str, style: &Style) -> String {
    line.chars()
        .take(style.columns.unwrap_or(usize::MAX))
        .collect()
}

/// What is to be done, in lines.
fn advice_lines(advice: &[Advice], style: &Style) -> Vec<String> {
    let columns = style.columns.unwrap_or(COLUMNS);
    let mut lines = Vec::new();
    for one in advice {
        let word = one.word().to_uppercase();
        let text = shown(&one.text());
        let room = columns.saturating_sub(word.len() + 1).max(NAME_MIN);
        for (at, line) in wrapped(&text, room).into_iter().enumerate() {
            lines.push(match at {
                0 => format!("{} {line}", painted(YELLOW, &word, style)),
                _ => format!("{:width$} {line}", "", width = word.len()),
            });
        }
    }
    lines
}

/// Words in lines that are no longer than this, unless a word is.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one");
        if !line.is_empty() && width(line) + 1 + width(word) > columns {
            lines.push(ending(word, columns));
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&ending(word, columns));
    }
    lines
}

fn painted(paint: &str, text: &str, style: &Style) -> String {
    match style.colored {
        true => format!("{paint}{text}{PLAIN}"),
        false => text.to_owned(),
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// A name as far as there is room: its end, which differs most.
fn ending(text: &str, room: usize) -> String {
    let length = width(text);
    match length > room {
        true => {
            let rest = text.chars().skip(length + 1 - room);
            std::iter::once('…').chain(rest).collect()
        }
        false => text.to_owned(),
    }
}

/// Text of somebody else's, without what a terminal would obey.
fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::super::look::Look;
    use super::*;

    fn change(workers: usize, handlers: usize, waiting: usize) -> Change {
        let mut text = "mely_events_run_total 1\nmely_cycles_per_second 1e9\n".to_owned();
        for worker in 0..workers {
            text += &format!("mely_worker_slept_seconds_total{{worker=\"{worker}\"}} 0\n");
        }
        for handler in 0..handlers {
            let name =
                format!("a::very::long::name::\\nof::one::that::differs::at::its::{handler}");
            text += &format!("mely_handler_events_total{{handler=\"{name}\"}} {handler}\n");
        }
        for rank in 0..waiting {
            let labels = format!("rank=\"{rank}\",handler=\"x\",pinned=\"1\"");
            text += &format!("mely_waiting_seconds{{{labels}}} 2\n");
        }
        let before = Look::at_text(&text).expect("it is of Mely");
        Change::between(&before, &Look::at_text(&text).expect("it is of Mely"))
    }

    #[test]
    fn a_screen_has_room_for_what_is_on_it() {
        for (rows, columns) in [(24, 80), (50, 120), (12, 40), (5, 20)] {
            let style = Style {
                colored: false,
                columns: Some(columns),
                rows: Rows::Screen(rows),
            };
            for (workers, handlers, waiting) in [(2, 3, 0), (64, 300, 16), (1, 0, 0)] {
                let text = of(&change(workers, handlers, waiting), "host:1", &style);
                let widest = text.lines().map(width).max().unwrap_or(0);
                assert!(widest <= columns, "{columns}: {text}");
                assert!(rows < 24 || text.lines().count() < rows, "{rows}: {text}");
                assert!(!text.contains('\x1b') && !text.contains("\nof::"), "{text}");
            }
        }
    }

    #[test]
    fn what_is_wanted_is_shown_in_full() {
        let style = Style {
            colored: true,
            columns: None,
            rows: Rows::Wanted(2),
        };
        let text = of(&change(3, 5, 4), "host:1", &style);
        let named = text
            .lines()
            .filter(|line| line.contains("differs::at::its::"));
        assert_eq!(named.count(), 2, "{text}");
        assert!(text.contains("... and 3 more handlers"), "{text}");
        assert!(
            text.contains("a::very::long::name::?of"),
            "no control: {text}"
        );
        assert!(text.contains(&format!("{BOLD}WORKER")), "{text}");
    }
}
