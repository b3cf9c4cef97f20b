//! Events that are noted on their way from the post to the run: a few, which say how long all
//! wait and run.
//!
//! A noted event is in another one, which has when it was posted. So nothing is done for those
//! that are not noted but to count down to the next that is; and one that is dropped unrun takes
//! with it what others see of it.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::{Frame, Worker};
use crate::cost::sampler::{NOTES, RARITY_MAX, Rarity, Sampler};
use crate::cost::seats::{Seats, Sitter};
use crate::event::handler::{HandlerId, resolve};
use crate::event::{Call, Event, NodePool, Place, StatePtr};
use crate::machine::counter::{Choice, Counter, Reading};
use crate::shared::remote::Remote;
use crate::shared::{ColorRef, Shared};

/// How rare noted posts of a thread outside may become: one in 64. It may pause at any time,
/// with nobody to look.
const RARITY_MAX_OUTSIDE: u32 = 6;

thread_local! {
    /// What a thread that is no worker notes.
    static OUTSIDE: Sampler = const { Sampler::new(1, RARITY_MAX_OUTSIDE) };
}

/// When an event was posted, for how many it stands, and where it sits, if it does.
struct Mark {
    /// 54 bits of cycles, 5 of the rarity, 5 of the seat.
    packed: u64,
    seats: Option<Arc<Seats>>,
}

const SEAT_BITS: u32 = 5;
const RARITY_BITS: u32 = 5;
const CYCLES_SHIFT: u32 = SEAT_BITS + RARITY_BITS;

impl Mark {
    fn new(since_cycles: u64, rarity: Rarity, seat: Option<(usize, &Arc<Seats>)>) -> Self {
        let place = seat.map_or(0, |(seat, _)| seat as u64);
        debug_assert!(place < 1 << SEAT_BITS && rarity.0 < 1 << RARITY_BITS);
        Self {
            packed: since_cycles << CYCLES_SHIFT | u64::from(rarity.0) << SEAT_BITS | place,
            seats: seat.map(|(_, seats)| Arc::clone(seats)),
        }
    }

    /// How long ago it was posted.
    fn waited_cycles(&self, now_cycles: u64) -> u64 {
        let since = self.packed >> CYCLES_SHIFT << CYCLES_SHIFT;
        let waited = (now_cycles << CYCLES_SHIFT)
            .wrapping_sub(since)
            .cast_signed();
        // The counters of two cores may differ a little.
        (waited.max(0) >> CYCLES_SHIFT).cast_unsigned()
    }

    fn stands_for(&self) -> u64 {
        1 << ((self.packed >> SEAT_BITS) % (1 << RARITY_BITS))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Some(seats) = self.seats.take() {
            seats.leave(self.packed as usize % (1 << SEAT_BITS));
        }
    }
}

/// An event that is noted.
struct Noted {
    // Dropped before the event, whose destructors are the program's.
    mark: Mark,
    event: Event,
}

impl Call<()> for Noted {
    const HELD: Option<fn(&Self) -> &Event> = Some(|noted| &noted.event);

    unsafe fn call(self, _: StatePtr<()>, place: Place<'_>) {
        // SAFETY: workers run events in frames.
        let worker = unsafe { Frame::of(place) }.worker;
        let Self { mark, event } = self;
        let _run = Run::begin(worker, &mark);
        drop(mark);
        // SAFETY: passed on from the caller: where this event is run, that one was posted to.
        unsafe { worker.run_held(event, place) };
    }
}

/// The run of a noted event: noted at its end, that by a panic, too.
struct Run<'a> {
    worker: &'a Worker,
    handler: usize,
    begun_cycles: u64,
    stands_for: u64,
    /// What the counter said, if there is one.
    begun: Option<Reading>,
}

impl<'a> Run<'a> {
    fn begin(worker: &'a Worker, mark: &Mark) -> Self {
        let running = worker.remote().counts.running.get();
        let mut run = Self {
            worker,
            handler: usize::try_from(running).unwrap_or_default(),
            begun_cycles: worker.shared().clock.cycles(),
            stands_for: mark.stands_for(),
            begun: None,
        };
        let waited = worker.in_ns(mark.waited_cycles(run.begun_cycles));
        let durations = worker.remote().durations.of(run.handler);
        durations.wait.note(waited, run.stands_for);
        if let Some(counter) = &worker.counter {
            run.begun = counter.read();
            // Reading it takes a system call, which is not the handler's.
            run.begun_cycles = worker.shared().clock.cycles();
        }
        run
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let worker = self.worker;
        let end_cycles = worker.shared().clock.cycles();
        let end = worker.counter.as_ref().and_then(Counter::read);
        let ran = worker.in_ns(end_cycles.saturating_sub(self.begun_cycles));
        let durations = worker.remote().durations.of(self.handler);
        durations.run.note(ran, self.stands_for);
        let counted = self.begun.zip(end);
        if let Some(count) = counted.and_then(|(begun, end)| end.since(&begun)) {
            durations.counted.note(count, self.stands_for);
        }
    }
}

/// What is to be known of a post that is noted.
struct Post<'a> {
    shared: &'a Shared,
    nodes: Option<&'a NodePool>,
    sampler: &'a Sampler,
    seats: &'a Arc<Seats>,
    color: u64,
    is_pinned: bool,
}

impl Post<'_> {
    /// Posts an event as one that is noted.
    ///
    /// # Errors
    ///
    /// The event itself, if `post` gives it back.
    fn noted(
        &self,
        event: Event,
        post: impl FnOnce(Event) -> Result<(), Event>,
    ) -> Result<(), Event> {
        let since_cycles = self.shared.clock.cycles();
        let every_cycles = self.shared.rate.noted_every_cycles;
        let rarity = self.sampler.choose(since_cycles, every_cycles);
        let seat = self.seats.take(Sitter {
            since_cycles,
            color: self.color,
            is_pinned: self.is_pinned,
            index: resolved(&event).index(),
        });
        let mark = Mark::new(since_cycles, rarity, seat.map(|seat| (seat, self.seats)));
        let noted = event.held_by(self.nodes, |event| Noted { mark, event });
        post(noted).map_err(|refused| {
            // SAFETY: it was made of that just now, and `post` gives back what it was given.
            unsafe { refused.into_call::<(), Noted>() }.event
        })
    }
}

/// The handler of an event, also where nobody has looked it up.
fn resolved(event: &Event) -> HandlerId {
    match event.handler_id() {
        HandlerId::UNRESOLVED => {
            let kind = event.kind();
            resolve(kind.key(), kind.info()).0
        }
        known => known,
    }
}

/// Posts an event that was admitted, from a thread that is no worker of the runtime.
///
/// # Errors
///
/// The event, if the color was stopped.
pub(crate) fn post_from_outside(
    shared: &Shared,
    color: &ColorRef,
    event: Event,
) -> Result<(), Event> {
    let post = |event| shared.post_from_outside(color, event);
    // A thread that is being torn down notes nothing.
    let is_noted = NOTES && OUTSIDE.try_with(Sampler::is_due).unwrap_or(false);
    if !is_noted {
        return post(event);
    }
    OUTSIDE.with(|sampler| {
        let noted = Post {
            shared,
            nodes: None,
            sampler,
            seats: &shared.outside_seats,
            color: color.id(),
            is_pinned: color.traits().pinned,
        };
        noted.noted(event, post)
    })
}

impl Worker {
    /// What chooses the posts of a worker that are noted; if `detour`, all go another way than
    /// usual.
    pub(super) fn new_sampler(index: usize, detour: bool) -> Sampler {
        let sampler = Sampler::new(index as u64, RARITY_MAX);
        let sampler = if NOTES { sampler } else { sampler.never() };
        match detour {
            true => sampler.looking_at_all(),
            false => sampler,
        }
    }

    /// The counter of a worker, opened on its thread, if it has one; why not, others are told.
    pub(super) fn open_counter(shared: &Shared, remote: &Remote) -> Option<Counter> {
        let Choice::Source(source) = shared.config.counting else {
            return None;
        };
        let refused = |reason| remote.uncounted.set(reason);
        Counter::open(source).map_err(refused).ok()
    }

    /// Posts what is noted, or goes another way than usual, or both.
    ///
    /// # Errors
    ///
    /// The event, if `post` gives it back.
    pub(super) fn post_specially(
        &self,
        color: u64,
        is_pinned: bool,
        event: Event,
        post: impl FnOnce(Event) -> Result<(), Event>,
    ) -> Result<(), Event> {
        if !self.sampler.is_chosen() {
            return post(event);
        }
        let noted = Post {
            shared: &self.shared,
            nodes: Some(&self.nodes),
            sampler: &self.sampler,
            seats: &self.remote().seats,
            color,
            is_pinned,
        };
        noted.noted(event, post)
    }

    /// Notes the next post soon if none has been noted for long.
    // Out of line, here and below: where events are run, registers are scarce.
    #[inline(never)]
    pub(super) fn look_at_notes(&self) {
        if NOTES {
            let every_cycles = self.shared.rate.noted_every_cycles;
            self.sampler.look(self.shared.clock.cycles(), every_cycles);
        }
    }

    /// Notes how long `park` takes, and meanwhile that the worker sleeps.
    #[inline(never)]
    pub(super) fn timed_park(&self, park: impl FnOnce()) {
        if !NOTES {
            return park();
        }
        let (clock, sleep) = (&self.shared.clock, &self.remote().counts.sleep);
        sleep.begin(clock.cycles());
        park();
        sleep.end(clock.cycles());
    }

    /// So many cycles, in nanoseconds.
    fn in_ns(&self, cycles: u64) -> u64 {
        self.shared.rate.ns(cycles)
    }
}
