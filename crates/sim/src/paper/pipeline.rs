//! Messages through a pipeline of handlers, begun unevenly (seed 002, section 4.2).
//!
//! All messages pass through all handlers, the last of which counts them. A message has
//! a color of its own; the counter has one too. Of the paper's four cores, two on each
//! package with a level-2 cache in common, one of each pair begins the messages, and
//! begins as many new ones whenever half of those on their way have been counted.

use std::sync::Arc;

use super::arrays::{Array, Arrays};
use super::program::Begin;
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Access, Colored, Context, Handler};

/// The cores that are switched on, by number (seed 002, section 4.1).
pub(super) const CORES: &[usize] = &[0, 1, 4, 5];

/// The workers that begin messages: one of each pair.
const LOADED: [usize; 2] = [0, 2];

/// The handlers before the counter.
pub(super) const STAGES: usize = 4;

/// What a pipeline is made of.
pub(super) struct Pipeline {
    pub(super) handlers: [Handler; STAGES],
    pub(super) count: Handler,
    /// What a handler touches, all of it.
    pub(super) bytes: usize,
}

/// How much goes through it.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// What a handler computes, besides what it touches.
    pub(super) work_cycles: u64,
    /// How many messages a source begins at a time. Twice as many are on their way.
    pub(super) messages: usize,
}

static BEGIN: Handler = Handler::new("pipeline::Begin");

/// A message on its way.
struct Flow {
    array: Array,
    stage: usize,
    work_cycles: u64,
    pipeline: &'static Pipeline,
    counter: Colored<Counter>,
}

impl Flow {
    fn step(mut self: Box<Self>, cx: &mut Context<'_>) {
        cx.touch(self.array.region(), Access::Write);
        cx.spend(self.work_cycles);
        self.stage += 1;
        let pipeline = self.pipeline;
        if let Some(handler) = pipeline.handlers.get(self.stage) {
            cx.with_handler(handler)
                .post_or_shed(move |_, cx| self.step(cx));
            return;
        }
        let Self { array, counter, .. } = *self;
        array.free(cx.worker());
        counter
            .with_handler(&pipeline.count)
            .post_or_shed(Counter::count);
    }
}

/// Begins messages on the core that it is pinned to.
struct Source {
    pipeline: &'static Pipeline,
    load: Load,
    arrays: Arc<Arrays>,
    counter: Colored<Counter>,
}

impl Source {
    fn begin(&mut self, cx: &mut Context<'_, Self>) {
        let Load {
            work_cycles,
            messages,
        } = self.load;
        for _ in 0..messages {
            let (arrays, counter) = (Arc::clone(&self.arrays), self.counter.clone());
            let pipeline = self.pipeline;
            cx.with_handler(&pipeline.handlers[0])
                .post_parallel(move |_, cx| {
                    let flow = Box::new(Flow {
                        array: arrays.take(cx.worker()),
                        stage: 0,
                        work_cycles,
                        pipeline,
                        counter,
                    });
                    flow.step(cx);
                });
        }
    }
}

/// Counts messages, and has the sources begin new ones.
struct Counter {
    sources: Vec<Colored<Source>>,
    messages: usize,
    counted: usize,
    left: u32,
}

impl Counter {
    fn count(&mut self, _cx: &mut Context<'_, Self>) {
        self.counted += 1;
        if self.counted == self.messages * LOADED.len() {
            self.counted = 0;
            self.refill();
        }
    }

    fn refill(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            for source in &self.sources {
                source.with_handler(&BEGIN).post_or_shed(Source::begin);
            }
        }
    }
}

/// Makes the colors of a pipeline. What comes in a round is what the sources begin at
/// a time.
pub(super) fn build(
    pipeline: &'static Pipeline,
    simulation: &Simulation,
    load: Load,
) -> Result<Begin, Error> {
    let handle = simulation.handle();
    let counter = handle.color_options().start_on(0).colored(Counter {
        sources: Vec::new(),
        messages: load.messages,
        counted: 0,
        left: 0,
    })?;
    let arrays = Arrays::new(handle.workers(), pipeline.bytes);
    let source = |&worker: &usize| {
        let source = Source {
            pipeline,
            load,
            arrays: Arc::clone(&arrays),
            counter: counter.clone(),
        };
        handle.color_options().pin_to(worker).colored(source)
    };
    let sources = LOADED.iter().map(source).collect::<Result<Vec<_>, _>>()?;
    Ok(Box::new(move |_, rounds| {
        let sources = sources.clone();
        counter.post_or_shed(move |counter, _cx| {
            counter.sources = sources;
            counter.left = rounds;
            counter.refill();
            counter.refill();
        });
    }))
}
