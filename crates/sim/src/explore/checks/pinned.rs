//! Pinned colors run on their core only; and under a policy without stealing all do.

use super::{Check, ColorId, Seen, ensure, plan_of};
use crate::explore::program::{ColorPlan, Program};
use crate::mely::Policy;

pub(super) struct Pinned {
    colors: Vec<ColorPlan>,
    cores: usize,
    policy: Policy,
}

impl Pinned {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            colors: program.colors.clone(),
            cores: program.cores,
            policy: program.policy,
        }
    }

    fn home(&self, color: ColorId) -> Option<usize> {
        let plan = plan_of(&self.colors, color)?;
        let stays = plan.is_pinned(self.policy) || !self.policy.heuristics().steal;
        stays.then_some(plan.home(self.cores))
    }
}

impl Check for Pinned {
    fn name(&self) -> &'static str {
        "pinned"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let (&Seen::Began { color, worker, .. } | &Seen::PollBegan { color, worker }) = seen else {
            return Ok(());
        };
        let home = self.home(color);
        ensure(home.is_none_or(|home| home == worker), || {
            format!("{seen:?} on worker {worker}, not on {home:?}")
        })
    }
}
