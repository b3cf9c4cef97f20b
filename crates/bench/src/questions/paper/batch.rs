//! `batch`: a pipeline of four light handlers and a counter (*Vol de tâches*, section
//! 4.2.2, figures 5 and 6).
//!
//! Each of the four does 50 concatenations of character strings, the last handler
//! counts messages. With handlers this short, what a steal costs is most of what it
//! brings, unless it takes many colors at once. How messages begin is told in
//! `pipeline`.

use std::hint::black_box;

use mely::{Handler, Policy};
use mely_papers::definitions::batch::CONCATENATIONS;

use super::pipeline::{self, Pipeline};
use super::setting::handlers;
use crate::measure::measured::Measured;
use crate::measure::{Failure, Run};

/// What is appended: a word, as a parser or a logger would.
const WORD: &str = "event ";

/// Messages that a source begins at a time: some hundred wait in a queue then, as in
/// a busy server.
const MESSAGES: usize = 500;

/// What the handlers take, as `adaptive` learns it on a Xeon at 2.5 GHz: Mely's
/// policies get it from profiling.
/// The first also gets the memory, the last gives it back and posts.
const FIRST_CYCLES: u32 = 1_400;
const CONCATENATE_CYCLES: u32 = 500;
const FOURTH_CYCLES: u32 = 700;
const COUNT_CYCLES: u32 = 100;

const STAGES: [Handler; pipeline::STAGES] = [
    Handler::new("batch::First"),
    Handler::new("batch::Second"),
    Handler::new("batch::Third"),
    Handler::new("batch::Fourth"),
];
const COUNT: Handler = Handler::new("batch::Count");

static PLAIN: Pipeline<String> = Pipeline {
    handlers: STAGES,
    count: COUNT,
    work,
    messages: MESSAGES,
};
static ANNOTATED: Pipeline<String> = {
    let [first, second, third, fourth] = STAGES;
    Pipeline {
        handlers: [
            first.cost_cycles(FIRST_CYCLES),
            second.cost_cycles(CONCATENATE_CYCLES),
            third.cost_cycles(CONCATENATE_CYCLES),
            fourth.cost_cycles(FOURTH_CYCLES),
        ],
        count: COUNT.cost_cycles(COUNT_CYCLES),
        work,
        messages: MESSAGES,
    }
};

fn work(_stage: usize, text: &mut String) {
    // Each handler begins anew: otherwise they would grow longer, stage by stage.
    text.clear();
    for _ in 0..CONCATENATIONS {
        text.push_str(black_box(WORD));
    }
    black_box(text);
}

pub(super) fn run(policy: Policy, run: &Run) -> Result<Measured, Failure> {
    static COUNTED: [&str; 5] = [
        "batch::First",
        "batch::Second",
        "batch::Third",
        "batch::Fourth",
        COUNT.name(),
    ];
    pipeline::run(handlers(policy, &ANNOTATED, &PLAIN), &COUNTED, policy, run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_concatenates_fifty_words() {
        let mut text = String::new();
        work(0, &mut text);
        work(1, &mut text);
        assert_eq!(text.len(), 50 * WORD.len());
    }
}
