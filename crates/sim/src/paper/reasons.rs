//! Why a cell is off, where that is known: `docs/decisions/0008` has the whole of it.

use super::{Column, Table};
use crate::mely::Policy;

const NO_LOCK: &str = "a core has no lock on its own queues of colors in the product";
const SHORT_SCAN: &str = "a thief knows how many events a color has waiting, and takes the first \
                          event here after looking at two; and locks are handed over in order, \
                          without the bus traffic of cores that spin";
const MEAN_EVENT: &str = "the mean event of the workload takes 698 cycles: stealing at random \
                          cannot bring fewer";
const MEAN_LONG: &str = "a steal takes one color, and the mean long event takes 30 000 cycles";
const STEAL_LOCK: &str = "what thieves may take is behind one lock in the product, which they \
                          hold while they choose";
const CHAINS: &str = "likely: the paper leaves open how many events and arrays there are: with a hundred \
                      chains of nine events nearly all work can go to the other cores";
const MISS_UNIT: &str = "the unit is read as misses of a thousand events; few events B are \
                         stolen at all";
const NEAR_ZERO: &str = "both are next to nothing: no event needs memory";
const HALF_ARRAYS: &str = "an idle core whose neighbor has nothing steals from afar, and the \
                           halves of a stolen array come back for the merge";
const CHEAP_LOCKS: &str = "locks are handed over in order, without the bus traffic of cores \
                           that spin";
const CACHE_SHARE: &str = "the paper does not say what its share is of, nor how many arrays are \
                           on their way: here those of a pair fit into its cache";
const LIGHT: &str = "likely: handlers take 500 cycles, as measured in production: those of the paper \
                     must have taken longer";
const TWO_OF_FOUR: &str = "likely: two of four cores begin all messages: a steal can only gain, unless it \
                           costs what it did in the paper (see unbalanced)";
const EVEN: &str = "all cores are loaded alike without stealing, and there is little to gain: \
                    what the handlers of the paper's server took is not given";
const SHORT_QUEUES: &str = "queues are short, as Epoll keeps up: a thief has little to scan";
const ONE_EVENT: &str = "a steal takes what one request of one connection has left";
const LONG_QUEUES: &str = "hundreds of events wait on the core that accepts, and thieves scan them \
                           under its lock: those of the paper found fewer";
const NO_STEALS: &str = "a stolen color stays with its thief: once the sessions have left the \
                         first core, nothing is left to steal";

/// What was found about a cell.
#[must_use]
pub(super) fn reason(table: Table, row: Policy, column: Column) -> Option<&'static str> {
    use Column::{
        CyclesPerSteal, KiloEvents, Locking, MissPercent, MissesPerEvent, MissesPerKiloEvent,
        Ratio, StolenPerSteal,
    };
    Some(match (table, row, column) {
        (Table::Unbalanced, Policy::MelyNoSteal, Locking) => NO_LOCK,
        (Table::Unbalanced, Policy::LibasyncSmp, KiloEvents | CyclesPerSteal) => SHORT_SCAN,
        (Table::Unbalanced, Policy::MelyTimeLeft, StolenPerSteal) => MEAN_LONG,
        (Table::Unbalanced, _, StolenPerSteal) => MEAN_EVENT,
        (Table::Unbalanced, Policy::MelyBase, Locking | CyclesPerSteal) => STEAL_LOCK,
        (Table::Penalty, Policy::LibasyncSmpNoSteal, MissesPerKiloEvent) => NEAR_ZERO,
        (Table::Penalty, _, MissesPerKiloEvent) => MISS_UNIT,
        (Table::Penalty, Policy::LibasyncSmp | Policy::MelyBase | Policy::MelyPenalty, _) => CHAINS,
        (Table::CacheEfficient, Policy::LibasyncSmp, KiloEvents) => CHEAP_LOCKS,
        (Table::CacheEfficient, Policy::MelyBase | Policy::MelyLocality, MissesPerEvent) => {
            HALF_ARRAYS
        }
        (Table::CacheAware, _, MissPercent) => CACHE_SHARE,
        (Table::CacheAware, Policy::LibasyncSmp, Ratio) => CHEAP_LOCKS,
        (Table::Batch, _, Locking) => LIGHT,
        (Table::Batch, _, Ratio) => TWO_OF_FOUR,
        (Table::Web, _, Ratio) => EVEN,
        (Table::Web, _, CyclesPerSteal) => SHORT_QUEUES,
        (Table::Web, _, StolenPerSteal) => ONE_EVENT,
        (Table::CfseWeb, _, Ratio) => LONG_QUEUES,
        (Table::Files, _, CyclesPerSteal | StolenPerSteal) => NO_STEALS,
        _ => return None,
    })
}
