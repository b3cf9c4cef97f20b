//! What the ways beside the workers cost: closures on threads of a pool, chunks of a file, and
//! shares of a budget. The defaults of `BlockingOptions` and `fs::CHUNK_MAX` rest on it.
//!
//! ```sh
//! cargo run --release -p mely-async --example blocking_costs
//! ```

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use mely::{Budget, Runtime};
use mely_async::fs::{CHUNK_MAX, File};
use mely_async::{BlockingOptions, BlockingPool};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The fastest of some rounds: what others do at the same time only adds to it.
fn fastest(rounds: usize, mut round: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        best = best.min(round()?);
    }
    Ok(best)
}

/// So many empty closures, one after the other.
fn closures(rt: &Runtime, keep_alive: Duration, count: u32) -> Result<Duration> {
    let pool = BlockingPool::new(BlockingOptions::new().keep_alive(keep_alive));
    let task = rt.new_color().spawn(async move {
        pool.spawn(|| ()).await?;
        let mut taken = Duration::ZERO;
        for _ in 0..count {
            while keep_alive.is_zero() && pool.threads() > 0 {
                std::thread::yield_now();
            }
            let begin = Instant::now();
            pool.spawn(|| ()).await?;
            taken += begin.elapsed();
        }
        Ok::<_, mely_async::BlockingError>(taken / count)
    });
    Ok(task.wait()??)
}

/// The kilobytes that the process has in memory.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next());
    Ok(kilobytes.ok_or("the system does not tell")?.parse()?)
}

fn memory_of_threads(rt: &Runtime, count: usize) -> Result<u64> {
    let pool = BlockingPool::new(BlockingOptions::new().threads_max(count));
    let before = resident()?;
    let barrier = Arc::new(Barrier::new(count));
    let meets = || {
        let barrier = Arc::clone(&barrier);
        rt.new_color()
            .spawn(pool.spawn(move || barrier.wait().is_leader()))
    };
    let all: Vec<_> = (0..count).map(|_| meets()).collect();
    for one in all {
        one.wait()??;
    }
    Ok((resident()? - before) / count as u64)
}

/// Reads a file that is in memory, by so many bytes at a time.
fn read(rt: &Runtime, file: std::fs::File, chunk: usize) -> Result<Duration> {
    let task = rt.new_color().spawn(async move {
        let mut file = File::from_std(file);
        let mut bytes = vec![0; chunk];
        let begin = Instant::now();
        while file.read(&mut bytes).await? > 0 {}
        Ok::<_, std::io::Error>(begin.elapsed())
    });
    Ok(task.wait()??)
}

fn shares(budget: &Budget, count: u32) -> Result<Duration> {
    let begin = Instant::now();
    for _ in 0..count {
        drop(budget.try_take(1)?);
    }
    Ok(begin.elapsed() / count)
}

fn main() -> Result<()> {
    let rt = Runtime::builder().workers(1).build()?;
    let warm = fastest(5, || closures(&rt, Duration::from_secs(10), 2000))?;
    let cold = fastest(5, || closures(&rt, Duration::ZERO, 200))?;
    println!("a closure, by a thread that is idle:   {warm:?}");
    println!("a closure, by a thread that is started: {cold:?}");
    println!("a thread that is idle: {} KB", memory_of_threads(&rt, 64)?);

    let length = 64 << 20;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file");
    std::fs::write(&path, vec![1; length])?;
    for chunk in [4, 16, 32, 64, 128, 256, 512, 1024].map(|kib| kib * 1024) {
        let taken = fastest(3, || read(&rt, std::fs::File::open(&path)?, chunk))?;
        let rate = length as f64 / taken.as_secs_f64() / 1e6;
        let chunk = chunk.min(CHUNK_MAX) / 1024;
        println!("a file in memory, by {chunk:4} KiB: {rate:5.0} MB/s");
    }

    let budget = Budget::new(1024);
    let alone = fastest(5, || shares(&budget, 1_000_000))?;
    let other = budget.clone();
    let thread = std::thread::spawn(move || fastest(5, || shares(&other, 1_000_000)).ok());
    let beside = fastest(5, || shares(&budget, 1_000_000))?;
    drop(thread.join());
    println!("a share, taken and given back: {alone:?}, beside another thread {beside:?}");
    Ok(())
}
