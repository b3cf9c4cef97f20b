//! One event at a time, to workers that sleep.

use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use super::{Latencies, no_latencies};
use crate::contenders::runtimes::{Actor, Keyed, ToSelf};
use crate::measure::Failure;

/// Between an event and the next post. Whatever a worker does before it sleeps takes
/// tens of microseconds.
const PAUSE: Duration = Duration::from_micros(500);

/// Keys that are posted to in turn: each worker has some.
const KEYS: usize = 16;

/// No event takes so long; if one does, it is lost.
const DEADLINE: Duration = Duration::from_secs(30);

/// Tells how long its message took.
struct Receiver(Sender<Duration>);

impl Actor for Receiver {
    type Message = Instant;

    fn handle(&mut self, posted: Instant, _to_self: &mut impl ToSelf<Instant>) {
        // Nobody listens any more only if the run was given up.
        self.0.send(posted.elapsed()).ok();
    }
}

pub(super) fn measure<R: Keyed>(runtime: &R, time: Duration) -> Result<Latencies, Failure> {
    let mut latencies = no_latencies()?;
    let (sender, receiver) = channel();
    let keys: Vec<_> = (0..KEYS)
        .map(|_| runtime.key(Receiver(sender.clone())))
        .collect();
    let end = Instant::now() + time;
    for (number, key) in keys.iter().cycle().enumerate() {
        std::thread::sleep(PAUSE);
        R::post(key, Instant::now());
        let latency = receiver
            .recv_timeout(DEADLINE)
            .map_err(|_| "a posted event has not run")?;
        // The first of each key finds cold caches.
        if number >= KEYS {
            latencies.record(u64::try_from(latency.as_nanos())?)?;
            if Instant::now() >= end {
                break;
            }
        }
    }
    keys.iter().for_each(R::close);
    Ok(latencies)
}
