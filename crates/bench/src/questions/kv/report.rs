//! What redis-benchmark reports, with `--csv`.

/// The figures of one kind of request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kind {
    pub(super) per_second: f64,
    pub(super) p99_us: f64,
}

/// The figures of both kinds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Report {
    pub(super) set: Kind,
    pub(super) get: Kind,
}

impl Report {
    /// Reads a table: its first line names the columns. `None` if it is not complete.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(words).skip_while(|line| line[0] != "test");
        let head = lines.next()?;
        let column = |name| head.iter().position(|&word| word == name);
        let (rate, p99) = (column("rps")?, column("p99_latency_ms")?);
        let (mut set, mut get) = (None, None);
        for line in lines {
            let figure = |at: usize| line.get(at)?.parse::<f64>().ok();
            let kind = Kind {
                per_second: figure(rate)?,
                p99_us: figure(p99)? * 1e3,
            };
            match line[0] {
                "SET" => set = Some(kind),
                "GET" => get = Some(kind),
                _ => return None,
            }
        }
        Some(Self {
            set: set?,
            get: get?,
        })
    }
}

/// The words of a line; no line is without one.
fn words(line: &str) -> Vec<&str> {
    line.split(',').map(|word| word.trim_matches('"')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\
        \"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n";
    const SET: &str = "\"SET\",\"250000.00\",\"0.5\",\"0.1\",\"0.4\",\"0.9\",\"1.25\",\"2\"\n";
    const GET: &str = "\"GET\",\"500000.00\",\"0.5\",\"0.1\",\"0.4\",\"0.9\",\"0.75\",\"2\"\n";

    #[test]
    fn a_report_is_read() {
        let warned = format!("WARNING: Could not fetch server CONFIG\n{HEAD}{SET}{GET}");
        for text in [format!("{HEAD}{SET}{GET}"), warned] {
            let report = Report::read(&text).unwrap();
            assert_eq!(report.set.per_second, 250_000.0);
            assert_eq!(report.set.p99_us, 1250.0);
            assert_eq!(report.get.per_second, 500_000.0);
            assert_eq!(report.get.p99_us, 750.0);
        }
    }

    #[test]
    fn what_is_not_complete_is_none() {
        let wrong = SET.replace("250000.00", "fast");
        for text in [
            String::new(),
            HEAD.to_owned(),
            format!("{HEAD}{SET}"),
            format!("{SET}{GET}"),
            format!("{HEAD}{wrong}{GET}"),
        ] {
            assert_eq!(Report::read(&text), None, "{text}");
        }
    }
}
