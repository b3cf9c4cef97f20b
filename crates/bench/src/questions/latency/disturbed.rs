//! Timers, sockets and events while one of the workers is held up: by a handler that
//! blocks, or by another process on its core.
//!
//! Each of some timers, connections and keys is due again and again by a timetable
//! that waits for nothing, so that what is held up for seconds counts as often as it
//! was due. A timer's latency is how late it fires, that of a socket is the round trip
//! of a byte, that of an event the time from post to run. All are few enough that the
//! workers sleep most of the time.

use std::net::TcpListener;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::Found;
use super::clients::Clients;
use super::kind::Kind;
use crate::contenders::runtimes::outside::{Outside, OutsideJob, Tick};
use crate::contenders::runtimes::{Actor, Keyed, ToSelf};
use crate::measure::Failure;
use crate::measure::foreign::Foreign;

/// Timers, connections, and keys: so many of each.
const EACH: usize = 50;

/// Each is due so often.
const PERIOD: Duration = Duration::from_millis(10);

/// What comes before the measured time.
const WARM_UP: Duration = Duration::from_millis(200);

/// What is outstanding at the end gets so long; what then has not come is lost.
const DEADLINE: Duration = Duration::from_secs(30);

/// What is measured of each run.
pub(super) const KINDS: [&str; 3] = ["timers", "sockets", "events"];

/// What holds a worker up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Handler,
    Process,
}

/// A timer that fires by its timetable.
struct Timer {
    due: Instant,
    end: Arc<OnceLock<Instant>>,
    kind: Arc<Kind>,
    /// Says by its end that the timer has fired for the last time.
    _alive: Sender<()>,
}

impl Tick for Timer {
    fn fired(&mut self) -> Option<Instant> {
        self.kind.record(self.due);
        self.due += PERIOD;
        let over = self.end.get().is_some_and(|end| self.due >= *end);
        (!over).then_some(self.due)
    }
}

/// A key that is posted to.
struct Listener(Arc<Kind>);

impl Actor for Listener {
    type Message = Instant;

    fn handle(&mut self, posted: Instant, _to_self: &mut impl ToSelf<Instant>) {
        self.0.record(posted);
    }
}

/// A key that blocks the worker that runs it, as a call of the system would.
struct Blocker(Sender<()>);

impl Actor for Blocker {
    type Message = Duration;

    fn handle(&mut self, time: Duration, _to_self: &mut impl ToSelf<Duration>) {
        // Nobody waits for it only if the run was given up.
        self.0.send(()).ok();
        std::thread::sleep(time);
    }
}

/// One run.
pub(super) struct Disturbed {
    pub(super) by: By,
    pub(super) time: Duration,
}

impl OutsideJob for Disturbed {
    type Output = Found;

    fn on<R: Outside>(self, runtime: &R) -> Result<Found, Failure> {
        measure(runtime, self.by, self.time)
    }
}

fn measure<R: Outside>(runtime: &R, by: By, time: Duration) -> Result<Found, Failure> {
    let began = Arc::new(OnceLock::new());
    let end = Arc::new(OnceLock::new());
    let kind = || Ok::<_, Failure>(Arc::new(Kind::new(&began)?));
    let [timers, sockets, events] = [kind()?, kind()?, kind()?];
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    runtime.echo(listener)?;
    let mut clients = Clients::connect(address, EACH, Arc::clone(&sockets))?;
    let keys: Vec<_> = (0..EACH)
        .map(|_| runtime.key(Listener(Arc::clone(&events))))
        .collect();
    // Ends when all timers have.
    let (alive, ended) = channel();
    let start = Instant::now();
    for number in 0..EACH {
        let due = start + share_of_period(number);
        runtime.tick(
            due,
            Timer {
                due,
                end: Arc::clone(&end),
                kind: Arc::clone(&timers),
                _alive: alive.clone(),
            },
        );
    }
    drop(alive);

    let foreign = match by {
        By::Handler => None,
        By::Process => Some(Foreign::start()?),
    };
    let mut timetable = Timetable::from(start);
    timetable.follow::<R>(start + WARM_UP, &mut clients, &keys)?;
    if by == By::Handler {
        block(runtime, time)?;
    }
    let now = Instant::now();
    let over = now + time;
    // Neither is refused: they are set once, here.
    began.set(now).ok();
    end.set(over).ok();
    timetable.follow::<R>(over, &mut clients, &keys)?;
    drop(foreign);

    let posted = timetable.next;
    while !clients.all_answered() || events.seen() < posted {
        if over.elapsed() > DEADLINE {
            return Err("some events have not run, or bytes not come back".into());
        }
        clients.receive()?;
    }
    if ended.recv_timeout(DEADLINE) != Err(RecvTimeoutError::Disconnected) {
        return Err("some timers have not fired".into());
    }
    keys.iter().for_each(R::close);
    Ok(vec![
        timers.latencies(),
        sockets.latencies(),
        events.latencies(),
    ])
}

/// Holds one worker up for so long, from now on.
fn block<R: Keyed>(runtime: &R, time: Duration) -> Result<(), Failure> {
    let (sender, begun) = channel();
    let blocker = runtime.key(Blocker(sender));
    R::post(&blocker, time);
    begun.recv_timeout(DEADLINE)?;
    R::close(&blocker);
    Ok(())
}

fn share_of_period(number: usize) -> Duration {
    PERIOD * u32::try_from(number % EACH).unwrap_or(0) / EACH as u32
}

/// When the next connection and key are due.
struct Timetable {
    start: Instant,
    next: usize,
}

impl Timetable {
    fn from(start: Instant) -> Self {
        Self { start, next: 0 }
    }

    fn due(&self) -> Instant {
        let rounds = u32::try_from(self.next / EACH).unwrap_or(u32::MAX);
        self.start + PERIOD * rounds + share_of_period(self.next)
    }

    /// Sends and posts what is due, and receives, until a time.
    fn follow<R: Keyed>(
        &mut self,
        until: Instant,
        clients: &mut Clients,
        keys: &[R::Key<Listener>],
    ) -> Result<(), Failure> {
        loop {
            let now = Instant::now();
            while self.due() <= now.min(until) {
                let number = self.next % EACH;
                clients.send(number)?;
                R::post(&keys[number], Instant::now());
                self.next += 1;
            }
            if now >= until {
                return Ok(());
            }
            clients.receive()?;
        }
    }
}
