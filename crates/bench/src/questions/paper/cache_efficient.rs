//! `cache-efficient`: merge sorts, forked on one core of each pair (seed 000,
//! section V-B, table VI).
//!
//! In each round, one core of each pair (see `cores`) starts with a hundred events A.
//! A allocates an array and posts two events B of different colors on the same core;
//! each B sorts a half and then posts a C to the color of the array; the second C
//! merges. A new round begins when all arrays are sorted. The locality heuristic
//! gives the halves to the neighbor, who finds them in the shared cache.
//!
//! The paper says of the array that it fits in the cache. 1000 numbers make an event
//! as long as its table has it: 4 loaded cores of 2.33 GHz ran 1156 thousand events a
//! second without stealing, 8000 cycles each, and an array is five events.

use std::hint::black_box;
use std::sync::Arc;

use mely::{Colored, Context, Handler, Policy};
use mely_papers::definitions::cache_efficient::ARRAYS;

use super::cores;
use super::join::{Part, Round};
use super::setting::{handlers, runtime};
use crate::measure::measured::{Measured, Window};
use crate::measure::random::Random;
use crate::measure::{Failure, Run};

/// Numbers of 4 bytes in an array.
const NUMBERS: usize = 1000;

/// What the handlers take, as `adaptive` learns it on a Xeon at 2.5 GHz: the papers'
/// policies get it from profiling too.
const ALLOCATE_CYCLES: u32 = 7_000;
const SORT_CYCLES: u32 = 15_000;
const MERGE_CYCLES: u32 = 7_000;

struct Handlers {
    allocate: Handler,
    sort: Handler,
    merge: Handler,
}

const ALLOCATE: Handler = Handler::new("cache-efficient::A");
const SORT: Handler = Handler::new("cache-efficient::B");
const MERGE: Handler = Handler::new("cache-efficient::C");

static PLAIN: Handlers = Handlers {
    allocate: ALLOCATE,
    sort: SORT,
    merge: MERGE,
};
static ANNOTATED: Handlers = Handlers {
    allocate: ALLOCATE.cost_cycles(ALLOCATE_CYCLES),
    sort: SORT.cost_cycles(SORT_CYCLES),
    merge: MERGE.cost_cycles(MERGE_CYCLES),
};
static ROUND: Handler = Handler::new("cache-efficient::Round");

type Numbers = Vec<u32>;

/// The state of an array's color.
struct Array {
    seed: u64,
    sorted_half: Option<Numbers>,
    handlers: &'static Handlers,
    _part: Arc<Part<Source>>,
}

impl Array {
    /// Event A.
    fn allocate(&mut self, cx: &mut Context<'_, Self>) {
        let mut random = Random::new(self.seed);
        let mut first: Numbers = (0..NUMBERS).map(|_| random.below(u32::MAX)).collect();
        let last = first.split_off(NUMBERS / 2);
        for half in [first, last] {
            let array = cx.colored();
            let handlers = self.handlers;
            cx.with_handler(&handlers.sort)
                .post_parallel(move |_, _| sort(half, &array, handlers));
        }
    }

    /// Event C.
    fn merge(&mut self, half: Numbers) {
        match self.sorted_half.take() {
            None => self.sorted_half = Some(half),
            Some(other) => drop(black_box(merged(&half, &other))),
        }
    }
}

/// Event B.
fn sort(mut half: Numbers, array: &Colored<Array>, handlers: &'static Handlers) {
    half.sort_unstable();
    array
        .with_handler(&handlers.merge)
        .post_or_shed(|array, _cx| array.merge(half));
}

fn merged(a: &[u32], b: &[u32]) -> Numbers {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        let next = if x <= y { a.next() } else { b.next() };
        merged.extend(next);
    }
    merged.extend(a);
    merged.extend(b);
    merged
}

/// On each loaded core, posts the As of the round.
struct Source {
    handlers: &'static Handlers,
    /// Those of all loaded cores, in the one that begins the rounds.
    sources: Vec<Colored<Source>>,
    window: Arc<Window>,
}

impl Source {
    fn begin(&mut self, cx: &mut Context<'_, Self>) {
        let round = Round::begin(cx.colored(), &ROUND, Self::end);
        for source in &self.sources {
            let round = Arc::clone(&round);
            source
                .with_handler(&ROUND)
                .post_or_shed(move |source, cx| source.fork(&round, cx));
        }
        self.fork(&round, cx);
    }

    fn fork(&mut self, round: &Arc<Round<Source>>, cx: &mut Context<'_, Self>) {
        let handle = cx.handle();
        for seed in 0..ARRAYS as u64 {
            let array = handle.colored(Array {
                seed,
                sorted_half: None,
                handlers: self.handlers,
                _part: round.part(),
            });
            array
                .with_handler(&self.handlers.allocate)
                .post_or_shed(Array::allocate);
        }
    }

    fn end(&mut self, cx: &mut Context<'_, Self>) {
        if self.window.another(&cx.handle()) {
            self.begin(cx);
        }
    }
}

pub(super) fn run(policy: Policy, run: &Run) -> Result<Measured, Failure> {
    static COUNTED: [&str; 3] = [ALLOCATE.name(), SORT.name(), MERGE.name()];
    let rt = runtime(policy, run)?;
    let (window, outcome) = Window::new(run.time, &COUNTED);
    let source = |worker: usize, sources: Vec<Colored<Source>>| {
        rt.color_options().pin_to(worker).colored(Source {
            handlers: handlers(policy, &ANNOTATED, &PLAIN),
            sources,
            window: Arc::clone(&window),
        })
    };
    let loaded = cores::loaded(&rt);
    let others = loaded[1..].iter().map(|&worker| source(worker, Vec::new()));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let first = source(loaded[0], others)?;
    first.with_handler(&ROUND).post_or_shed(Source::begin);
    outcome.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sorted_halves_become_one() {
        assert_eq!(merged(&[1, 4, 9], &[0, 4, 5]), [0, 1, 4, 4, 5, 9]);
        assert_eq!(merged(&[], &[7]), [7]);
    }
}
