//! What the servers reached, to read and to keep.

use std::io::{self, Write};

use super::answers::Answers;
use super::load::Load;
use crate::measure::report::Row;

const RATE: &str = "requests/s";
const CPU: &str = "us CPU/request";
const P99: &str = "us p99";
const ERRORS: &str = "errors";
const MEMORY: &str = "MiB resident";

/// Servers whose names begin like this are ours.
const OURS: &str = "mely";

/// What the runs of a server under a load measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    requests_per_second: Vec<f64>,
    cpu_us_per_request: Vec<f64>,
    p99_us: Vec<f64>,
    errors: Vec<f64>,
    rss_mib: Vec<f64>,
}

impl Runs {
    /// Adds a run, in which the server used so much CPU time and memory.
    pub(super) fn add(&mut self, answers: Answers, cpu_seconds: f64, rss_mib: f64) {
        let requests = answers.requests.max(1) as f64;
        self.requests_per_second
            .push(answers.requests as f64 / answers.seconds);
        self.cpu_us_per_request.push(cpu_seconds * 1e6 / requests);
        self.p99_us.push(answers.p99_us);
        self.errors.push(answers.errors as f64);
        self.rss_mib.push(rss_mib);
    }

    /// A row for each quantity.
    pub(super) fn rows(self, load: Load, server: &str) -> Vec<Row> {
        let quantities = [
            (RATE, self.requests_per_second),
            (CPU, self.cpu_us_per_request),
            (P99, self.p99_us),
            (ERRORS, self.errors),
            (MEMORY, self.rss_mib),
        ];
        let row = |(unit, figures)| {
            let (workload, server) = (load.to_string(), server.to_owned());
            Row::of("web", workload, server, unit, figures)
        };
        quantities.into_iter().filter_map(row).collect()
    }
}

/// Writes the rows of one load: a line for each server, with the ratios of its medians
/// to those of the best of the others.
pub(super) fn write(load: Load, rows: &[Row], mut out: impl Write) -> io::Result<()> {
    let names = rows.iter().map(|row| row.implementation.len());
    let width = names.max().unwrap_or(0).max(8);
    writeln!(out, "{load}")?;
    writeln!(
        out,
        "  {:<width$}{:>12}{:>9}{:>9}{:>7}{:>12}{:>7}{:>9}{:>7}{:>9}",
        "server", RATE, "min", "max", "/best", "us CPU/req", "/best", "p99 ms", ERRORS, "RSS MiB"
    )?;
    for rate in rows.iter().filter(|row| row.unit == RATE) {
        let server = &rate.implementation;
        let median = |unit| figure(rows, server, unit).unwrap_or(f64::NAN);
        let ratio = |unit, best| match best {
            Some(best) => format!("{:.2}", median(unit) / best),
            None => "-".to_owned(),
        };
        let most = peers(rows, RATE).max_by(f64::total_cmp);
        let least = peers(rows, CPU).min_by(f64::total_cmp);
        // A single error is to be seen, however many runs had none.
        let errors = rows.iter().find(|row| is(row, server, ERRORS));
        writeln!(
            out,
            "  {server:<width$}{:>12.0}{:>9.0}{:>9.0}{:>7}{:>12.2}{:>7}{:>9.2}{:>7.0}{:>9.1}",
            rate.median,
            rate.min,
            rate.max,
            ratio(RATE, most),
            median(CPU),
            ratio(CPU, least),
            median(P99) / 1e3,
            errors.map_or(f64::NAN, |row| row.max),
            median(MEMORY),
        )?;
    }
    Ok(())
}

fn is(row: &Row, server: &str, unit: &str) -> bool {
    row.implementation == server && row.unit == unit
}

fn figure(rows: &[Row], server: &str, unit: &str) -> Option<f64> {
    let row = rows.iter().find(|row| is(row, server, unit));
    row.map(|row| row.median)
}

fn peers(rows: &[Row], unit: &str) -> impl Iterator<Item = f64> {
    let peers = rows
        .iter()
        .filter(move |row| row.unit == unit && !row.implementation.starts_with(OURS));
    peers.map(|row| row.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::web::load::Requests;

    const LOAD: Load = Load {
        connections: 200,
        requests: Requests::Each(150),
    };

    fn rows(server: &str, requests: u64, cpu_seconds: f64, errors: u64) -> Vec<Row> {
        let mut runs = Runs::default();
        for errors in [0, errors, 0] {
            let answers = Answers {
                requests,
                seconds: 2.0,
                p99_us: 1500.0,
                errors,
            };
            runs.add(answers, cpu_seconds, 10.0);
        }
        runs.rows(LOAD, server)
    }

    fn lines(rows: &[Row]) -> Vec<String> {
        let mut table = Vec::new();
        write(LOAD, rows, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        table.lines().map(str::to_owned).collect()
    }

    #[test]
    fn ratios_are_to_the_best_of_the_others() {
        let all = [
            rows("mely", 200_000, 1.0, 0),
            rows("mely --policy mely", 400_000, 1.0, 0),
            rows("nginx", 100_000, 1.0, 0),
            rows("h2o", 160_000, 2.0, 7),
        ];
        let lines = lines(&all.concat());
        assert_eq!(lines[0], "1 KB, 200 connections, 150 requests each");
        let words: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(
            words,
            [
                "mely", "100000", "100000", "100000", "1.25", "5.00", "0.50", "1.50", "0", "10.0"
            ]
        );
        assert!(lines[3].contains("mely --policy mely"), "{lines:?}");
        let h2o: Vec<&str> = lines[5].split_whitespace().collect();
        assert_eq!((h2o[4], h2o[6], h2o[8]), ("1.00", "1.25", "7"), "{lines:?}");
    }

    #[test]
    fn alone_there_is_no_ratio() {
        let lines = lines(&rows("mely", 200_000, 1.0, 0));
        assert_eq!(lines[2].split_whitespace().nth(4), Some("-"), "{lines:?}");
    }
}
