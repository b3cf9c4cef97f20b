//! What a server has counted.

use crate::status::Status;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A count that one worker writes and anyone reads.
#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    /// For the one thread that writes this count: a worker runs one handler at a time.
    pub(super) fn add(&self, more: u64) {
        // Relaxed, and no read-modify-write: one writer, and counts order nothing else.
        self.0
            .store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The counts of one worker, on cache lines of their own.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct WorkerCounts {
    /// By the first digit of the status.
    answers: [Count; 6],
    pub(super) rejected: Count,
    pub(super) bytes_sent: Count,
    pub(super) timeouts: Count,
    pub(super) broken: Count,
}

impl WorkerCounts {
    pub(super) fn answered(&self, status: Status) {
        if let Some(count) = self.answers.get(usize::from(status.code() / 100)) {
            count.add(1);
        }
    }
}

/// The counts of the gate, which runs one event at a time: one writer again.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct GateCounts {
    pub(super) active: Count,
    pub(super) refusing: Count,
    pub(super) accepted: Count,
    pub(super) refused: Count,
    pub(super) accept_failures: Count,
}

/// All counts of a server.
pub(super) struct Counts {
    pub(super) gate: GateCounts,
    pub(super) workers: Box<[WorkerCounts]>,
}

impl Counts {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            gate: GateCounts::default(),
            workers: (0..workers).map(|_| WorkerCounts::default()).collect(),
        }
    }

    pub(super) fn read(&self) -> ServerStats {
        let sum = |count: fn(&WorkerCounts) -> &Count| -> u64 {
            self.workers.iter().map(|worker| count(worker).get()).sum()
        };
        ServerStats {
            active: self.gate.active.get(),
            refusing: self.gate.refusing.get(),
            accepted: self.gate.accepted.get(),
            refused: self.gate.refused.get(),
            accept_failures: self.gate.accept_failures.get(),
            answers_2xx: sum(|worker| &worker.answers[2]),
            answers_3xx: sum(|worker| &worker.answers[3]),
            answers_4xx: sum(|worker| &worker.answers[4]),
            answers_5xx: sum(|worker| &worker.answers[5]),
            rejected: sum(|worker| &worker.rejected),
            bytes_sent: sum(|worker| &worker.bytes_sent),
            timeouts: sum(|worker| &worker.timeouts),
            broken: sum(|worker| &worker.broken),
        }
    }
}

/// What a server has counted up to a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Clients that are connected and served.
    pub active: u64,
    /// Clients that are being turned away with 503.
    pub refusing: u64,
    /// Clients that were accepted to be served.
    pub accepted: u64,
    /// Clients that were turned away with 503, since there were too many.
    pub refused: u64,
    /// Attempts to accept that failed: descriptors or memory ran out, or the peer was gone.
    pub accept_failures: u64,
    /// Answers with content, and to OPTIONS.
    pub answers_2xx: u64,
    /// Redirections, and answers that the client's copy is current.
    pub answers_3xx: u64,
    /// Answers that the path, a condition or a range does not hold.
    pub answers_4xx: u64,
    /// Answers that the server could not read the file.
    pub answers_5xx: u64,
    /// Requests refused before any path was looked up: malformed, too large, too slow, or with a
    /// method or version that is not served.
    pub rejected: u64,
    /// Bytes of responses given to the system.
    pub bytes_sent: u64,
    /// Connections on which the peer was silent for too long.
    pub timeouts: u64,
    /// Connections that ended by an error of the socket, such as a reset.
    pub broken: u64,
}

impl ServerStats {
    /// The counts in the text format of Prometheus, to go after
    /// [`Snapshot::to_prometheus`](mely::Snapshot::to_prometheus).
    ///
    /// ```
    /// let text = mely_http::server::ServerStats::default().to_prometheus();
    /// assert!(text.contains("\nmely_http_clients 0\n"));
    /// ```
    pub fn to_prometheus(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: &[(&str, u64)]| {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "# HELP mely_http_{name} {help}\n# TYPE mely_http_{name} {kind}\n"
            );
            for (labels, value) in samples {
                let _ = writeln!(text, "mely_http_{name}{labels} {value}");
            }
        };
        let gauge = "gauge";
        family("clients", gauge, "Clients connected.", &[("", self.active)]);
        let turned_away = [("", self.refusing)];
        family(
            "clients_refusing",
            gauge,
            "Clients being turned away.",
            &turned_away,
        );
        let answers = [
            ("{class=\"2xx\"}", self.answers_2xx),
            ("{class=\"3xx\"}", self.answers_3xx),
            ("{class=\"4xx\"}", self.answers_4xx),
            ("{class=\"5xx\"}", self.answers_5xx),
        ];
        family("answers_total", "counter", "Requests answered.", &answers);
        for (name, help, value) in [
            ("accepted_total", "Clients accepted.", self.accepted),
            (
                "refused_total",
                "Clients turned away with 503.",
                self.refused,
            ),
            (
                "accept_failures_total",
                "Failures to accept.",
                self.accept_failures,
            ),
            (
                "rejected_total",
                "Requests refused before a lookup.",
                self.rejected,
            ),
            ("sent_bytes_total", "Bytes sent.", self.bytes_sent),
            (
                "timeouts_total",
                "Peers silent for too long.",
                self.timeouts,
            ),
            (
                "broken_total",
                "Connections ended by an error.",
                self.broken,
            ),
        ] {
            family(name, "counter", help, &[("", value)]);
        }
        text
    }
}
