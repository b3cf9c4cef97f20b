//! Why a cell is off, as experiments have shown: `docs/decisions/0008` has the whole of
//! it, with the command of each.

use super::{Column, Ordering, Table};
use crate::mely::Policy;

const NO_LOCK: &str = "a core has no lock on its own queues of colors in the product";
const POLLING: &str = "thieves that poll and spin; a steal here holds its locks shorter, so more of it is \
     waiting: with sleeping thieves 6.0 times the paper's rate, with no cost of spinners 5.7 times";
const MEAN_EVENT: &str =
    "the mean event of the workload takes 698 cycles: stealing at random cannot bring fewer";
const MEAN_LONG: &str = "a steal takes one color, and the mean long event takes 30 000 cycles";
const STEAL_LOCK: &str = "what thieves may take is behind one lock in the product, and polling thieves \
     are always at it: with sleeping ones the rate is 0.94 and a steal 1.10 of the paper's, \
     locking still far more";
const CHAINS: &str = "the paper does not say how many chains there are: with 100, 16 and 10 of them \
     Libasync-smp has 4 927, 2 502 and 1 804 Kevents/s, and more and more B are stolen: a fifth \
     of them with 16; in the paper, all";
const NEAR_ZERO: &str = "both are next to nothing: no event needs memory";
const HALF_ARRAYS: &str = "idle cores steal from afar as soon as their neighbor has nothing, whether they \
     poll or sleep (1.39 and 3.37 times with idle-poll-cycles=0)";
const SHORT_HOLD: &str = "a steal holds its locks too short: with 14 000 cycles for each of the two links that \
     it follows, it gains nothing at all (0.32)";
const MOVES_ONCE: &str = "a stolen message stays with its thief, and misses in one pass of four at the most: \
     the paper's share needs one that moves between handlers";
const SHORT_HOLD_AWARE: &str =
    "the same: a message is stolen once at the most, and the steal is cheap";
const BATCH_RATE: &str = "two of four cores begin all messages, and a steal is cheap: with 14 000 cycles for \
     each of the two links that it follows, the original stealing has 0.89 of the rate without";
const BATCH_LOCKING: &str = "a share of the time that handlers take, which the paper does not say: 7.1, 3.7 and \
     1.4 times without stealing at 500, 2 000 and 6 800 cycles for 50 concatenations";
const SHORT_LINK: &str = "the first event of a queue can be taken, and two links lead to it; the paper's thieves \
     find more than a thousand events waiting: with 14 000 cycles for each link, 0.80 of the \
     rate without stealing";
const ONE_EVENT: &str =
    "a steal takes one event of a connection, and the mean one takes 5 000 cycles";
const COLOR_STEAL: &str = "a steal from queues of colors takes one lock and a few lines";
const LONG_QUEUES: &str = "thieves scan past what waits for the core that accepts, under its lock: with 200 \
     clients the rates are 0.90 and 1.04 of that without stealing, with links that take no time \
     1.20 and 1.05";
const FEW_STEALS: &str = "a stolen color stays with its thief, and its pieces come one by one: there are but a \
     few steals at the beginning, when all thieves are at one lock, and each brings one piece";

/// What was found about a cell.
#[must_use]
pub(super) fn reason(table: Table, row: Policy, column: Column) -> Option<&'static str> {
    use Column::{
        CyclesPerSteal, KiloEvents, Locking, MissPercent, MissesPerEvent, MissesPerKiloEvent,
        Ratio, StolenPerSteal,
    };
    Some(match (table, row, column) {
        (Table::Unbalanced, Policy::MelyNoSteal, Locking) => NO_LOCK,
        (Table::Unbalanced, Policy::MelyTimeLeft, StolenPerSteal) => MEAN_LONG,
        (Table::Unbalanced, _, StolenPerSteal) => MEAN_EVENT,
        (Table::Unbalanced, Policy::LibasyncSmp, _) => POLLING,
        (Table::Unbalanced, Policy::MelyBase, _) => STEAL_LOCK,
        (Table::Penalty, Policy::LibasyncSmpNoSteal, MissesPerKiloEvent) => NEAR_ZERO,
        (Table::Penalty, Policy::LibasyncSmp | Policy::MelyBase | Policy::MelyPenalty, _) => CHAINS,
        (Table::CacheEfficient, Policy::LibasyncSmp, KiloEvents) => SHORT_HOLD,
        (Table::CacheEfficient, Policy::MelyBase | Policy::MelyLocality, MissesPerEvent) => {
            HALF_ARRAYS
        }
        (Table::CacheAware, _, MissPercent) => MOVES_ONCE,
        (Table::CacheAware, Policy::LibasyncSmp, Ratio) => SHORT_HOLD_AWARE,
        (Table::Batch, _, Locking) => BATCH_LOCKING,
        (Table::Batch, _, Ratio) => BATCH_RATE,
        (Table::Web, Policy::LibasyncSmp, Ratio | CyclesPerSteal) => SHORT_LINK,
        (Table::Web, Policy::Mely, CyclesPerSteal) => COLOR_STEAL,
        (Table::Web, _, StolenPerSteal) => ONE_EVENT,
        (Table::CfseWeb, _, Ratio) => LONG_QUEUES,
        (Table::Files, _, CyclesPerSteal | StolenPerSteal) => FEW_STEALS,
        _ => return None,
    })
}

const COPIES: &str = "copies of our handlers have no core through which all goes, and share nothing; \
     the papers compare with another program, which they call slower for its features";
const NO_STEAL: &str = "the paper's thieves lose a third of the rate; with 14 000 cycles for each link that a \
     thief follows, Libasync-smp has 324 Kevents/s instead of 516, Mely without stealing 285";
const NEITHER: &str = "no reason found: neither polling nor the price of steals changes it";
const PINNING_WRITES: &str = "what thieves take off the accepting core is its share of reads and writes, and \
     19 000 cycles for a write are from the loopback device: with pinning-write-cycles=6000 \
     stealing gains 3 % instead of 10";

/// What was found about an ordering that does not hold.
#[must_use]
pub(super) fn of_ordering(ordering: &Ordering) -> &'static str {
    match (ordering.table, ordering.column) {
        _ if ordering.less_of != ordering.table => COPIES,
        (Table::Penalty, Column::KiloEvents) => CHAINS,
        (Table::Batch, Column::KiloEvents) => BATCH_RATE,
        (Table::Batch, Column::Locking) => BATCH_LOCKING,
        (Table::Pinning, Column::KiloEvents) => PINNING_WRITES,
        (Table::Web, Column::KiloEvents) if ordering.more == Policy::MelyNoSteal => NO_STEAL,
        (Table::Web, Column::KiloEvents) => SHORT_LINK,
        (Table::CacheEfficient, Column::MissesPerEvent) => NEITHER,
        (Table::CfseWeb, Column::KiloEvents) => LONG_QUEUES,
        _ => "no reason found",
    }
}
