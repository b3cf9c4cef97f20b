//! `penalty`: chains of events that walk through an array, all begun on the first
//! core (seed 000, section V-B, table V).
//!
//! The first core starts with many events A, each of its own color. A creates an array
//! that fits in the cache and posts a B of the same color; B accesses the next offset
//! of the array and posts the next B, until the array has been accessed completely.
//! A new round begins when all chains have ended. Thieves should take As: a stolen B
//! leaves the array behind. The annotated penalty of B is 1000.
//!
//! The paper gives no sizes but one hint, 29 cache misses an event: B walks through
//! 2 KiB, which are 32 lines. 100 arrays of 64 KiB fit one by one into any core's
//! level-2 cache, and together into none, as on the paper's machine. With 1000 of them
//! the allocator returns the memory in each round and gets it again, and page faults
//! are all there is to see: without stealing 0.8 million events a second instead of 5.

use std::hint::black_box;
use std::sync::Arc;

use mely::{Context, Handler, Policy};
use mely_papers::definitions::penalty::PENALTY;

use super::join::{Part, Round};
use super::setting::{handlers, runtime};
use crate::measure::measured::{Measured, Window};
use crate::measure::{Failure, Run};

/// Events A in a round.
const CHAINS: usize = 100;
/// Numbers of 8 bytes in an array: 64 KiB.
const ARRAY: usize = 8192;
/// Numbers that an event B accesses: 2 KiB.
const OFFSET: usize = 256;
/// Numbers in a cache line: B touches one of each line.
const LINE: usize = 8;

/// What the two handlers take, as `adaptive` learns it on a Xeon at 2.5 GHz: the
/// papers' policies get it from profiling too.
const CREATE_CYCLES: u32 = 10_000;
const ACCESS_CYCLES: u32 = 300;

struct Handlers {
    create: Handler,
    access: Handler,
}

const CREATE: Handler = Handler::new("penalty::A");
const ACCESS: Handler = Handler::new("penalty::B");

static PLAIN: Handlers = Handlers {
    create: CREATE,
    access: ACCESS,
};
static ANNOTATED: Handlers = Handlers {
    create: CREATE.cost_cycles(CREATE_CYCLES),
    access: ACCESS.cost_cycles(ACCESS_CYCLES).penalty(PENALTY),
};
static ROUND: Handler = Handler::new("penalty::Round");

/// What the events of a color pass on to each other.
struct Chain {
    array: Box<[u64]>,
    next: usize,
    handlers: &'static Handlers,
    _part: Arc<Part<Source>>,
}

impl Chain {
    /// Event A.
    fn create(handlers: &'static Handlers, part: Arc<Part<Source>>, cx: &mut Context<'_>) {
        let chain = Self {
            array: (0..ARRAY as u64).collect(),
            next: 0,
            handlers,
            _part: part,
        };
        Box::new(chain).post_access(cx);
    }

    fn post_access(self: Box<Self>, cx: &mut Context<'_>) {
        cx.with_handler(&self.handlers.access)
            .post_or_shed(move |_, cx| self.access(cx));
    }

    /// Event B.
    fn access(mut self: Box<Self>, cx: &mut Context<'_>) {
        let end = self.next + OFFSET;
        for number in self.array[self.next..end].iter_mut().step_by(LINE) {
            *number = number.wrapping_add(1);
        }
        black_box(&mut self.array);
        self.next = end;
        if self.next < ARRAY {
            self.post_access(cx);
        }
    }
}

struct Source {
    handlers: &'static Handlers,
    window: Arc<Window>,
}

impl Source {
    fn begin(&mut self, cx: &mut Context<'_, Self>) {
        let round = Round::begin(cx.colored(), &ROUND, Self::end);
        for _ in 0..CHAINS {
            // A part for each chain: it is dropped once in so many events.
            let (handlers, part) = (self.handlers, round.part());
            cx.with_handler(&handlers.create)
                .post_parallel(move |_, cx| {
                    Chain::create(handlers, part, cx);
                });
        }
    }

    fn end(&mut self, cx: &mut Context<'_, Self>) {
        if self.window.another(&cx.handle()) {
            self.begin(cx);
        }
    }
}

pub(super) fn run(policy: Policy, run: &Run) -> Result<Measured, Failure> {
    static COUNTED: [&str; 2] = [CREATE.name(), ACCESS.name()];
    let rt = runtime(policy, run)?;
    let (window, outcome) = Window::new(run.time, &COUNTED);
    let source = rt.color_options().pin_to(0).colored(Source {
        handlers: handlers(policy, &ANNOTATED, &PLAIN),
        window,
    })?;
    source.with_handler(&ROUND).post_or_shed(Source::begin);
    outcome.wait()
}
