//! Pinned colors run on their core only; and under a policy without stealing all do.

use super::{Check, ColorId, Seen, ensure, plan_of};
use crate::explore::program::{ColorPlan, Program};

pub(super) struct Pinned {
    colors: Vec<ColorPlan>,
    cores: usize,
    steals: bool,
}

impl Pinned {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            colors: program.colors.clone(),
            cores: program.cores,
            steals: program.policy.heuristics().steal,
        }
    }

    fn home(&self, color: ColorId) -> Option<usize> {
        let plan = plan_of(&self.colors, color)?;
        (plan.pinned || !self.steals).then_some(plan.home % self.cores)
    }
}

impl Check for Pinned {
    fn name(&self) -> &'static str {
        "pinned"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let &Seen::Began {
            event,
            color,
            worker,
            ..
        } = seen
        else {
            return Ok(());
        };
        let home = self.home(color);
        ensure(home.is_none_or(|home| home == worker), || {
            format!("event {event} of {color:?} begins on worker {worker}, not on {home:?}")
        })
    }
}
