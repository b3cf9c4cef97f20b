//! Many simulations at a time: they do not disturb each other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::progress;
use crate::Error;

/// Runs all tasks, one on each processor at a time. Those that were begun before the
/// limit come back, in the order of tasks; the first error ends it.
pub(super) fn run_all<T: Sync, R: Send>(
    tasks: &[T],
    limit: Duration,
    name: impl Fn(&T) -> String + Sync,
    run: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(tasks.len()));
    let wrong = AtomicBool::new(false);
    let bar = progress::bar(Some(tasks.len() as u64), "{pos}/{len} {msg}");
    let work = || {
        // Relaxed: hints, and numbers that only have to differ.
        while begun.elapsed() < limit && !wrong.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(number) else {
                break;
            };
            bar.set_message(name(task));
            let result = run(task);
            wrong.fetch_or(result.is_err(), Ordering::Relaxed);
            bar.inc(1);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((number, result));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(tasks.len()) {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, result)| result).collect()
}
