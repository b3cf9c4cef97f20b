//! Messages through a pipeline of handlers, begun unevenly (seed 002, section 4.2).
//!
//! All messages pass through all handlers, the last of which counts them. A message
//! has a color of its own; the counter has one too. Sources on one core of each pair
//! (see `cores`) begin the messages, so that the other cores run dry: the paper spreads
//! them so that empty queues are likely. It also begins them periodically, so that
//! there is always something to do: here the sources begin as many new messages
//! whenever half of those on their way have been counted.

use std::sync::Arc;

use mely::{Colored, Context, Handler, Policy};

use super::cores;
use super::setting::runtime;
use crate::measure::measured::{Measured, Window};
use crate::measure::{Failure, Run};

/// The handlers before the counter.
pub(super) const STAGES: usize = 4;

/// What a pipeline is made of; `M` is what its messages carry.
pub(super) struct Pipeline<M: 'static> {
    /// The handlers before the counter, by stage.
    pub(super) handlers: [Handler; STAGES],
    /// The handler of the counter.
    pub(super) count: Handler,
    /// What the handler of a stage does.
    pub(super) work: fn(stage: usize, message: &mut M),
    /// How many messages a source begins at a time. Twice as many are on their way.
    pub(super) messages: usize,
}

static BEGIN: Handler = Handler::new("pipeline::Begin");

/// A message on its way.
struct Flow<M: 'static> {
    message: M,
    stage: usize,
    pipeline: &'static Pipeline<M>,
    counter: Colored<Counter<M>>,
}

impl<M: Default + Send> Flow<M> {
    fn step(mut self: Box<Self>, cx: &mut Context<'_>) {
        (self.pipeline.work)(self.stage, &mut self.message);
        self.stage += 1;
        let pipeline = self.pipeline;
        match pipeline.handlers.get(self.stage) {
            Some(handler) => cx
                .with_handler(handler)
                .post_or_shed(move |_, cx| self.step(cx)),
            None => self
                .counter
                .with_handler(&pipeline.count)
                .post_or_shed(Counter::count),
        }
    }
}

/// Begins messages on the core that it is pinned to.
struct Source<M: 'static> {
    pipeline: &'static Pipeline<M>,
    counter: Colored<Counter<M>>,
}

impl<M: Default + Send> Source<M> {
    fn begin(&mut self, cx: &mut Context<'_, Self>) {
        for _ in 0..self.pipeline.messages {
            let flow = Box::new(Flow {
                message: M::default(),
                stage: 0,
                pipeline: self.pipeline,
                counter: self.counter.clone(),
            });
            cx.with_handler(&self.pipeline.handlers[0])
                .post_parallel(move |_, cx| flow.step(cx));
        }
    }
}

/// Counts messages, and has the sources begin new ones.
struct Counter<M: 'static> {
    /// Empty once the run has ended: sources and counter would keep each other.
    sources: Vec<Colored<Source<M>>>,
    pipeline: &'static Pipeline<M>,
    left: usize,
    window: Arc<Window>,
}

impl<M: Default + Send> Counter<M> {
    fn count(&mut self, cx: &mut Context<'_, Self>) {
        self.left -= 1;
        if self.left > 0 {
            return;
        }
        self.left = self.pipeline.messages * self.sources.len().max(1);
        if self.sources.is_empty() {
            return;
        }
        if self.window.another(&cx.handle()) {
            self.refill();
        } else {
            self.sources.clear();
        }
    }

    fn refill(&self) {
        for source in &self.sources {
            source.with_handler(&BEGIN).post_or_shed(Source::begin);
        }
    }
}

/// Measures the events of all handlers of a pipeline. `counted` are their names.
pub(super) fn run<M: Default + Send + 'static>(
    pipeline: &'static Pipeline<M>,
    counted: &'static [&'static str],
    policy: Policy,
    run: &Run,
) -> Result<Measured, Failure> {
    let rt = runtime(policy, run)?;
    let (window, outcome) = Window::new(run.time, counted);
    let loaded = cores::loaded(&rt);
    let counter = rt.color_options().start_on(0).colored(Counter {
        sources: Vec::new(),
        pipeline,
        left: pipeline.messages * loaded.len(),
        window,
    })?;
    let source = |&worker: &usize| {
        let counter = counter.clone();
        let source = Source { pipeline, counter };
        rt.color_options().pin_to(worker).colored(source)
    };
    let sources = loaded.iter().map(source).collect::<Result<Vec<_>, _>>()?;
    counter.post_or_shed(move |counter, _cx| {
        counter.sources = sources;
        counter.refill();
        counter.refill();
    });
    outcome.wait()
}
