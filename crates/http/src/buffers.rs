//! Buffers that the connections of a thread use in turn.
//!
//! A connection needs memory between the first byte of a request and the last byte of its
//! response, which is most often one turn of its handlers. What one has just given back is in
//! the cache when the next takes it; a buffer for each of thousands of connections is not.

use std::cell::RefCell;

/// Buffers of a kind that a thread keeps for the next connections.
const KEPT: usize = 32;
/// Size of an input buffer, in bytes: nearly every request head fits.
pub(crate) const INPUT_BYTES: usize = 2048;
/// Largest output buffer that is kept, in bytes.
const OUTPUT_BYTES: usize = 16 * 1024;

type Kept = RefCell<Vec<Vec<u8>>>;

thread_local! {
    static INPUTS: Kept = const { RefCell::new(Vec::new()) };
    static OUTPUTS: Kept = const { RefCell::new(Vec::new()) };
}

/// An input buffer of [`INPUT_BYTES`] bytes, which may hold what was read into it before.
pub(crate) fn take_input() -> Vec<u8> {
    take(&INPUTS).unwrap_or_else(|| vec![0; INPUT_BYTES])
}

/// Gives an input buffer back.
pub(crate) fn give_input(buffer: Vec<u8>) {
    if buffer.len() == INPUT_BYTES {
        give(&INPUTS, buffer);
    }
}

/// An empty output buffer.
pub(crate) fn take_output() -> Vec<u8> {
    take(&OUTPUTS).unwrap_or_default()
}

/// Gives an output buffer back.
pub(crate) fn give_output(mut buffer: Vec<u8>) {
    if (1..=OUTPUT_BYTES).contains(&buffer.capacity()) {
        buffer.clear();
        give(&OUTPUTS, buffer);
    }
}

// A thread that ends has no buffers any more: there is nothing to take, and nothing is kept.
fn take(kept: &'static std::thread::LocalKey<Kept>) -> Option<Vec<u8>> {
    kept.try_with(|kept| kept.borrow_mut().pop()).ok().flatten()
}

fn give(kept: &'static std::thread::LocalKey<Kept>, buffer: Vec<u8>) {
    let _ = kept.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() < KEPT {
            kept.push(buffer);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_last_is_taken_first() {
        let (mut first, mut second) = (take_input(), take_input());
        (first[0], second[0]) = (1, 2);
        give_input(first);
        give_input(second);
        assert_eq!([take_input()[0], take_input()[0]], [2, 1]);
    }

    #[test]
    fn what_is_too_large_is_not_kept() {
        give_input(vec![7; 2 * INPUT_BYTES]);
        assert_eq!(take_input(), vec![0; INPUT_BYTES]);
        give_output(vec![7; OUTPUT_BYTES + 1]);
        assert_eq!(take_output().capacity(), 0);
    }

    #[test]
    fn no_more_are_kept_than_that() {
        for _ in 0..2 * KEPT {
            give_output(vec![1; 8]);
        }
        let kept = (0..2 * KEPT).filter(|_| take_output().capacity() > 0);
        assert_eq!(kept.count(), KEPT);
    }
}
