//! What a program has counted when it was looked at.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use super::text::{self, Sample};

/// Numbers by their names, without what these begin with.
pub(super) type Values = HashMap<String, f64>;

/// A look at a program.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) at: Instant,
    /// Those that are of nothing in particular.
    pub(super) totals: Values,
    /// By number.
    pub(super) workers: BTreeMap<usize, Values>,
    /// By name.
    pub(super) handlers: BTreeMap<String, HandlerLook>,
    /// Longest first.
    pub(super) waiting: Vec<Waiting>,
    /// What is counted by handler.
    pub(super) counter: Option<String>,
    /// Why it is not, or not everywhere.
    pub(super) not_counted: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct HandlerLook {
    pub(super) values: Values,
    pub(super) run: Durations,
    pub(super) wait: Durations,
}

/// A histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Durations {
    /// Ends of intervals in seconds, and how many take no longer; in order, up to infinity.
    pub(super) buckets: Vec<(f64, f64)>,
    pub(super) sum: f64,
    /// Of how many samples it is made.
    pub(super) samples: f64,
}

/// An event that waits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Waiting {
    pub(super) color: Option<u64>,
    pub(super) handler: String,
    pub(super) seconds: f64,
    pub(super) is_pinned: bool,
}

impl Look {
    /// What a program's text says now.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(super) fn at_text(text: &str) -> Result<Self, String> {
        let samples = text::samples(text)
            .map_err(|line| format!("line {line} of the answer is no metric in the text format"))?;
        let mut look = Self {
            at: Instant::now(),
            totals: Values::new(),
            workers: BTreeMap::new(),
            handlers: BTreeMap::new(),
            waiting: Vec::new(),
            counter: None,
            not_counted: None,
        };
        let mut waiting = BTreeMap::new();
        for sample in &samples {
            if let Some(name) = sample.name.strip_prefix("mely_") {
                look.add(name, sample, &mut waiting);
            }
        }
        look.waiting = waiting.into_values().collect();
        match look.workers.is_empty() || !look.totals.contains_key("events_run_total") {
            true => Err("there are no metrics of Mely in the answer".to_owned()),
            false => Ok(look),
        }
    }

    fn add(&mut self, name: &str, sample: &Sample, waiting: &mut BTreeMap<u64, Waiting>) {
        let number = |label| sample.label(label).and_then(|number| number.parse().ok());
        if let (Some(name), Some(worker)) = (name.strip_prefix("worker_"), number("worker")) {
            let worker = self.workers.entry(worker as usize).or_default();
            worker.insert(name.to_owned(), sample.value);
        } else if let (Some(name), Some(handler)) =
            (name.strip_prefix("handler_"), sample.label("handler"))
        {
            let handler = self.handlers.entry(handler.to_owned()).or_default();
            handler.add(name, sample);
        } else if let (Some(name), Some(rank)) = (name.strip_prefix("waiting_"), number("rank")) {
            let one: &mut Waiting = waiting.entry(rank).or_default();
            match name {
                "seconds" => {
                    one.seconds = sample.value;
                    one.handler = sample.label("handler").unwrap_or_default().to_owned();
                    one.is_pinned = sample.label("pinned") == Some("1");
                }
                "color" => one.color = Some(sample.value as u64),
                _ => {}
            }
        } else if let ("counter_workers", Some(counter)) = (name, sample.label("counter")) {
            self.counter = Some(counter.to_owned());
        } else if let ("counter_refused", Some(reason)) = (name, sample.label("reason")) {
            self.not_counted = Some(reason.to_owned());
        } else if sample.labels.is_empty() {
            self.totals.insert(name.to_owned(), sample.value);
        }
    }
}

impl HandlerLook {
    fn add(&mut self, name: &str, sample: &Sample) {
        let durations = match name.split_once('_') {
            Some(("run", rest)) => Some((&mut self.run, rest)),
            Some(("wait", rest)) => Some((&mut self.wait, rest)),
            _ => None,
        };
        match durations {
            Some((durations, rest)) => durations.add(rest, sample),
            None => _ = self.values.insert(name.to_owned(), sample.value),
        }
    }
}

impl Durations {
    fn add(&mut self, name: &str, sample: &Sample) {
        let end = || sample.label("le").and_then(|end| end.parse().ok());
        match (name, end()) {
            ("seconds_bucket", Some(end)) => self.buckets.push((end, sample.value)),
            ("seconds_sum", _) => self.sum = sample.value,
            ("samples_total", _) => self.samples = sample.value,
            _ => {}
        }
    }

    pub(super) fn count(&self) -> f64 {
        self.buckets.last().map_or(0.0, |&(_, count)| count)
    }

    /// What has been added since an earlier look.
    pub(super) fn since(&self, before: &Self) -> Self {
        let earlier = |end: f64| {
            let same = before.buckets.iter().find(|bucket| bucket.0 == end);
            same.map_or(0.0, |bucket| bucket.1)
        };
        let less = |&(end, count): &(f64, f64)| (end, (count - earlier(end)).max(0.0));
        Self {
            buckets: self.buckets.iter().map(less).collect(),
            sum: (self.sum - before.sum).max(0.0),
            samples: (self.samples - before.samples).max(0.0),
        }
    }

    /// So large a part takes no longer than this, in seconds: evenly spread in its interval, on
    /// a scale of powers. Nothing without samples.
    pub(super) fn quantile(&self, part: f64) -> Option<f64> {
        let wanted = self.count() * part;
        if self.count() <= 0.0 {
            return None;
        }
        let at = self
            .buckets
            .iter()
            .position(|&(_, count)| count >= wanted)?;
        let (end, up_to) = self.buckets[at];
        let (begin, before) = match at.checked_sub(1) {
            Some(earlier) => self.buckets[earlier],
            None => (end / 2.0, 0.0),
        };
        if end.is_infinite() {
            return Some(begin);
        }
        let share = ((wanted - before) / (up_to - before)).clamp(0.0, 1.0);
        Some(begin * (end / begin).powf(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(buckets: &[(f64, f64)]) -> Durations {
        Durations {
            buckets: buckets.to_vec(),
            ..Durations::default()
        }
    }

    #[test]
    fn quantiles_lie_within_their_intervals() {
        let some = durations(&[
            (1.0, 50.0),
            (2.0, 50.0),
            (4.0, 99.0),
            (f64::INFINITY, 100.0),
        ]);
        assert_eq!(some.quantile(0.5), Some(1.0));
        assert!(
            some.quantile(0.25)
                .is_some_and(|end| (0.7..0.71).contains(&end))
        );
        assert!(
            some.quantile(0.75)
                .is_some_and(|end| (2.7..3.0).contains(&end))
        );
        assert_eq!(
            (some.quantile(0.99), some.quantile(1.0)),
            (Some(4.0), Some(4.0))
        );
        assert_eq!(durations(&[]).quantile(0.5), None);
        assert_eq!(
            durations(&[(1.0, 0.0), (f64::INFINITY, 0.0)]).quantile(0.5),
            None
        );
        let since = some.since(&durations(&[(1.0, 50.0), (2.0, 50.0)]));
        assert_eq!(since.count(), 100.0);
        assert_eq!(since.buckets[0].1, 0.0);
    }

    #[test]
    fn what_is_of_others_is_left_out() {
        let text = "sws_requests_total 3\nmely_events_run_total 7\n\
                    mely_worker_turns_total{worker=\"0\"} 5\n\
                    mely_handler_events_total{handler=\"A\"} 6\n\
                    mely_handler_run_seconds_bucket{handler=\"A\",le=\"0.5\"} 1\n\
                    mely_handler_run_seconds_bucket{handler=\"A\",le=\"+Inf\"} 2\n\
                    mely_handler_run_seconds_sum{handler=\"A\"} 1.5\n\
                    mely_handler_run_seconds_count{handler=\"A\"} 2\n\
                    mely_handler_run_samples_total{handler=\"A\"} 2\n\
                    mely_waiting_seconds{rank=\"1\",handler=\"B\",pinned=\"0\"} 0.25\n\
                    mely_waiting_seconds{rank=\"0\",handler=\"A\",pinned=\"1\"} 0.5\n\
                    mely_waiting_color{rank=\"0\"} 65536\n";
        let look = Look::at_text(text).expect("it is of Mely");
        assert_eq!(look.totals.len(), 1);
        assert_eq!(look.workers[&0]["turns_total"], 5.0);
        let handler = &look.handlers["A"];
        assert_eq!(handler.values["events_total"], 6.0);
        assert_eq!(
            (handler.run.sum, handler.run.samples, handler.run.count()),
            (1.5, 2.0, 2.0)
        );
        let colors: Vec<_> = look
            .waiting
            .iter()
            .map(|one| (one.color, one.is_pinned))
            .collect();
        assert_eq!(colors, [(Some(65_536), true), (None, false)]);
        for wrong in ["", "up 1\n", "mely_events_run_total 7\n", "<html>"] {
            assert!(Look::at_text(wrong).is_err(), "{wrong}");
        }
    }
}
