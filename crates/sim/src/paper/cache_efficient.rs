//! `cache-efficient`: merge sorts, forked on one core of each pair (seed 000, section
//! V-B, table VI).
//!
//! In each round, one core of each pair starts with a hundred events A. A allocates an
//! array and posts two events B of different colors on the same core; each B sorts a
//! half and then posts a C to the color of the array; the second C merges.
//!
//! The paper says of the array that it fits in the cache: a thousand numbers of 4 bytes,
//! about as many lines as the 13 misses for each of five events that stealing costs.
//! What sorting takes is calibrated on the rate without stealing.

use std::sync::Arc;

use mely_papers::definitions::cache_efficient::ARRAYS;

use super::arrays::{Array, Arrays};
use super::program::{Begin, Setup, Workload};
use super::rounds::{self, Round, Rounds, Source};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Access, Colored, Context, Handle, Handler};

/// The loaded cores.
const LOADED: [usize; 4] = [0, 2, 4, 6];
/// A thousand numbers of 4 bytes.
const ARRAY_BYTES: usize = 4_000;
/// Computing, besides memory. The shares are as production measures them; together
/// they are calibrated: Libasync-smp without stealing.
const FILL_CYCLES: u64 = 5_400;
const SORT_CYCLES: u64 = 11_850;
const MERGE_CYCLES: u64 = 5_400;

/// What profiling says: without stealing, from this simulation.
static ALLOCATE: Handler = Handler::new("cache-efficient::A").cost_cycles(6_000);
static SORT: Handler = Handler::new("cache-efficient::B").cost_cycles(12_000);
static MERGE: Handler = Handler::new("cache-efficient::C").cost_cycles(3_000);
static ROUND: Handler = Handler::new("cache-efficient::Round");

pub(super) static WORKLOAD: Workload = Workload {
    cores: &[],
    counted: &[
        "cache-efficient::A",
        "cache-efficient::B",
        "cache-efficient::C",
    ],
    warm: 3,
    rounds: 20,
    build,
};

/// The state of an array's color.
struct Sorting {
    array: Option<Arc<Array>>,
    arrays: Arc<Arrays>,
    halves: u32,
    round: Option<Arc<Round<Forks>>>,
}

impl Sorting {
    /// Event A.
    fn allocate(&mut self, cx: &mut Context<'_, Self>) {
        let array = Arc::new(self.arrays.take(cx.worker()));
        cx.spend(FILL_CYCLES);
        cx.touch(array.region(), Access::Write);
        for half in 0..2 {
            let (array, whole) = (Arc::clone(&array), cx.colored());
            cx.with_handler(&SORT)
                .post_parallel(move |_, cx| sort(&array, half, &whole, cx));
        }
        self.array = Some(array);
    }

    /// Event C.
    fn merge(&mut self, cx: &mut Context<'_, Self>) {
        self.halves += 1;
        if self.halves < 2 {
            return;
        }
        let array = self.array.take().and_then(Arc::into_inner);
        if let Some(array) = array {
            cx.touch(array.region(), Access::Write);
            cx.spend(MERGE_CYCLES);
            array.free(cx.worker());
        }
        self.round = None;
    }
}

/// Event B.
fn sort(array: &Arc<Array>, half: usize, whole: &Colored<Sorting>, cx: &mut Context<'_>) {
    let start = half * ARRAY_BYTES / 2;
    let region = array.region().part(start..start + ARRAY_BYTES / 2);
    cx.touch(region, Access::Write);
    cx.spend(SORT_CYCLES);
    whole.with_handler(&MERGE).post_or_shed(Sorting::merge);
}

/// On a loaded core, posts the As of a round.
struct Loaded(Arc<Arrays>);

impl Loaded {
    fn fork(&self, round: &Arc<Round<Forks>>, handle: &Handle) {
        for _ in 0..ARRAYS {
            let color = handle.colored(Sorting {
                array: None,
                arrays: Arc::clone(&self.0),
                halves: 0,
                round: Some(Arc::clone(round)),
            });
            color
                .with_handler(&ALLOCATE)
                .post_or_shed(Sorting::allocate);
        }
    }
}

/// All loaded cores: the one that begins the rounds, and the others.
struct Forks {
    first: Loaded,
    others: Vec<Colored<Loaded>>,
}

impl Source for Forks {
    const ROUND: &'static Handler = &ROUND;

    fn post(&mut self, round: &Arc<Round<Self>>, cx: &mut Context<'_, Rounds<Self>>) {
        for other in &self.others {
            let round = Arc::clone(round);
            let other = other.with_handler(&ROUND);
            other.post_or_shed(move |loaded, cx| loaded.fork(&round, &cx.handle()));
        }
        self.first.fork(round, &cx.handle());
    }
}

fn build(simulation: &Simulation, _setup: &Setup) -> Result<Begin, Error> {
    let handle = simulation.handle();
    let arrays = Arrays::new(handle.workers(), ARRAY_BYTES);
    let other = |&worker: &usize| {
        let loaded = Loaded(Arc::clone(&arrays));
        handle.color_options().pin_to(worker).colored(loaded)
    };
    let others = LOADED[1..].iter().map(other).collect::<Result<_, _>>()?;
    let first = Loaded(arrays);
    rounds::build(simulation, Forks { first, others })
}
