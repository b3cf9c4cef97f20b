//! `cache-efficient`: merge sorts, forked on one core of each pair (seed 000, section
//! V-B, table VI). The work grows with the machine.
//!
//! An event A writes an array and posts two events B of different colors, each of which
//! sorts a half and then posts a C to the color of the array; the second C merges. Who
//! steals a B from a near core finds the array in a cache that both share.

use super::measure::{Program, Size};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Access, Colored, Context, Handler, Region};

/// Arrays of a loaded core in a round: the paper has a hundred.
const ARRAYS: u32 = 25;
const SMALL_ARRAYS: u32 = 4;
/// A thousand numbers of 4 bytes.
const ARRAY_BYTES: usize = 4_000;
/// Computing, besides memory, as production measures it on a Xeon at 2.5 GHz.
const FILL_CYCLES: u64 = 7_000;
const SORT_CYCLES: u64 = 15_000;
const MERGE_CYCLES: u64 = 7_000;

static ALLOCATE: Handler = Handler::new("scale::Allocate").cost_cycles(8_000);
static SORT: Handler = Handler::new("scale::Sort").cost_cycles(15_500);
static MERGE: Handler = Handler::new("scale::Merge").cost_cycles(4_000);

pub(super) const COUNTED: &[&str] = &["scale::Allocate", "scale::Sort", "scale::Merge"];

/// The state of an array's color.
struct Sorting {
    array: Region,
    sorted: u32,
}

impl Sorting {
    fn allocate(&mut self, cx: &mut Context<'_, Self>) {
        cx.spend(FILL_CYCLES);
        cx.touch(self.array, Access::Write);
        for half in 0..2 {
            let start = half * ARRAY_BYTES / 2;
            let half = self.array.part(start..start + ARRAY_BYTES / 2);
            let whole = cx.colored();
            cx.with_handler(&SORT)
                .post_parallel(move |(), cx| sort(half, &whole, cx));
        }
    }

    fn merge(&mut self, cx: &mut Context<'_, Self>) {
        self.sorted += 1;
        if self.sorted == 2 {
            cx.touch(self.array, Access::Write);
            cx.spend(MERGE_CYCLES);
        }
    }
}

fn sort(half: Region, whole: &Colored<Sorting>, cx: &mut Context<'_>) {
    cx.touch(half, Access::Write);
    cx.spend(SORT_CYCLES);
    whole.with_handler(&MERGE).post_or_shed(Sorting::merge);
}

fn fork(first: u32, arrays: u32, cx: &mut Context<'_>) {
    let handle = cx.handle();
    for number in first..first + arrays {
        let sorting = Sorting {
            array: Region::logical(number, ARRAY_BYTES),
            sorted: 0,
        };
        let color = handle.colored(sorting);
        color
            .with_handler(&ALLOCATE)
            .post_or_shed(Sorting::allocate);
    }
}

pub(super) fn begin(simulation: &Simulation, size: Size) -> Result<Program, Error> {
    let handle = simulation.handle();
    let arrays = match size {
        Size::Full => ARRAYS,
        Size::Small => SMALL_ARRAYS,
    };
    let loaded = (0..handle.workers()).step_by(2);
    let source = |worker| handle.color_options().pin_to(worker).new_color();
    let sources = loaded.map(source).collect::<Result<Vec<_>, _>>()?;
    Ok(Program::Rounds(Box::new(move || {
        for (number, source) in (0..).zip(&sources) {
            source.post_or_shed(move |(), cx| fork(number * arrays, arrays, cx));
        }
    })))
}
