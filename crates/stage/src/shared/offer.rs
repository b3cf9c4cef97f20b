//! How events come in.

use std::sync::Arc;
use std::time::Duration;

use mely_sched::Nanos;
use mely_sched::admission::{Offer, Tag};

use super::effects::Effects;
use super::policies::Ticket;
use super::queue::{Service, Waiting};
use super::{Phase, Schedule, Shared, State};
use crate::error::{Refusal, Refused, Shed};

/// What the program says of an event.
#[derive(Clone, Copy, Default)]
struct About {
    key: Option<u64>,
    tag: Tag,
    urgency: i64,
}

/// A reserved place in the queue.
pub(crate) struct Place<E: Send + 'static> {
    shared: Arc<Shared<E>>,
    about: About,
    /// Until it is used.
    ticket: Option<Ticket>,
}

impl<E: Send + 'static> Shared<E> {
    fn about(&self, event: &E) -> About {
        let program = &self.program;
        About {
            key: program.key.as_ref().map(|key| key(event)),
            tag: program
                .tag
                .as_ref()
                .map_or_else(Tag::default, |tag| tag(event)),
            urgency: program.urgency.as_ref().map_or(0, |urgency| urgency(event)),
        }
    }

    pub(crate) fn offer(self: &Arc<Self>, event: E) -> Result<(), Refused<E>> {
        let about = self.about(&event);
        let now = self.now();
        let mut effects = Effects::default();
        let mut state = self.lock();
        let admitted = state.admit(now, about.tag);
        let refused = match admitted {
            Ok(ticket) => {
                state.put(now, about, ticket, event, &mut effects);
                None
            }
            Err(why) => Some(Refused { event, why }),
        };
        state.look_at_threads(now, &mut effects);
        drop(state);
        effects.run(self);
        refused.map_or(Ok(()), Err)
    }

    pub(crate) fn offer_or_shed(self: &Arc<Self>, event: E) -> bool {
        let offered = self.offer(event);
        let taken = offered.is_ok();
        if let Err(Refused { event, why }) = offered {
            self.give_to_hook(event, Shed::Refused(why));
        }
        taken
    }

    pub(crate) fn reserve(self: &Arc<Self>, event: &E) -> Result<Place<E>, Refusal> {
        let about = self.about(event);
        let now = self.now();
        let mut state = self.lock();
        let ticket = state.admit(now, about.tag)?;
        state.reserved += 1;
        drop(state);
        Ok(Place {
            shared: Arc::clone(self),
            about,
            ticket: Some(ticket),
        })
    }

    /// Sees to the events of a lane that may be due.
    pub(super) fn look(self: &Arc<Self>, lane: usize) {
        let now = self.now();
        self.change(|state, effects| state.see_to(lane, now, effects));
    }
}

impl<E> State<E> {
    fn admit(&mut self, now: Nanos, tag: Tag) -> Result<Ticket, Refusal> {
        self.observed.counts.offered += 1;
        let admitted = self.asked(now, tag);
        if let Err(refusal) = admitted {
            self.observed.counts.refuse(refusal);
            return Err(refusal);
        }
        admitted
    }

    fn asked(&mut self, now: Nanos, tag: Tag) -> Result<Ticket, Refusal> {
        if self.phase != Phase::Open {
            return Err(Refusal::Closed);
        }
        if self.room() == 0 {
            let is_held = self.held() > 0;
            return Err(if is_held {
                Refusal::Clogged
            } else {
                Refusal::Full
            });
        }
        let offer = Offer {
            now,
            queued: self.occupied() as u64,
            tag,
            chance: self.chance.number(),
        };
        self.policies.offer(&offer).map_err(Refusal::Admission)
    }

    /// Puts an event in that was admitted. Where nobody comes any more, it is accepted and shed.
    fn put(
        &mut self,
        now: Nanos,
        about: About,
        ticket: Ticket,
        event: E,
        effects: &mut Effects<E>,
    ) {
        let lanes = self.lanes.len();
        let at = match about.key {
            Some(key) => (key % lanes as u64) as usize,
            None => {
                self.next_lane = (self.next_lane + 1) % lanes;
                self.next_lane
            }
        };
        self.observed.counts.accepted += 1;
        if self.lanes[at].service == Service::Gone || self.serving == 0 {
            self.policies.give_back(ticket);
            self.observed.counts.shed(Shed::Ended);
            effects.shed.push((event, Shed::Ended));
            return;
        }
        self.queued += 1;
        let waiting = Waiting {
            event,
            since: now,
            ticket,
        };
        self.lanes[at].put(about.urgency, waiting);
        self.see_to(at, now, effects);
    }

    /// How long the events of a lane are to accumulate yet.
    pub(super) fn due_in(&self, lane: usize, now: Nanos) -> Duration {
        let Schedule::Delayed { events, after } = self.schedule else {
            return Duration::ZERO;
        };
        let lane = &self.lanes[lane];
        // What is full will accumulate no more.
        if self.phase != Phase::Open || lane.len() >= events || self.room() == 0 {
            return Duration::ZERO;
        }
        let waited = lane.since().map_or(Nanos::ZERO, |since| now.since(since));
        after.saturating_sub(Duration::from_nanos(waited.get()))
    }

    /// Sees to it that somebody comes for the events of a lane.
    pub(super) fn see_to(&mut self, at: usize, now: Nanos, effects: &mut Effects<E>) {
        let due_in = self.due_in(at, now);
        let lane = &mut self.lanes[at];
        if lane.service != Service::Idle || lane.is_empty() {
            return;
        }
        if due_in.is_zero() {
            if !self.has_threads() {
                self.lanes[at].service = Service::Scheduled;
            }
            effects.turn = Some(at);
            return;
        }
        let due = now.after(Nanos::from(due_in));
        if lane.timer.is_none_or(|timer| due < timer) {
            lane.timer = Some(due);
            effects.later = Some((at, due_in));
        }
    }

    /// How many lanes, or threads, wait for the room of others.
    pub(super) fn held(&self) -> usize {
        let lanes = self.lanes.iter();
        let held = lanes.filter(|lane| lane.service == Service::Held).count();
        held + self.threads_held
    }

    pub(super) fn has_threads(&self) -> bool {
        self.governor.is_some()
    }
}

impl<E: Send + 'static> Place<E> {
    pub(crate) fn fill(mut self, event: E) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let (shared, about) = (Arc::clone(&self.shared), self.about);
        let now = shared.now();
        shared.change(|state, effects| {
            state.reserved -= 1;
            state.put(now, about, ticket, event, effects);
            state.look_at_threads(now, effects);
        });
    }
}

impl<E: Send + 'static> Drop for Place<E> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        self.shared.change(|state, effects| {
            state.reserved -= 1;
            state.observed.counts.withdrawn += 1;
            state.policies.give_back(ticket);
            state.note_room(effects);
        });
    }
}
