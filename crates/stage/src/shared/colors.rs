//! Stages that do not block: served by colors.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mely::{Colored, Context};

use super::gate::{Downstream, Feeds, Upstream, Waiter};
use super::queue::Service;
use super::seat::Seat;
use super::{Effects, Phase, Server, Shared, State};

/// How long a lane rests whose handler has taken nothing of what there is, for no reason that
/// the stage knows of. Long beside an event, and short beside what a person notices.
pub(super) const REST: Duration = Duration::from_millis(1);

/// What a color owns: a handler, and its share of the events by the number of its lane.
struct Desk<E: Send + 'static> {
    seat: Seat<E>,
    shared: Weak<Shared<E>>,
    lane: usize,
    has_left: bool,
}

impl<E: Send + 'static> Desk<E> {
    fn leave(&mut self, shared: &Arc<Shared<E>>) {
        self.seat.clear();
        if !std::mem::replace(&mut self.has_left, true) {
            shared.seat_left();
        }
    }
}

/// The runtime drops what colors own when it has ended.
impl<E: Send + 'static> Drop for Desk<E> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.lane_lost(self.lane);
            self.leave(&shared);
        } else {
            self.seat.clear();
        }
    }
}

struct Colors<E: Send + 'static>(Vec<Colored<Desk<E>>>);

/// A turn of a color: an event of the runtime. Dropped unrun, the runtime has ended.
struct Turn<E: Send + 'static> {
    shared: Option<Arc<Shared<E>>>,
    lane: usize,
}

impl<E: Send + 'static> Turn<E> {
    fn new(shared: &Arc<Shared<E>>, lane: usize) -> Self {
        Self {
            shared: Some(Arc::clone(shared)),
            lane,
        }
    }

    fn run(mut self, desk: &mut Desk<E>, cx: &mut Context<'_, Desk<E>>) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        let lane = self.lane;
        let Some(size) = shared.size_of_batch(lane) else {
            return;
        };
        // Who comes for the end only makes no handler for it.
        let has_progressed = size == 0 || shared.serve(&mut desk.seat, lane, size).has_progressed;
        match shared.turn_over(lane, has_progressed) {
            Next::Nothing => {}
            Next::Leave => desk.leave(&shared),
            Next::Again => {
                let turn = Turn::new(&shared, lane);
                // A refusal drops the turn, which tells the stage.
                drop(cx.post(move |desk, cx| turn.run(desk, cx)));
            }
            Next::Rest => {
                let turn = Turn::new(&shared, lane);
                cx.colored()
                    .post_after(REST, move |desk, cx| turn.run(desk, cx));
            }
        }
    }
}

impl<E: Send + 'static> Drop for Turn<E> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.lane_lost(self.lane);
        }
    }
}

/// Looks for events that were to accumulate: by a timer in its time, or dropped by the end of the
/// runtime before, when nothing accumulates any more.
struct Due<E: Send + 'static> {
    shared: Option<Arc<Shared<E>>>,
    lane: usize,
}

impl<E: Send + 'static> Due<E> {
    fn look(mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        let now = shared.now();
        shared.change(|state, effects| {
            state.lanes[self.lane].timer = None;
            state.see_to(self.lane, now, effects);
        });
    }
}

impl<E: Send + 'static> Drop for Due<E> {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        let lane = self.lane;
        shared.change(|state, effects| {
            let at = &mut state.lanes[lane];
            at.timer = None;
            if at.service == Service::Idle && !at.is_empty() {
                at.service = Service::Scheduled;
                effects.turn = Some(lane);
            }
        });
    }
}

impl<E: Send + 'static> Server<E> for Colors<E> {
    fn schedule(&self, shared: &Arc<Shared<E>>, lane: usize) {
        let turn = Turn::new(shared, lane);
        drop(self.0[lane].post(move |desk, cx| turn.run(desk, cx)));
    }

    fn schedule_after(&self, shared: &Arc<Shared<E>>, lane: usize, delay: Duration) {
        let due = Due {
            shared: Some(Arc::clone(shared)),
            lane,
        };
        self.0[lane].post_after(delay, move |_, _| due.look());
    }

    fn grow(&self, _core: &Arc<Shared<E>>) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn serve<E: Send + 'static>(shared: &Arc<Shared<E>>, lanes: usize) {
    let workers = shared.runtime.workers().max(1);
    let desk = |lane| Desk {
        seat: Seat::new(lane),
        shared: Arc::downgrade(shared),
        lane,
        has_left: false,
    };
    let colors = (0..lanes).map(|lane| {
        let options = shared.runtime.color_options().start_on(lane % workers);
        // There is such a worker; if not, the color begins anywhere.
        let options = options.capacity(usize::MAX);
        match options.colored(desk(lane)) {
            Ok(color) => color,
            Err(_) => shared.runtime.colored(desk(lane)),
        }
    });
    _ = shared.server.set(Box::new(Colors(colors.collect())));
}

/// What a color does after a batch.
enum Next {
    Again,
    Rest,
    Nothing,
    Leave,
}

impl<E: Send + 'static> Shared<E> {
    /// How many events the next batch may have, 0 if nothing waits; `None` if the lane is held,
    /// or has been seen to.
    fn size_of_batch(self: &Arc<Self>, at: usize) -> Option<usize> {
        let (feeds, size) = {
            let mut state = self.lock();
            let size = state.batching.batch() as usize;
            if state.lanes[at].is_empty() {
                return Some(0);
            }
            if state.feeds.is_empty() {
                return Some(size);
            }
            // From here on room that comes is not missed.
            state.lanes[at].service = Service::Held;
            (Arc::clone(&state.feeds), size)
        };
        let size = self.room_of(&feeds, at, size)?;
        let mut state = self.lock();
        let lane = &mut state.lanes[at];
        // Else a feed had no room for a moment, and another turn is posted.
        let is_mine = lane.service == Service::Held;
        is_mine.then(|| {
            lane.service = Service::Scheduled;
            size
        })
    }

    /// How many events there is room for in all of these; `None` if one is full, and tells.
    pub(super) fn room_of(
        self: &Arc<Self>,
        feeds: &[Arc<dyn Downstream>],
        lane: usize,
        size: usize,
    ) -> Option<usize> {
        let upstream = Arc::clone(self) as Arc<dyn Upstream>;
        let waiter = Waiter { upstream, lane };
        feeds.iter().try_fold(size, |size, feed| {
            Some(size.min(feed.room_or_wait(waiter.clone())?))
        })
    }

    fn turn_over(self: &Arc<Self>, lane: usize, has_progressed: bool) -> Next {
        let now = self.now();
        self.change(|state, effects| state.turn_over(lane, has_progressed, now, effects))
    }
}

impl<E> State<E> {
    fn turn_over(
        &mut self,
        at: usize,
        has_progressed: bool,
        now: mely_sched::Nanos,
        effects: &mut Effects<E>,
    ) -> Next {
        let lane = &mut self.lanes[at];
        if lane.service == Service::Gone {
            return Next::Nothing;
        }
        if lane.is_empty() && self.phase != Phase::Open {
            lane.service = Service::Gone;
            self.serving -= 1;
            return Next::Leave;
        }
        if !lane.is_empty() && !has_progressed {
            return Next::Rest;
        }
        lane.service = Service::Idle;
        self.see_to(at, now, effects);
        // This very turn goes on, more cheaply than another one is posted.
        match effects.turn.take() {
            Some(_) => Next::Again,
            None => Next::Nothing,
        }
    }
}

impl<E: Send + 'static> Upstream for Shared<E> {
    fn resume(self: Arc<Self>, lane: usize) {
        self.change(|state, effects| {
            state.resumed += 1;
            effects.notify_all = state.has_threads();
            let lane_of = &mut state.lanes[lane];
            if lane_of.service == Service::Held {
                lane_of.service = Service::Scheduled;
                effects.turn = Some(lane);
            }
        });
    }
}

impl<E: Send + 'static> Downstream for Shared<E> {
    fn room_or_wait(&self, waiter: Waiter) -> Option<usize> {
        let mut state = self.lock();
        if state.phase != Phase::Open || state.capacity == 0 {
            return Some(usize::MAX);
        }
        if state.room() > 0 {
            return Some(state.room());
        }
        if !state.upstream.iter().any(|known| known.is(&waiter)) {
            state.upstream.push(waiter);
        }
        None
    }

    fn feeds(&self) -> Feeds {
        Arc::clone(&self.lock().feeds)
    }

    fn is_open(&self) -> bool {
        self.phase() == Phase::Open
    }

    fn let_go(self: Arc<Self>) -> Feeds {
        Arc::into_inner(self).map_or_else(Feeds::default, |mut last| last.take_feeds())
    }
}
