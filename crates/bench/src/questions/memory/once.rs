//! One measurement of memory, in a process that was started for it.

use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use mely::Affinity;
use serde::{Deserialize, Serialize};

use super::Holding;
use crate::contenders::implementation::Implementation;
use crate::contenders::runtimes::{self, Actor, Conditions, Fresh, Job, Keyed, ToSelf};
use crate::measure::{Error, Failure, arguments, tally};

/// The name of the subcommand.
pub(super) const NAME: &str = "memory-once";

/// Keys that events are pending on.
const KEYS: usize = 1000;

/// The resident set has come to rest when it stays for so many looks.
const LOOKS: u32 = 5;
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A state that is not reached after so long is never reached.
const DEADLINE: Duration = Duration::from_secs(240);

/// Options of one measurement of memory.
#[derive(Clone, Debug, Args)]
pub struct MemoryOnceOptions {
    /// What is held.
    #[arg(long)]
    pub workload: Holding,
    /// Who holds it.
    #[arg(long = "impl", value_name = "NAME")]
    pub implementation: Implementation,
    /// How many.
    #[arg(long)]
    pub amount: usize,
    /// Worker threads; by default one for each core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Where workers of Mely run: auto, pinned, free.
    #[arg(long, value_name = "A", default_value_t)]
    pub affinity: Affinity,
    /// Prints JSON instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

/// What holding something took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Used {
    /// The growth of the resident set.
    pub(super) bytes: i64,
    /// The time until all was there.
    pub(super) nanos: u64,
    /// How many are held.
    pub(super) amount: usize,
}

impl Used {
    pub(super) fn bytes_each(&self) -> f64 {
        self.bytes as f64 / self.amount as f64
    }

    pub(super) fn nanos_each(&self) -> f64 {
        self.nanos as f64 / self.amount as f64
    }
}

pub(crate) fn run(options: &MemoryOnceOptions) -> Result<(), Error> {
    let (holding, implementation) = (options.workload, options.implementation);
    let workers = arguments::workers(options.workers);
    let affinity = options.affinity;
    let used = measure(holding, implementation, options.amount, workers, affinity);
    let used = used.map_err(Error::run(holding, implementation))?;
    let text = match options.json {
        true => serde_json::json!(used).to_string(),
        false => format!(
            "{} {holding} by {implementation}: {:.1} {}",
            used.amount,
            used.bytes_each(),
            holding.units().0
        ),
    };
    writeln!(std::io::stdout(), "{text}").map_err(Error::Output)
}

fn measure(
    holding: Holding,
    implementation: Implementation,
    amount: usize,
    workers: usize,
    affinity: Affinity,
) -> Result<Used, Failure> {
    let conditions = Conditions {
        workers,
        affinity,
        yields: false,
    };
    let job = OnRuntime {
        holding,
        amount,
        workers,
    };
    runtimes::start(implementation, conditions, job)
        .unwrap_or_else(|| Err("it is no runtime of this process".into()))
}

struct OnRuntime {
    holding: Holding,
    amount: usize,
    workers: usize,
}

impl Job for OnRuntime {
    type Output = Used;

    fn on<R: Keyed + Fresh + 'static>(self, runtime: &R) -> Result<Used, Failure> {
        // What a runtime makes for its first event is not what the next ones take.
        hold_keys(runtime, KEYS, true)?;
        match self.holding {
            Holding::IdleKeys => hold_keys(runtime, self.amount, false),
            Holding::UsedKeys => hold_keys(runtime, self.amount, true),
            Holding::PendingEvents => hold_events(runtime, self.amount, self.workers),
        }
    }
}

/// A key with a state of eight bytes.
struct Counter(u64);

impl Actor for Counter {
    type Message = u64;

    fn handle(&mut self, number: u64, _to_self: &mut impl ToSelf<u64>) {
        self.0 += number;
        tally::count();
    }
}

/// Makes keys, and posts an event to each if they are to be used.
fn hold_keys<R: Keyed>(runtime: &R, amount: usize, used: bool) -> Result<Used, Failure> {
    let at_rest = resting_resident_bytes()?;
    let (start, before) = (Instant::now(), tally::total());
    let keys: Vec<_> = (0..amount).map(|_| runtime.key(Counter(0))).collect();
    if used {
        keys.iter().for_each(|key| R::post(key, 1));
        wait_until(|| tally::total() >= before + amount as u64)?;
    }
    let nanos = u64::try_from(start.elapsed().as_nanos())?;
    let bytes = resting_resident_bytes()? - at_rest;
    keys.iter().for_each(R::close);
    Ok(Used {
        bytes,
        nanos,
        amount,
    })
}

/// A key that holds its worker until all may go on.
struct Holder(Arc<Gate>);

#[derive(Default)]
struct Gate {
    held: AtomicUsize,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }
}

impl Actor for Holder {
    type Message = ();

    fn handle(&mut self, (): (), _to_self: &mut impl ToSelf<()>) {
        // Relaxed: it is only counted; the mutex orders the rest.
        self.0.held.fetch_add(1, Ordering::Relaxed);
        let open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = self.0.opened.wait_while(open, |open| !*open);
        drop(opened);
    }
}

/// Posts events while no worker can run one.
fn hold_events<R: Keyed>(runtime: &R, amount: usize, workers: usize) -> Result<Used, Failure> {
    let keys: Vec<_> = (0..KEYS).map(|_| runtime.key(Counter(0))).collect();
    let gate = Arc::new(Gate::default());
    let holders: Vec<_> = (0..workers)
        .map(|_| runtime.key(Holder(Arc::clone(&gate))))
        .collect();
    holders.iter().for_each(|holder| R::post(holder, ()));
    // Relaxed: see `Holder`.
    let all_held = wait_until(|| gate.held.load(Ordering::Relaxed) == workers);
    let held = all_held.and_then(|()| {
        let at_rest = resting_resident_bytes()?;
        let (start, before) = (Instant::now(), tally::total());
        let numbers = 0..amount as u64;
        let to = keys.iter().cycle();
        numbers.zip(to).for_each(|(n, key)| R::post(key, n));
        let nanos = u64::try_from(start.elapsed().as_nanos())?;
        let bytes = resting_resident_bytes()? - at_rest;
        gate.open();
        wait_until(|| tally::total() >= before + amount as u64)?;
        Ok(Used {
            bytes,
            nanos,
            amount,
        })
    });
    // Held workers would hold the end of the runtime too.
    gate.open();
    holders.iter().for_each(R::close);
    keys.iter().for_each(R::close);
    held
}

fn wait_until(mut reached: impl FnMut() -> bool) -> Result<(), Failure> {
    let deadline = Instant::now() + DEADLINE;
    while !reached() {
        if Instant::now() > deadline {
            return Err("some keys have not run their events".into());
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    Ok(())
}

/// The resident set when it has come to rest: tasks that were spawned have begun.
fn resting_resident_bytes() -> Result<i64, Failure> {
    let deadline = Instant::now() + DEADLINE;
    let mut last = resident_bytes()?;
    let mut same = 0;
    while same < LOOKS && Instant::now() < deadline {
        std::thread::sleep(LOOK_EVERY);
        let now = resident_bytes()?;
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    Ok(last)
}

fn resident_bytes() -> Result<i64, Failure> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages = text.split_whitespace().nth(1);
    let pages: i64 = pages.ok_or("/proc/self/statm is cut off")?.parse()?;
    Ok(pages * i64::try_from(rustix::param::page_size())?)
}

#[cfg(test)]
mod tests {
    use super::super::DEFAULT;
    use super::*;
    use crate::workloads::alone;

    #[test]
    fn every_runtime_holds_everything() {
        let _alone = alone();
        for implementation in DEFAULT {
            if implementation == Implementation::Go {
                continue;
            }
            for holding in Holding::ALL {
                let used = measure(holding, implementation, 1000, 2, Affinity::Auto).unwrap();
                assert_eq!(used.amount, 1000, "{holding} {implementation}");
                assert!(used.nanos > 0, "{holding} {implementation}");
            }
        }
    }

    #[test]
    fn this_process_has_memory() {
        assert!(resident_bytes().unwrap() > 100_000);
    }
}
