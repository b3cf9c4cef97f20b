//! `cache-aware`: a pipeline of five handlers over an array of 80 KB (*Vol de tâches*,
//! section 4.2.1, figures 3 and 4).
//!
//! The first handler allocates the array and attaches it to the message; the next three
//! add to, multiply and reduce all its elements; the last counts messages. Who steals a
//! message from a core without a common cache moves the array too. How messages begin is
//! told in `pipeline`.

use std::hint::black_box;

use mely::{Handler, Policy};

use super::pipeline::{self, Pipeline};
use super::setting::handlers;
use crate::measure::measured::Measured;
use crate::measure::{Failure, Run};

/// Numbers of 4 bytes in an array: 80 KB, as in the paper.
const NUMBERS: u32 = 20_000;

/// Messages that a source begins at a time: with twice as many on their way their
/// arrays (8 MB) do not fit into the paper's level-2 cache of 6 MB, nor into ours.
const MESSAGES: usize = 50;

/// What the handlers take, as `adaptive` learns it on a Xeon at 2.5 GHz: Mely's
/// policies get it from profiling.
const ALLOCATE_CYCLES: u32 = 6_000;
const ADD_CYCLES: u32 = 6_000;
const MULTIPLY_CYCLES: u32 = 16_000;
const REDUCE_CYCLES: u32 = 110_000;
const COUNT_CYCLES: u32 = 100;

const ALLOCATE: Handler = Handler::new("cache-aware::Allocate");
const ADD: Handler = Handler::new("cache-aware::Add");
const MULTIPLY: Handler = Handler::new("cache-aware::Multiply");
const REDUCE: Handler = Handler::new("cache-aware::Reduce");
const COUNT: Handler = Handler::new("cache-aware::Count");

static PLAIN: Pipeline<Vec<u32>> = Pipeline {
    handlers: [ALLOCATE, ADD, MULTIPLY, REDUCE],
    count: COUNT,
    work,
    messages: MESSAGES,
};
static ANNOTATED: Pipeline<Vec<u32>> = Pipeline {
    handlers: [
        ALLOCATE.cost_cycles(ALLOCATE_CYCLES),
        ADD.cost_cycles(ADD_CYCLES),
        MULTIPLY.cost_cycles(MULTIPLY_CYCLES),
        REDUCE.cost_cycles(REDUCE_CYCLES),
    ],
    count: COUNT.cost_cycles(COUNT_CYCLES),
    work,
    messages: MESSAGES,
};

fn work(stage: usize, array: &mut Vec<u32>) {
    // The operands are not constants to the compiler, as they are none to a program.
    let operand = |value: u32| black_box(value);
    match stage {
        0 => array.extend(0..NUMBERS),
        1 => each(array, operand(7), u32::wrapping_add),
        2 => each(array, operand(31), u32::wrapping_mul),
        _ => each(array, operand(1009), |number, by| number % by),
    }
}

fn each(array: &mut [u32], operand: u32, operation: impl Fn(u32, u32) -> u32) {
    for number in array.iter_mut() {
        *number = operation(*number, operand);
    }
    black_box(array);
}

pub(super) fn run(policy: Policy, run: &Run) -> Result<Measured, Failure> {
    static COUNTED: [&str; 5] = [
        ALLOCATE.name(),
        ADD.name(),
        MULTIPLY.name(),
        REDUCE.name(),
        COUNT.name(),
    ];
    pipeline::run(handlers(policy, &ANNOTATED, &PLAIN), &COUNTED, policy, run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_array_goes_through_all_operations() {
        let mut array = Vec::new();
        (0..4).for_each(|stage| work(stage, &mut array));
        assert_eq!(array.len() * size_of::<u32>(), 80_000);
        assert_eq!(array[100], (100 + 7) * 31 % 1009);
    }
}
