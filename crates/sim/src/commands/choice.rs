//! What several commands let their user choose.

use std::str::FromStr;

use crate::machine::{CORES_MAX, Machine, MachineError};
use crate::mely::Policy;

/// One policy, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    All,
    One(Policy),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Choice::All),
            name => match name.parse() {
                Ok(policy) => Ok(Choice::One(policy)),
                Err(error) => Err(format!("{error}; or all")),
            },
        }
    }
}

/// The policies that were chosen, each once.
pub(super) fn policies(chosen: &[Choice]) -> Vec<Policy> {
    let mut policies = Vec::new();
    for choice in chosen {
        let these = match choice {
            Choice::All => &Policy::ALL[..],
            Choice::One(policy) => std::slice::from_ref(policy),
        };
        for policy in these {
            if !policies.contains(policy) {
                policies.push(*policy);
            }
        }
    }
    policies
}

/// The machine with each of these numbers of cores; as it is, if there are none.
pub(super) fn machines(name: &str, cores: &[usize]) -> Result<Vec<Machine>, MachineError> {
    let machine = Machine::find(name)?;
    match cores {
        [] => Ok(vec![machine]),
        cores => cores
            .iter()
            .map(|&cores| machine.with_cores(cores))
            .collect(),
    }
}

/// A number of cores.
pub(super) fn cores(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(cores @ 1..=CORES_MAX) => Ok(cores),
        _ => Err(format!("give 1 to {CORES_MAX}")),
    }
}

/// A number above 0.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("give a number above 0, such as 1.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_is_chosen_once() {
        let choice = |text: &str| text.parse::<Choice>();
        let chosen = ["mely", "all", "mely"].map(|text| choice(text).unwrap());
        let policies = policies(&chosen);
        assert_eq!(
            (policies[0], policies.len()),
            (Policy::Mely, Policy::ALL.len())
        );
        assert!(choice("fastest").unwrap_err().contains("or all"));
    }

    #[test]
    fn numbers_are_above_zero() {
        assert_eq!(positive("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "inf", "NaN", "fast", ""] {
            assert!(positive(wrong).is_err(), "{wrong}");
        }
    }
}
