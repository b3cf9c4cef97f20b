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
    /// A panic poisons nothing although it should.
    LaxPoison,
    /// Every other wake-up is lost.
    LostWake,
    /// Batches are as long as there are events.
    LongBatch,
    /// Pinned colors are not.
    LoosePin,
    /// Bounded colors take some more.
    WideBound,
    /// What is of control is posted as anything else.
    PlainControl,
    /// Who waits for room is not woken.
    DeafRoom,
    /// Colors are not stopped.
    DeafStop,
    /// Colors that are stopped drop what was to run.
    RashStop,
    /// The clock that workers read is ahead from time to time.
    ClockAhead,
    /// Cancelling a timer says that it did, and does nothing.
    DeafCancel,
    /// What destructors post is dropped.
    LostParting,
    /// The state of the first color is never dropped.
    KeptState,
    /// A state is dropped as soon as the program drops its own reference.
    EarlyFree,
    /// A value that an event holds is never dropped.
    KeptValue,
    /// A waker is not called, as another one has taken its place.
    DeafWaker,
    /// A worker runs some events after it has lain down.
    LiesOn,
    /// Some locks are freed too late.
    LateUnlock,
    /// Nobody is woken to see that the runtime was stopped.
    LostStop,
    /// The runtime is not stopped, but drains.
    LateStop,
    /// Workers keep the locks that they free.
    KeptLock,
    /// Workers that have nothing to do look for work for ever.
    NoSleep,
    /// A worker panics that has nothing to do.
    PanicAsleep,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 27] = [
        Fault::TwoOwners,
        Fault::SwappedPosts,
        Fault::ExtraPost,
        Fault::SilentPoison,
        Fault::LaxPoison,
        Fault::LostWake,
        Fault::LongBatch,
        Fault::LoosePin,
        Fault::WideBound,
        Fault::PlainControl,
        Fault::DeafRoom,
        Fault::DeafStop,
        Fault::RashStop,
        Fault::ClockAhead,
        Fault::DeafCancel,
        Fault::LostParting,
        Fault::KeptState,
        Fault::EarlyFree,
        Fault::KeptValue,
        Fault::DeafWaker,
        Fault::LiesOn,
        Fault::LateUnlock,
        Fault::LostStop,
        Fault::LateStop,
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
            Fault::SilentPoison | Fault::LaxPoison | Fault::LostParting | Fault::RashStop => "loss",
            Fault::LostWake => "sleep",
            Fault::LongBatch => "fair",
            Fault::LoosePin => "pinned",
            Fault::WideBound | Fault::PlainControl => "bounded",
            Fault::DeafRoom => "room",
            Fault::DeafStop => "stops",
            Fault::ClockAhead | Fault::DeafCancel => "timers",
            Fault::KeptState | Fault::EarlyFree | Fault::KeptValue => "freed",
            Fault::DeafWaker => "woken",
            Fault::LiesOn | Fault::LateUnlock => "unlocked",
            Fault::LostStop | Fault::LateStop => "ends",
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
            Fault::LateUnlock => Some(MachineFault::UnlocksLate { one_in: 3 }),
            Fault::KeptLock => Some(MachineFault::KeepsLocks { after: 20 }),
            Fault::NoSleep => Some(MachineFault::NeverSleeps),
            Fault::PanicAsleep => Some(MachineFault::PanicsAsleep { one_in: 5 }),
            _ => None,
        }
    }

    /// What it does to the machine while the runtime ends.
    pub(super) const fn of_ending_machine(self) -> Option<MachineFault> {
        match self {
            Fault::LostStop => Some(MachineFault::LosesWakes { one_in: 1 }),
            _ => None,
        }
    }
}
