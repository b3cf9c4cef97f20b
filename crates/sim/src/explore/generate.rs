//! A random program for a seed.

use std::sync::Arc;

use fastrand::Rng;

use super::program::{
    Action, Arrival, Awaits, ColorPlan, End, Event, How, Kind, LONG_CYCLES, Program, Woken,
};
use crate::mely::{Pending, Policy};

/// The most cores that a random program has, as the papers' machine.
pub const CORES_MAX: usize = 8;

/// How many events an arrival may lead to, about: small enough that a program takes
/// milliseconds, large enough for batches and steals.
const EVENTS_PER_ARRIVAL: u32 = 60;

/// The same for the destructor of a state.
const EVENTS_OF_STATE: u32 = 12;

/// When the last arrival comes, and how late timers fire, in cycles: some long events.
const SPAN_CYCLES: u64 = 600_000;

impl Program {
    /// The program of a seed: the same on every machine.
    ///
    /// ```
    /// use mely_sim::explore::Program;
    ///
    /// assert_eq!(Program::random(7), Program::random(7));
    /// assert_ne!(Program::random(7), Program::random(8));
    /// ```
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut chance = Rng::with_seed(seed);
        let cores = chance.usize(1..=CORES_MAX);
        let policy = Policy::ALL[chance.usize(..Policy::ALL.len())];
        let mut colors: Vec<_> = (0..chance.u16(1..=6))
            .map(|number| color(&mut chance, number))
            .collect();
        let mut draw = Draw {
            bounded: colors
                .iter()
                .map(|color| color.capacity.is_some())
                .collect(),
            ends: chance.u32(..8) == 0,
            stops: chance.u32(..3) == 0,
            chance: &mut chance,
        };
        let arrivals = (0..draw.chance.usize(1..=4)).map(|_| draw.arrival());
        let arrivals = arrivals.collect();
        let end = draw.end();
        colors.iter_mut().for_each(|color| draw.state(color));
        let (late, late_cycles) = draw.late();
        Self {
            cores,
            policy,
            schedule: chance.u64(..),
            poison: chance.u32(..4) == 0,
            batch: chance.bool().then(|| chance.u32(1..=4)),
            colors,
            arrivals,
            end,
            late,
            late_cycles,
        }
    }
}

/// More than a program has colors.
const COLORS_STEP: u16 = 8;

fn color(chance: &mut Rng, number: u16) -> ColorPlan {
    let plain = ColorPlan {
        home: chance.usize(..CORES_MAX),
        pinned: chance.u32(..4) == 0,
        capacity: match chance.u32(..6) {
            // So narrow that it is full now and then.
            0 => Some(chance.usize(1..=2)),
            1 => Some(chance.usize(1..=8)),
            _ => None,
        },
        control: chance.bool().then(|| chance.usize(1..=3)),
        ..ColorPlan::default()
    };
    match chance.u32(..6) {
        // Nobody says where such a color is, nor how many events it may have.
        0 => ColorPlan {
            pinned: false,
            capacity: None,
            number: Some(COLORS_STEP * chance.u16(..3) + number),
            ..plain
        },
        _ => plain,
    }
}

struct Draw<'a> {
    /// Which of its colors are.
    bounded: Vec<bool>,
    /// Events may tell the program to end.
    ends: bool,
    /// Colors may be stopped.
    stops: bool,
    chance: &'a mut Rng,
}

impl Draw<'_> {
    fn arrival(&mut self) -> Arrival {
        let at_cycles = match self.chance.bool() {
            true => 0,
            false => self.chance.u64(..SPAN_CYCLES),
        };
        let thread = self.chance.u32(..3) == 0;
        let actions = self.chance.u32(1..=4);
        let does = (0..actions).map(|_| self.outside(EVENTS_PER_ARRIVAL / actions));
        Arrival {
            at_cycles,
            thread,
            does: does.collect(),
        }
    }

    fn end(&mut self) -> End {
        let at_cycles = self.chance.u64(..2 * SPAN_CYCLES);
        match self.chance.u32(..4) {
            0 => End::Drain { at_cycles },
            1 => End::Stop { at_cycles },
            _ => End::Quiet,
        }
    }

    /// What a state keeps, and what its destructor does.
    fn state(&mut self, color: &mut ColorPlan) {
        let keeps = match self.chance.u32(..4) {
            0 => self.chance.usize(1..=2),
            _ => 0,
        };
        color.keeps = (0..keeps).map(|_| self.color()).collect();
        color.keeps_handle = self.chance.u32(..8) == 0;
        if self.chance.u32(..3) == 0 {
            color.last = self.last(EVENTS_OF_STATE);
        }
    }

    /// What is done after the end, and how much after.
    fn late(&mut self) -> (Vec<Action>, u64) {
        let actions = match self.chance.u32(..3) {
            0 => self.chance.u32(1..=4),
            _ => 0,
        };
        let late = (0..actions).map(|_| self.outside(EVENTS_OF_STATE));
        (late.collect(), self.chance.u64(..2 * LONG_CYCLES))
    }

    /// What a destructor does that leads to so many events at most.
    fn last(&mut self, events: u32) -> Vec<Action> {
        let actions = self.chance.u32(1..=2);
        let mut last: Vec<_> = (0..actions)
            .map(|_| match self.chance.u32(..14) {
                12 | 13 if self.stops => self.stop(),
                0 => self.cancel(),
                1 => Action::DropHandle,
                2 => Action::Drop {
                    color: self.color(),
                },
                3 => self.after(events / actions),
                4 => self.post_fresh(events / actions),
                5 => self.ask(events / actions),
                6 => self.task(events / actions),
                _ => self.post(events / actions),
            })
            .collect();
        if self.chance.u32(..8) == 0 {
            last.push(Action::Panic);
        }
        last
    }

    /// Something that can be done outside, and leads to so many events at most.
    fn outside(&mut self, events: u32) -> Action {
        match self.chance.u32(..16) {
            14 if self.stops => self.stop(),
            0 => Action::Drop {
                color: self.color(),
            },
            1 => self.cancel(),
            2 => self.after(events),
            3 => self.post_fresh(events),
            4 => self.task(events),
            5 => Action::With {
                color: self.color(),
            },
            6 => self.ask(events),
            7 => Action::DropHandle,
            _ => self.post(events),
        }
    }

    /// Something that a handler does.
    fn inside(&mut self, events: u32) -> Action {
        match self.chance.u32(..33) {
            31 if self.stops => self.stop(),
            0 => Action::Drop {
                color: self.color(),
            },
            1 | 2 => self.cancel(),
            3..=5 => self.after(events),
            6..=8 => self.post_fresh(events),
            9..=12 => {
                let times = self.times(events);
                let event = self.event(events / times);
                Action::PostSelf { times, event }
            }
            13..=19 => self.post(events),
            20 | 21 => self.task(events),
            22..=24 => self.ask(events),
            25 => Action::LetGo,
            26 => match self.ends {
                true => Action::End,
                false => Action::DropHandle,
            },
            _ => Action::Spend(self.chance.u64(1..300)),
        }
    }

    fn stop(&mut self) -> Action {
        Action::Stop {
            color: self.color(),
            pending: match self.chance.bool() {
                true => Pending::Run,
                false => Pending::Drop,
            },
        }
    }

    fn cancel(&mut self) -> Action {
        Action::Cancel {
            back: self.chance.usize(..3),
        }
    }

    fn color(&mut self) -> usize {
        self.chance.usize(..self.bounded.len())
    }

    /// Once as a rule, sometimes often enough for several batches.
    fn times(&mut self, events: u32) -> u32 {
        match self.chance.u32(..3) {
            0 => self.chance.u32(1..=events.max(1)),
            _ => self.chance.u32(1..=events.clamp(1, 3)),
        }
    }

    fn post(&mut self, events: u32) -> Action {
        let times = self.times(events);
        let how = match self.chance.u32(..7) {
            0 => How::Call,
            1 => How::TryPost,
            2 => How::Control,
            _ => How::Post,
        };
        Action::Post {
            color: self.color(),
            how,
            times,
            event: self.event(events / times),
        }
    }

    fn task(&mut self, events: u32) -> Action {
        let color = self.color();
        let awaits = match self.chance.u32(..4) {
            0 => Awaits::Answer,
            1 => Awaits::RoomAndAnswer,
            _ => Awaits::Room,
        };
        let times = match awaits {
            // Often enough that there is none.
            Awaits::Room => events.clamp(1, 12),
            Awaits::Answer | Awaits::RoomAndAnswer => self.times(events.min(6)),
        };
        Action::Task {
            color,
            to: match awaits {
                Awaits::Answer => self.color(),
                Awaits::Room | Awaits::RoomAndAnswer => self.narrow_color(),
            },
            awaits,
            times,
            event: self.event(events / times),
        }
    }

    /// One that may be full, if there are any.
    fn narrow_color(&mut self) -> usize {
        let numbers = 0..self.bounded.len();
        let narrow: Vec<_> = numbers.filter(|&number| self.bounded[number]).collect();
        match narrow.len() {
            0 => self.color(),
            count => narrow[self.chance.usize(..count)],
        }
    }

    fn ask(&mut self, events: u32) -> Action {
        let woken = [
            Woken::Looks,
            Woken::Posts,
            Woken::Panics,
            Woken::PanicsDropped,
        ];
        Action::Ask {
            color: self.color(),
            task: self.chance.u32(..3) == 0,
            woken: woken[self.chance.usize(..woken.len())],
            event: self.event(events),
        }
    }

    fn post_fresh(&mut self, events: u32) -> Action {
        let times = self.times(events);
        let event = self.event(events / times);
        Action::PostFresh { times, event }
    }

    fn after(&mut self, events: u32) -> Action {
        let cycles = match self.chance.u32(..4) {
            0 => 0,
            _ => self.chance.u64(..SPAN_CYCLES),
        };
        Action::After {
            cycles,
            color: self.color(),
            event: self.event(events),
        }
    }

    /// An event that leads to so many at most, itself among them.
    fn event(&mut self, events: u32) -> Arc<Event> {
        let kind = match self.chance.u32(..10) {
            0 => Kind::Long,
            1 => Kind::Heavy,
            2..=5 => Kind::Short,
            _ => Kind::Plain,
        };
        let mut events = events.saturating_sub(1);
        let mut last = Vec::new();
        if events > 0 && self.chance.u32(..6) == 0 {
            last = self.last(events / 2);
            events -= events / 2;
        }
        let actions = self.chance.u32(0..=events.min(4));
        let mut does: Vec<_> = (0..actions)
            .map(|_| self.inside(events / actions))
            .collect();
        if self.chance.u32(..16) == 0 {
            does.push(Action::Panic);
        }
        Arc::new(Event { kind, does, last })
    }
}
