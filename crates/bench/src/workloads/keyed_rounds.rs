//! Uk: the rounds of U, but each event goes to a long-lived key of its own.
//!
//! As a server with 50 000 sessions: nothing is made or thrown away for an event, but
//! the key that it goes to is seldom in a cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::unbalanced::{EVENTS, LONG, ROUND, SHORT, SHORT_CYCLES, costs, deal_out, event};
use crate::contenders::runtimes::{Actor, Keyed, ToSelf};
use crate::measure::rounds::Rounds;
use crate::measure::tally;
use crate::measure::{Failure, Outcome, Run};

/// What a session has: how many events it has run.
struct Session {
    events: u64,
}

impl Actor for Session {
    type Message = u32;

    #[inline]
    fn handle(&mut self, cycles: u32, _to_self: &mut impl ToSelf<u32>) {
        self.events += 1;
        event(cycles);
    }
}

struct Poster<R: Keyed + 'static> {
    sessions: Arc<[R::Key<Session>]>,
    costs: Arc<[u32]>,
    rounds: Arc<Rounds>,
    goal: u64,
}

enum Step {
    Begin,
    Wait,
}

impl<R: Keyed + 'static> Actor for Poster<R> {
    type Message = Step;

    fn handle(&mut self, step: Step, to_self: &mut impl ToSelf<Step>) {
        // Looked at once: the round may end between two looks.
        let ended = matches!(step, Step::Begin) || tally::total() >= self.goal;
        let goes_on = match step {
            Step::Begin => true,
            Step::Wait => !ended || self.rounds.another(EVENTS as u64),
        };
        if ended && goes_on {
            self.goal = tally::total() + EVENTS as u64;
            for (session, &cycles) in self.sessions.iter().zip(&self.costs[..]) {
                let kind = match cycles {
                    SHORT_CYCLES => &SHORT,
                    _ => &LONG,
                };
                R::post_via(session, kind, cycles);
            }
        }
        if goes_on {
            to_self.post(Step::Wait);
        }
    }
}

pub(super) fn keyed<R: Keyed + 'static>(runtime: &R, run: &Run) -> Result<Outcome, Failure> {
    let (rounds, outcome) = Rounds::new(run.time);
    let session = |_| runtime.key(Session { events: 0 });
    let sessions: Arc<[_]> = (0..EVENTS).map(session).collect();
    let poster = runtime.poster(Poster::<R> {
        sessions: Arc::clone(&sessions),
        costs: costs(),
        rounds,
        goal: 0,
    })?;
    R::post_via(&poster, &ROUND, Step::Begin);
    let outcome = outcome.recv()?;
    R::close(&poster);
    sessions.iter().for_each(R::close);
    Ok(outcome)
}

/// Threads take numbers of sessions, some at a time, and call them.
pub(super) fn floor(run: &Run) -> Result<Outcome, Failure> {
    /// What a session fills of memory at the least.
    #[repr(align(64))]
    struct Line(AtomicU64);

    let costs = costs();
    let sessions: Vec<_> = (0..EVENTS).map(|_| Line(AtomicU64::new(0))).collect();
    deal_out(run, |at| {
        // Relaxed: nobody else has this session's number in this round.
        let events = sessions[at].0.load(Ordering::Relaxed);
        sessions[at].0.store(events + 1, Ordering::Relaxed);
        event(costs[at]);
    })
}
