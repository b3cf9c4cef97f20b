//! `penalty`: chains of events that walk through an array, all begun on the first core
//! (seed 000, section V-B, table V).
//!
//! An event A writes an array that fits in the cache and posts a B of the same color; B
//! accesses the next piece and posts the next B. A stolen B leaves the array behind: its
//! annotated penalty is 1000.

use super::measure::{Program, Size};
use crate::Error;
use crate::engine::Simulation;
use crate::mely::{Access, Context, Handler, Region};

/// Chains of a round, two for each of 256 cores; the paper leaves the number open.
const CHAINS: u32 = 512;
const SMALL_CHAINS: u32 = 50;
/// Pieces of an array, and what each event B accesses: 32 KiB, which fit into any
/// level-2 cache, and all together into no level-1 cache.
const PIECES: usize = 8;
const PIECE_BYTES: usize = 4 << 10;

/// What they take where the array is in the level-2 cache, and where it is new.
static CREATE: Handler = Handler::new("scale::A").cost_cycles(10_000);
static ACCESS: Handler = Handler::new("scale::B").cost_cycles(600).penalty(1000);

pub(super) const COUNTED: &[&str] = &["scale::A", "scale::B"];

fn create(chain: u32, cx: &mut Context<'_>) {
    let array = Region::logical(chain, PIECES * PIECE_BYTES);
    cx.touch(array, Access::Write);
    cx.with_handler(&ACCESS)
        .post_or_shed(move |(), cx| access(array, 0, cx));
}

fn access(array: Region, piece: usize, cx: &mut Context<'_>) {
    let start = piece * PIECE_BYTES;
    cx.touch(array.part(start..start + PIECE_BYTES), Access::Write);
    if piece + 1 < PIECES {
        cx.with_handler(&ACCESS)
            .post_or_shed(move |(), cx| access(array, piece + 1, cx));
    }
}

pub(super) fn begin(simulation: &Simulation, size: Size) -> Result<Program, Error> {
    let chains = match size {
        Size::Full => CHAINS,
        Size::Small => SMALL_CHAINS,
    };
    let source = simulation.handle().color_options().pin_to(0).new_color()?;
    Ok(Program::Rounds(Box::new(move || {
        source.post_or_shed(move |(), cx| {
            for chain in 0..chains {
                cx.with_handler(&CREATE)
                    .post_parallel(move |(), cx| create(chain, cx));
            }
        });
    })))
}
