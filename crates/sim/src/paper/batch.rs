//! `batch`: a pipeline of four light handlers and a counter (*Vol de tâches*, section
//! 4.2.2, figures 5 and 6).
//!
//! Each of the four does 50 concatenations of character strings, the last handler counts
//! messages. With handlers this short, what a steal costs is most of what it brings,
//! unless it takes many colors at once.

use mely_papers::definitions::batch::CONCATENATIONS;

use super::assumed::Open;
use super::pipeline::{self, CORES, Load, Pipeline};
use super::program::Workload;
use crate::mely::Handler;

/// A word of six bytes each time.
const STRING_BYTES: usize = 6 * CONCATENATIONS;

static PIPELINE: Pipeline = Pipeline {
    handlers: [
        Handler::new("batch::First").cost_cycles(6_800),
        Handler::new("batch::Second").cost_cycles(6_800),
        Handler::new("batch::Third").cost_cycles(6_800),
        Handler::new("batch::Fourth").cost_cycles(6_800),
    ],
    count: Handler::new("batch::Count").cost_cycles(100),
    bytes: STRING_BYTES,
};

pub(super) static WORKLOAD: Workload = Workload {
    cores: CORES,
    counted: &[
        "batch::First",
        "batch::Second",
        "batch::Third",
        "batch::Fourth",
        "batch::Count",
    ],
    warm: 4,
    rounds: 40,
    build: |simulation, setup| {
        let load = Load {
            work_cycles: setup.assumed.get(Open::BatchWorkCycles),
            messages: setup.assumed.count(Open::BatchMessages),
        };
        pipeline::build(&PIPELINE, simulation, load)
    },
};
