//! Bugs, planted to see that their checks find them.

use crate::engine::MachineFault;

/// A bug that is planted: in the machine, in what a runtime is told, in what a program
/// does unseen. None touches the source of Mely; the name of the check that must find
/// it is [`check`](Self::check).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Some events are run by two workers.
    TwoOwners,
    /// Of events that are posted in a row the last runs first.
    SwappedPosts,
    /// An event is posted twice.
    ExtraPost,
    /// A panic poisons its color although nobody asked for that.
    SilentPoison,
    /// Every other wake-up is lost.
    LostWake,
    /// Batches are as long as there are events.
    LongBatch,
    /// Pinned colors are not.
    LoosePin,
    /// Bounded colors take some more.
    WideBound,
    /// The clock that workers read is ahead from time to time.
    ClockAhead,
    /// Cancelling a timer says that it did, and does nothing.
    DeafCancel,
    /// The state of the first color is never dropped.
    KeptState,
    /// Workers keep the locks that they free.
    KeptLock,
    /// Workers that have nothing to do look for work for ever.
    NoSleep,
    /// A worker panics that has nothing to do.
    PanicAsleep,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 14] = [
        Fault::TwoOwners,
        Fault::SwappedPosts,
        Fault::ExtraPost,
        Fault::SilentPoison,
        Fault::LostWake,
        Fault::LongBatch,
        Fault::LoosePin,
        Fault::WideBound,
        Fault::ClockAhead,
        Fault::DeafCancel,
        Fault::KeptState,
        Fault::KeptLock,
        Fault::NoSleep,
        Fault::PanicAsleep,
    ];

    /// The check that must find it, and no other.
    #[must_use]
    pub const fn check(self) -> &'static str {
        match self {
            Fault::TwoOwners => "serial",
            Fault::SwappedPosts => "order",
            Fault::ExtraPost => "account",
            Fault::SilentPoison => "loss",
            Fault::LostWake => "sleep",
            Fault::LongBatch => "fair",
            Fault::LoosePin => "pinned",
            Fault::WideBound => "bounded",
            Fault::ClockAhead | Fault::DeafCancel => "timers",
            Fault::KeptState => "freed",
            Fault::KeptLock => "deadlock",
            Fault::NoSleep => "endless",
            Fault::PanicAsleep => "crash",
        }
    }

    /// What it does to the machine.
    pub(super) const fn of_machine(self) -> Option<MachineFault> {
        match self {
            Fault::LostWake => Some(MachineFault::LosesWakes { one_in: 2 }),
            Fault::ClockAhead => Some(MachineFault::ClockAhead {
                one_in: 3,
                cycles: 100_000,
            }),
            Fault::KeptLock => Some(MachineFault::KeepsLocks { after: 40 }),
            Fault::NoSleep => Some(MachineFault::NeverSleeps),
            Fault::PanicAsleep => Some(MachineFault::PanicsAsleep { one_in: 5 }),
            _ => None,
        }
    }
}
