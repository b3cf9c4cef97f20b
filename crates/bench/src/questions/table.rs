//! Rows as a table to read, with ratios to the best peer and to the floor.

use std::io::{self, Write};

use crate::contenders::implementation::Implementation;
use crate::measure::report::Row;

/// How figures of a unit are shown.
struct Look<'a> {
    factor: f64,
    unit: &'a str,
    decimals: usize,
    more_is_better: bool,
}

impl<'a> Look<'a> {
    fn of(unit: &'a str) -> Self {
        let (factor, shown, decimals, more_is_better) = match unit {
            "events/s" => (1e-6, "M events/s", 3, true),
            "requests/s" => (1e-3, "K requests/s", 2, true),
            "deliveries/s" => (1e-3, "K deliveries/s", 2, true),
            "us CPU/request" | "us CPU/delivery" => (1.0, unit, 2, false),
            "ns" => (1.0, unit, 0, false),
            "ms" => (1.0, unit, 3, false),
            _ => (1.0, unit, 1, false),
        };
        Self {
            factor,
            unit: shown,
            decimals,
            more_is_better,
        }
    }
}

/// Writes rows with the ratios of their medians to those of the best peer on the same
/// workload, and of the floor.
pub(crate) fn write(rows: &[Row], out: impl Write) -> io::Result<()> {
    let is_peer = |name: &str| name.parse().is_ok_and(Implementation::is_peer);
    write_beside(rows, is_peer, out)
}

/// The same of other programs: which names are those of peers is told.
pub(crate) fn write_beside(
    rows: &[Row],
    is_peer: impl Fn(&str) -> bool,
    mut out: impl Write,
) -> io::Result<()> {
    let width = |name: fn(&Row) -> &str| rows.iter().map(|row| name(row).len()).max();
    let workload_width = width(|row| &row.workload).max(Some(8)).unwrap_or(8);
    let who_width = width(|row| &row.implementation).max(Some(14)).unwrap_or(14);
    writeln!(
        out,
        "{:<workload_width$}  {:<who_width$}{:>10}{:>10}{:>10}{:>6}{:>11}{:>8}  unit",
        "workload", "implementation", "median", "min", "max", "runs", "/best peer", "/floor"
    )?;
    for row in rows {
        let look = Look::of(&row.unit);
        write!(
            out,
            "{:<workload_width$}  {:<who_width$}",
            row.workload, row.implementation
        )?;
        for figure in [row.median, row.min, row.max] {
            write!(out, "{:>10.*}", look.decimals, figure * look.factor)?;
        }
        let ratio = |base: Option<f64>| match base {
            Some(0.0) | None => "-".to_owned(),
            Some(base) => format!("{:.3}", row.median / base),
        };
        let best = ratio(best_peer(row, rows, &is_peer));
        let floor = ratio(floor(row, rows));
        writeln!(out, "{:>6}{best:>11}{floor:>8}  {}", row.runs, look.unit)?;
    }
    Ok(())
}

/// Rows of the same measure.
fn beside<'a>(row: &'a Row, rows: &'a [Row]) -> impl Iterator<Item = &'a Row> {
    let same = |other: &&Row| other.workload == row.workload && other.unit == row.unit;
    rows.iter().filter(same)
}

fn best_peer(row: &Row, rows: &[Row], is_peer: impl Fn(&str) -> bool) -> Option<f64> {
    let peers = beside(row, rows).filter(|row| is_peer(&row.implementation));
    let peers = peers.map(|row| row.median);
    match Look::of(&row.unit).more_is_better {
        true => peers.max_by(f64::total_cmp),
        false => peers.min_by(f64::total_cmp),
    }
}

fn floor(row: &Row, rows: &[Row]) -> Option<f64> {
    let mut rows = beside(row, rows);
    let floor = rows.find(|row| row.implementation == Implementation::Floor.to_string());
    floor.map(|row| row.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(implementation: &str, unit: &'static str, run: f64) -> Row {
        let (workload, implementation) = ("P".to_owned(), implementation.to_owned());
        Row::of("peers", workload, implementation, unit, vec![run]).unwrap()
    }

    fn table(rows: &[Row]) -> Vec<String> {
        let mut table = Vec::new();
        write(rows, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        table.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_best_peer_is_the_fastest_but_neither_ours_nor_the_floor() {
        let rates = [
            ("mely/adaptive", 6e6),
            ("mely/mely", 9e6),
            ("tokio", 2e6),
            ("go", 3e6),
            ("floor", 12e6),
        ];
        let lines = table(&rates.map(|(name, rate)| row(name, "events/s", rate)));
        assert!(
            lines[1].ends_with("6.000     6.000     6.000     1      2.000   0.500  M events/s"),
            "{lines:?}"
        );
        assert!(lines[3].contains(" 0.667 "), "{lines:?}");
        assert!(lines[4].contains(" 1.000 "), "{lines:?}");
    }

    #[test]
    fn of_times_and_bytes_less_is_better() {
        let rows = [("mely/adaptive", 50.0), ("tokio", 200.0), ("go", 100.0)];
        for unit in ["ns", "bytes/key"] {
            let lines = table(&rows.map(|(name, figure)| row(name, unit, figure)));
            assert!(lines[1].contains(" 0.500 "), "{lines:?}");
            assert!(lines[1].ends_with(&format!("-  {unit}")), "{lines:?}");
        }
    }

    #[test]
    fn without_a_base_there_is_no_ratio() {
        let lines = table(&[row("mely/adaptive", "events/s", 6e6)]);
        assert!(
            lines[1].ends_with("1          -       -  M events/s"),
            "{lines:?}"
        );
    }
}
