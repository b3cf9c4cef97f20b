//! What a stage refuses, by name.

use std::fmt;

use mely_sched::Nanos;
use mely_sched::admission::{
    AdmissionChain, Codel, Deadline, EarlyDrop, Gradient, ResponseTime, ResponseTimeOptions,
    Threshold,
};

/// A policy of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Conditioning {
    /// The default: what is expected to be late is refused, and what is late is shed.
    Within,
    /// SEDA's controller of the 90th percentile, as its paper sets it.
    ResponseTime,
    /// The same, with rates that are made for this stage.
    ResponseTimeTuned,
    /// A queue of 1000.
    Threshold,
    /// Random early drop, as it is set by default.
    EarlyDrop,
    /// CoDel on the queue's delay: 5 ms in 100 ms.
    Codel,
    /// The gradient of response times: 20 to 200 at a time.
    Gradient,
    /// What has waited for 0.7 of the target is shed.
    Deadline,
    /// Nothing.
    None,
}

impl Conditioning {
    /// The policy for responses within a target, of a stage that answers so many a second.
    pub(crate) fn chain(self, target: Nanos, peak: f64) -> AdmissionChain {
        let chain = AdmissionChain::new();
        let by_paper = ResponseTimeOptions::new(target);
        match self {
            Self::Within => AdmissionChain::within(target),
            Self::ResponseTime => chain.and(ResponseTime::new(by_paper)),
            Self::ResponseTimeTuned => chain.and(ResponseTime::new(ResponseTimeOptions {
                rate_max: 2.0 * peak,
                increase: 0.02 * peak,
                ..by_paper
            })),
            Self::Threshold => chain.and(Threshold::default()),
            Self::EarlyDrop => chain.and(EarlyDrop::default()),
            Self::Codel => chain.and(Codel::default()),
            Self::Gradient => chain.and(Gradient::default()),
            Self::Deadline => chain.and(Deadline::new(Nanos::new(target.get() * 7 / 10))),
            Self::None => chain,
        }
    }
}

impl fmt::Display for Conditioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Within => "within",
            Self::ResponseTime => "response-time",
            Self::ResponseTimeTuned => "response-time-tuned",
            Self::Threshold => "threshold",
            Self::EarlyDrop => "early-drop",
            Self::Codel => "codel",
            Self::Gradient => "gradient",
            Self::Deadline => "deadline",
            Self::None => "none",
        })
    }
}
