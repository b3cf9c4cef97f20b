//! `mely sim explore`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;

use super::interrupt::Interrupt;
use super::progress;
use crate::Error;
use crate::explore::{CORES_MAX, Program, Run, Shrunken, Violation, execute, shrink};
use crate::mely::Policy;

/// How many smaller programs are tried after a failure: some seconds.
const SHRINK_TRIES: u32 = 5_000;

/// Which programs to run.
#[derive(Args, Clone, Debug)]
pub struct ExploreOptions {
    /// How many seeds, one program each.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first seed.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    first: u64,
    /// Cores of the machine, instead of 1 to 8 by the seed.
    #[arg(long, value_name = "N", value_parser = cores)]
    cores: Option<usize>,
    /// How colors are stolen, instead of one policy by the seed; `all` runs each seed
    /// under every policy.
    #[arg(long, value_name = "POLICY", value_parser = policies)]
    policy: Option<Policies>,
    /// Write what was done into this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
enum Policies {
    All,
    One(Policy),
}

fn policies(text: &str) -> Result<Policies, String> {
    match text {
        "all" => Ok(Policies::All),
        name => match name.parse() {
            Ok(policy) => Ok(Policies::One(policy)),
            Err(error) => Err(format!("{error}, or `all`")),
        },
    }
}

/// More cores than random programs have colors find nothing that fewer do not.
const CORES_ASKED_MAX: usize = 8 * CORES_MAX;

fn cores(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(cores) if (1..=CORES_ASKED_MAX).contains(&cores) => Ok(cores),
        _ => Err(format!("give 1 to {CORES_ASKED_MAX}")),
    }
}

impl ExploreOptions {
    /// The command for the seeds that are left after so many.
    fn rest(&self, done: u64) -> String {
        let first = self.first.wrapping_add(done);
        let mut command = format!(
            "mely sim explore --first {first} --seeds {}",
            self.seeds - done
        );
        if let Some(cores) = self.cores {
            command += &format!(" --cores {cores}");
        }
        match self.policy {
            Some(Policies::All) => command += " --policy all",
            Some(Policies::One(policy)) => command += &format!(" --policy {policy}"),
            None => {}
        }
        command
    }

    /// The programs of a seed.
    fn programs(&self, seed: u64) -> Vec<Program> {
        let mut program = Program::random(seed);
        program.cores = self.cores.unwrap_or(program.cores);
        let policies = match self.policy {
            None => vec![program.policy],
            Some(Policies::One(policy)) => vec![policy],
            Some(Policies::All) => Policy::ALL.to_vec(),
        };
        let under = |policy| Program {
            policy,
            ..program.clone()
        };
        policies.into_iter().map(under).collect()
    }
}

/// What was run.
#[derive(Default)]
struct Done {
    /// Of these all programs.
    seeds: u64,
    by_policy: BTreeMap<&'static str, Row>,
    /// Of all runs, in their order.
    hash: u64,
}

/// What was run under a policy.
#[derive(Clone, Copy, Default)]
struct Row {
    programs: u64,
    events: u64,
    switches: u64,
}

/// A program that broke something.
struct Failure {
    seed: u64,
    program: Program,
    small: Shrunken,
}

pub(super) fn run(options: &ExploreOptions) -> Result<(), Error> {
    let interrupt = Interrupt::watch().map_err(Error::Interrupts)?;
    let (done, failure) = run_until(options, &interrupt)?;
    match failure {
        Some(failure) => Err(Error::Broken {
            seed: failure.seed,
            invariant: failure.small.violation.invariant,
        }),
        None if done.seeds < options.seeds => Err(Error::Interrupted {
            again: options.rest(done.seeds),
        }),
        None => Ok(()),
    }
}

/// Searches to the end, or until it is interrupted, and prints what was done.
fn run_until(
    options: &ExploreOptions,
    interrupt: &Interrupt,
) -> Result<(Done, Option<Failure>), Error> {
    let mut done = Done::default();
    let bar = bar(options.seeds);
    let failure = search(options, &mut done, &bar, interrupt);
    bar.finish_and_clear();
    let mut text = table(&done);
    if done.seeds < options.seeds {
        text += &format!("{} of {} seeds\n", done.seeds, options.seeds);
    }
    if let Some(failure) = &failure {
        text += &failure.text();
    }
    let mut output = io::stdout();
    output.write_all(text.as_bytes()).map_err(Error::Output)?;
    if let Some(path) = &options.json {
        let text = format!("{:#}\n", as_json(options, &done, failure.as_ref()));
        fs::write(path, text).map_err(|source| Error::File {
            path: path.clone(),
            source,
        })?;
    }
    Ok((done, failure))
}

fn bar(seeds: u64) -> ProgressBar {
    let template = "{bar:40} {human_pos} of {human_len} seeds, {per_sec}, {eta} left {msg}";
    progress::bar(Some(seeds), template)
}

/// Runs the programs, up to the first that breaks something.
fn search(
    options: &ExploreOptions,
    done: &mut Done,
    bar: &ProgressBar,
    interrupt: &Interrupt,
) -> Option<Failure> {
    for seed in (0..options.seeds).map(|more| options.first.wrapping_add(more)) {
        if interrupt.came() {
            return None;
        }
        for program in options.programs(seed) {
            let ran = execute(&program, None);
            done.hash = done.hash.rotate_left(5) ^ ran.hash;
            let row = done.by_policy.entry(program.policy.name()).or_default();
            row.programs += 1;
            row.events += ran.events;
            row.switches += ran.switches;
            if let Some(violation) = ran.violation {
                bar.set_message("(making a failure smaller)");
                return Some(Failure::of(seed, program, violation, interrupt));
            }
        }
        done.seeds += 1;
        bar.inc(1);
    }
    None
}

impl Failure {
    /// Interrupted, it is as small as it is by then.
    fn of(seed: u64, program: Program, violation: Violation, interrupt: &Interrupt) -> Self {
        let small = shrink(&program, violation, SHRINK_TRIES, |p| {
            match interrupt.came() {
                true => Run::default(),
                false => execute(p, None),
            }
        });
        Self {
            seed,
            program,
            small,
        }
    }

    /// How to run it again.
    fn again(&self) -> String {
        let Program { cores, policy, .. } = &self.program;
        let seed = self.seed;
        format!("mely sim explore --first {seed} --seeds 1 --cores {cores} --policy {policy}")
    }

    fn text(&self) -> String {
        let Shrunken {
            program,
            violation,
            tries,
        } = &self.small;
        format!(
            "seed {}: {violation}\nthe smallest program found that does so, of {tries} tried:\n\n{program}\nagain: {}\n",
            self.seed,
            self.again()
        )
    }
}

/// Says nothing of the time that it took: the same seeds give the same bytes.
fn table(done: &Done) -> String {
    let mut text = format!(
        "{:<20} {:>9} {:>11} {:>12}\n",
        "policy", "programs", "events", "switches"
    );
    for (policy, row) in &done.by_policy {
        text += &format!(
            "{policy:<20} {:>9} {:>11} {:>12}\n",
            row.programs, row.events, row.switches
        );
    }
    text + &format!("trace hash: {:016x}\n", done.hash)
}

fn as_json(options: &ExploreOptions, done: &Done, failure: Option<&Failure>) -> serde_json::Value {
    let row = |(policy, row): (&&str, &Row)| {
        json!({
            "policy": policy,
            "programs": row.programs,
            "events": row.events,
            "switches": row.switches,
        })
    };
    let failure = failure.map(|failure| {
        json!({
            "seed": failure.seed,
            "policy": failure.program.policy.name(),
            "invariant": failure.small.violation.invariant,
            "what": failure.small.violation.what,
            "program": failure.small.program.to_string(),
            "again": failure.again(),
        })
    });
    json!({
        "first": options.first,
        "seeds": options.seeds,
        "seeds_done": done.seeds,
        "trace_hash": format!("{:016x}", done.hash),
        "policies": done.by_policy.iter().map(row).collect::<Vec<_>>(),
        "failure": failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_search_tells_what_goes_on_with_it() {
        let options = ExploreOptions {
            seeds: 100,
            first: 7,
            cores: Some(2),
            policy: Some(Policies::All),
            json: None,
        };
        let interrupt = Interrupt::never();
        interrupt.note();
        let mut done = Done::default();
        assert!(search(&options, &mut done, &ProgressBar::hidden(), &interrupt).is_none());
        assert_eq!(done.seeds, 0);
        let again = "mely sim explore --first 10 --seeds 97 --cores 2 --policy all";
        assert_eq!(options.rest(3), again);
    }
}
