//! `overload`: a stage behind sockets at half of what it can serve, at 1.4 times, half again, ten
//! times, and half.
//!
//! The step to 1.4 times is judged by when it has recovered from the step; that to ten times by
//! when it has recovered from its end.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::StagesOptions;
use super::setting::{self, Staged, beside, in_turns, write_header};
use crate::contenders::staged::answer::{AnswerReader, Fate};
use crate::contenders::staged::{Conditioning, Fates, StageServer};
use crate::measure::staged::StageRow;
use crate::measure::{Error, Failure};
use crate::workloads::staged::open_loop::{OpenLoop, Outcome, Phase, Timetable, Wire};
use crate::workloads::staged::told::Told;

/// Connections of the clients: so few that reads take several requests when there are many.
const CONNECTIONS: usize = 16;

/// Requests under way while the peak is measured: enough that the stage never waits for one.
const UNDER_WAY: usize = 64;

/// What is run if nothing is chosen.
const POLICIES: [Conditioning; 4] = [
    Conditioning::Within,
    Conditioning::ResponseTime,
    Conditioning::ResponseTimeTuned,
    Conditioning::None,
];

/// Demand as multiples of the peak.
const DEMAND: [f64; 5] = [0.5, 1.4, 0.5, 10.0, 0.5];

/// After the last request answers are waited for so long.
const LINGER: Duration = Duration::from_secs(3);

/// Requests of eight bytes, on one connection after the other.
pub(super) struct Numbers(Vec<AnswerReader>);

impl Numbers {
    pub(super) fn new(connections: usize) -> Self {
        let reader = |_| AnswerReader::default();
        Self((0..connections).map(reader).collect())
    }
}

impl Wire for Numbers {
    fn request(&mut self, number: u64, out: &mut Vec<Vec<u8>>) -> Result<(), Failure> {
        let at = number as usize % self.0.len();
        out[at].extend_from_slice(&number.to_le_bytes());
        Ok(())
    }

    fn take(
        &mut self,
        connection: usize,
        bytes: &[u8],
        told: &mut dyn FnMut(u64, Fate),
    ) -> Result<(), Failure> {
        let taken = self.0[connection].take(bytes, told);
        taken.ok_or_else(|| "the server sent something else than answers".into())
    }
}

pub(super) fn run(options: &StagesOptions) -> Result<Vec<StageRow>, Error> {
    let each = format!(
        "{} phases of {} s: requests of {} us, answers of {} bytes, within {} ms",
        DEMAND.len(),
        options.seconds,
        options.cost,
        options.answer,
        options.target
    );
    write_header(options, &each)?;
    let peak = peak(options)?;
    let policies = match &options.policy[..] {
        [] => &POLICIES[..],
        chosen => chosen,
    };
    let mut rows = vec![peak.clone()];
    setting::write_table(&rows, io::stdout()).map_err(Error::Output)?;
    let peak = peak.goodput.unwrap_or_default();
    rows.extend(in_turns(options, policies.iter().copied(), |policy| {
        measure(options, *policy, peak).map_err(Error::run("overload", policy))
    })?);
    Ok(rows)
}

/// What is answered without overload: as many as come.
fn peak(options: &StagesOptions) -> Result<StageRow, Error> {
    let measure = || -> Result<StageRow, Failure> {
        let staged = start(options, Conditioning::None, 0.0)?;
        let long = Duration::from_secs_f64(options.seconds);
        let timetable = Timetable::Always {
            under_way: UNDER_WAY,
            long,
        };
        let outcome = load(staged.server.address(), timetable)?;
        let told = Told::of(&outcome.asked, Duration::ZERO, long);
        let (_, memory) = staged.end()?;
        Ok(StageRow {
            offered: Some(told.offered()),
            goodput: Some(told.goodput(Duration::MAX)),
            p50_ms: told.wait_ms(Fate::Answered, 0.5),
            p99_ms: told.wait_ms(Fate::Answered, 0.99),
            memory_mb: Some(memory),
            ..StageRow::new("overload", "peak", format!("{UNDER_WAY} under way"))
        })
    };
    measure().map_err(Error::run("overload", "peak"))
}

fn start(options: &StagesOptions, policy: Conditioning, peak: f64) -> Result<Staged, Error> {
    let with = |served: &mut crate::contenders::staged::StagesServeOptions| {
        served.policy = policy;
        served.peak = peak;
        served.cost_us = options.cost;
        served.answer_bytes = options.answer;
        served.target_ms = options.target;
    };
    Staged::start(options, with, StageServer::Work)
}

fn load(address: SocketAddr, timetable: Timetable) -> Result<Outcome, Failure> {
    beside(|| {
        let wire = Numbers::new(CONNECTIONS);
        let clients = OpenLoop::connect(address, CONNECTIONS, wire, |_| Ok(()))?;
        clients.run(timetable, LINGER)
    })
}

/// The timetable under one policy.
fn measure(
    options: &StagesOptions,
    policy: Conditioning,
    peak: f64,
) -> Result<Vec<StageRow>, Failure> {
    let staged = start(options, policy, peak)?;
    let long = Duration::from_secs_f64(options.seconds);
    let phase = |demand: f64| Phase {
        per_second: (demand * peak).max(1.0),
        long,
    };
    let timetable = Timetable::Phases(DEMAND.into_iter().map(phase).collect());
    let outcome = load(staged.server.address(), timetable)?;
    let (fates, memory) = staged.end()?;
    if fates.lost() != 0 {
        return Err(format!("{} accepted requests are lost: {fates:?}", fates.lost()).into());
    }
    let target = Duration::from_millis(options.target.into());
    let told = |number: u32| Told::of(&outcome.asked, long * number, long);
    let row = |experiment: &str, number: u32| {
        let (told, after) = (told(number), told(number + 1));
        let demand = DEMAND[number as usize];
        let recovered = match experiment {
            "step" => told.recovery_ms(target),
            _ => after.recovery_ms(target),
        };
        let goodput = told.goodput(target);
        let row = StageRow {
            offered: Some(told.offered()),
            goodput: Some(goodput),
            p50_ms: told.wait_ms(Fate::Answered, 0.5),
            p99_ms: told.wait_ms(Fate::Answered, 0.99),
            recovery_ms: recovered,
            memory_mb: Some(memory),
            ..StageRow::new(experiment, policy, format!("{demand} times"))
        };
        let refused = told.wait_ms(Fate::Refused, 0.99).unwrap_or(f64::NAN);
        row.with("share_of_peak", goodput / peak)
            .with("refused_p99_ms", refused)
            .with("refused_share", told.share(Fate::Refused))
            .with("expired_share", told.share(Fate::Expired))
            .with("untold", told.untold() as f64)
            .with("clients_late_ms", outcome.late.as_secs_f64() * 1e3)
    };
    Ok(vec![
        conserved(row("step", 1), &fates),
        conserved(row("overload", 3), &fates),
    ])
}

/// What became of all requests of the run: accepted = answered + expired + reported.
fn conserved(row: StageRow, fates: &Fates) -> StageRow {
    row.with("accepted", fates.accepted as f64)
        .with("answered", fates.answered as f64)
        .with("expired", fates.expired as f64)
        .with("reported", fates.reported as f64)
}
