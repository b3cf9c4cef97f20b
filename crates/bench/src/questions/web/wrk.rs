//! `wrk`, the load: started, and its report read.

use std::io;
use std::process::{Command, Stdio};

use super::answers::Answers;
use crate::measure::Error;

/// Threads of the load: one leaves the other core to the server.
const THREADS: u32 = 1;

/// Whether there is a `wrk` to start.
pub(super) fn check() -> Result<(), Error> {
    let mut command = Command::new("wrk");
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().map(drop).map_err(|source| Error::Server {
        what: "wrk (of the package of that name)".to_owned(),
        source,
    })
}

/// Loads the server on a port of this machine with keep-alive requests.
pub(super) fn run(port: u16, file: &str, connections: u32, seconds: u64) -> Result<Answers, Error> {
    let failed = |source| Error::Server {
        what: "wrk".to_owned(),
        source,
    };
    let output = Command::new("wrk")
        .args(["-t", &THREADS.to_string(), "-c", &connections.to_string()])
        .args([
            "-d",
            &format!("{seconds}s"),
            "--timeout",
            "10s",
            "--latency",
        ])
        .arg(format!("http://127.0.0.1:{port}/{file}"))
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    read(&text).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        failed(io::Error::other(format!(
            "it reported nothing: {said}{text}"
        )))
    })
}

/// Reads a report.
fn read(text: &str) -> Option<Answers> {
    let mut answers = Answers::default();
    let mut complete = false;
    for line in text.lines().map(str::trim) {
        let numbers = |from: &str| -> Vec<u64> {
            from.split(|c: char| !c.is_ascii_digit())
                .filter_map(|n| n.parse().ok())
                .collect()
        };
        if let Some((requests, rest)) = line.split_once(" requests in ") {
            answers.requests = requests.parse().ok()?;
            answers.seconds = seconds(rest.split(',').next()?)?;
            complete = true;
        } else if let Some(p99) = line.strip_prefix("99%") {
            answers.p99_us = seconds(p99.trim())? * 1e6;
        } else if line.starts_with("Socket errors:") || line.starts_with("Non-2xx") {
            answers.errors += numbers(line.split_once(':')?.1).iter().sum::<u64>();
        }
    }
    complete.then_some(answers)
}

/// Reads a time such as `5.03s`, `800.00ms` or `1.00m`.
fn seconds(time: &str) -> Option<f64> {
    let digits = time.find(|c: char| c.is_ascii_alphabetic())?;
    let value: f64 = time[..digits].parse().ok()?;
    let unit = match &time[digits..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    Some(value * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let text = "Running 2s test @ http://127.0.0.1:1/\n  1 threads and 10 connections\n  \
                    Latency Distribution\n     50%  321.00us\n     99%    1.25ms\n  \
                    61342 requests in 2.03s, 70.1MB read\n  \
                    Socket errors: connect 1, read 2, write 0, timeout 4\n  \
                    Non-2xx or 3xx responses: 5\nRequests/sec:  30217.7\n";
        let load = read(text).unwrap();
        assert_eq!((load.requests, load.errors), (61_342, 12));
        assert!((load.seconds - 2.03).abs() < 1e-9);
        assert!((load.p99_us - 1250.0).abs() < 1e-6);
        assert_eq!(
            read("unable to connect to 127.0.0.1:1 Connection refused"),
            None
        );
    }

    #[test]
    fn times_have_units() {
        assert_eq!(seconds("1.50m"), Some(90.0));
        assert_eq!(seconds("10h"), None);
    }
}
