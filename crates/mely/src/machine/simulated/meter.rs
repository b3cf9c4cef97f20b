//! The time of the core that runs, and what things take on its machine: where each
//! probe finds it without asking anybody.
//!
//! A simulated event is some thirty probes. So what each of them needs is plain cells
//! of the thread; the simulator is asked when a core's time has passed its limit, and
//! of everything else ([`Hooks`](super::Hooks)).

use std::cell::{Cell, RefCell};

use super::hooks;
use super::tariff::{LineMemory, MemoryTariff, Tariff, Work};
use crate::machine::region::Access;

/// The bytes of a cache line, on every machine of the papers and nearly all of today.
pub const LINE_BYTES: u64 = 64;

/// What becomes of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// No core runs: nothing takes time.
    Off,
    /// It takes what every line takes.
    Flat,
    /// The memory is asked.
    Lines,
    /// The machine is told.
    Told,
}

struct Meter {
    mode: Cell<Mode>,
    /// What it is while a core runs.
    mode_on_core: Cell<Mode>,
    now: Cell<u64>,
    limit: Cell<u64>,
    cpu: Cell<usize>,
    flat: [Cell<u64>; 3],
    work: [Cell<u64>; Work::KINDS],
    /// A turn has begun on the core that runs since somebody asked.
    turns: Cell<bool>,
    clock: Cell<u64>,
    /// The cores whose workers have lain down, by CPU.
    lying: Cell<u64>,
}

thread_local! {
    // Nothing in it is dropped: so it is there without a look whether it is.
    static METER: Meter = const {
        Meter {
            mode: Cell::new(Mode::Off),
            mode_on_core: Cell::new(Mode::Off),
            now: Cell::new(0),
            limit: Cell::new(0),
            cpu: Cell::new(0),
            flat: [const { Cell::new(0) }; 3],
            work: [const { Cell::new(0) }; Work::KINDS],
            turns: Cell::new(false),
            clock: Cell::new(0),
            lying: Cell::new(0),
        }
    };
    static MEMORY: RefCell<Option<Box<dyn LineMemory>>> = const { RefCell::new(None) };
}

/// Sets the machine of this thread, whose time begins.
pub(super) fn begin(tariff: Tariff) {
    let (flat, memory) = match tariff.memory {
        MemoryTariff::Flat(flat) => (flat, None),
        MemoryTariff::Lines(memory) => ([0; 3], Some(memory)),
    };
    METER.with(|meter| {
        let pairs = meter.flat.iter().zip(flat);
        let pairs = pairs.chain(meter.work.iter().zip(tariff.work));
        pairs.for_each(|(cell, cycles)| cell.set(cycles));
        meter.clock.set(tariff.clock);
        meter.mode.set(Mode::Off);
        meter.mode_on_core.set(match (tariff.told, &memory) {
            (true, _) => Mode::Told,
            (false, None) => Mode::Flat,
            (false, Some(_)) => Mode::Lines,
        });
        meter.now.set(0);
        meter.limit.set(0);
        meter.lying.set(0);
    });
    MEMORY.with(|place| *place.borrow_mut() = memory);
}

/// This thread has no machine any more.
pub(super) fn end() {
    METER.with(|meter| {
        meter.mode.set(Mode::Off);
        meter.now.set(0);
    });
    // The thread may be ending.
    let memory = MEMORY.try_with(|place| place.try_borrow_mut().ok().and_then(|mut m| m.take()));
    drop(memory);
}

/// The time of what runs, in cycles.
#[inline]
#[must_use]
pub fn now() -> u64 {
    METER.with(|meter| meter.now.get())
}

/// Sets it.
#[inline]
pub fn set_now(now: u64) {
    METER.with(|meter| meter.now.set(now));
}

/// After this time the core that runs lets another one go on.
#[inline]
#[must_use]
pub fn limit() -> u64 {
    METER.with(|meter| meter.limit.get())
}

/// Sets it.
#[inline]
pub fn set_limit(limit: u64) {
    METER.with(|meter| meter.limit.set(limit));
}

/// Whether a turn has begun since this was last asked.
#[inline]
pub fn take_turns() -> bool {
    METER.with(|meter| meter.turns.replace(false))
}

/// The core of a CPU runs from now on; or none, outside.
#[inline]
pub fn run_on(cpu: Option<usize>) {
    METER.with(|meter| match cpu {
        Some(cpu) => {
            meter.cpu.set(cpu);
            meter.mode.set(meter.mode_on_core.get());
        }
        None => meter.mode.set(Mode::Off),
    });
}

/// The CPU of the core that runs, or ran last.
#[inline]
#[must_use]
pub fn cpu() -> usize {
    METER.with(|meter| meter.cpu.get())
}

/// The CPU of the core that runs; `None` outside of all cores.
#[inline]
#[must_use]
pub fn core() -> Option<usize> {
    METER.with(|meter| (meter.mode.get() != Mode::Off).then(|| meter.cpu.get()))
}

/// The worker of the core that runs lies down, or has got up. Of the first 64 CPUs only.
pub(crate) fn lie_down(lies: bool) {
    METER.with(|meter| {
        let core = 1_u64.checked_shl(meter.cpu.get() as u32).unwrap_or(0);
        let others = meter.lying.get() & !core;
        meter.lying.set(others | if lies { core } else { 0 });
    });
}

/// Whether the worker of the core that runs lies: it has looked for work the last time.
#[must_use]
pub fn lies() -> bool {
    let lying = METER.with(|meter| meter.lying.get());
    core().is_some_and(|cpu| lying.checked_shr(cpu as u32).unwrap_or(0) & 1 == 1)
}

/// Cycles pass on the core that runs, and another one may go on.
#[inline]
pub fn pass(cycles: u64) {
    METER.with(|meter| meter.pass(cycles));
}

/// Touches memory on the core that runs. Returns the cycles that it takes, and a number
/// for it that does not depend on addresses.
#[inline]
#[must_use]
pub fn charge(at: (u64, usize), how: Access) -> (u64, u64) {
    METER.with(|meter| {
        let by_lines = with_memory(|memory| memory.access(meter.cpu.get(), at, how, now()));
        by_lines.unwrap_or_else(|| meter.flat(at, how))
    })
}

/// What the lines of a machine are; `None` if all are alike.
#[inline]
fn with_memory<R>(work: impl FnOnce(&mut dyn LineMemory) -> R) -> Option<R> {
    // A thread that is ending has none.
    let done = MEMORY.try_with(|memory| memory.borrow_mut().as_mut().map(|m| work(&mut **m)));
    done.ok().flatten()
}

impl Meter {
    #[inline(always)]
    fn pass(&self, cycles: u64) {
        let now = self.now.get() + cycles;
        self.now.set(now);
        if now > self.limit.get() {
            give_way();
        }
    }

    /// What touching memory takes where all lines are alike; and how many lines more
    /// than one.
    #[inline(always)]
    fn flat(&self, (address, bytes): (u64, usize), how: Access) -> (u64, u64) {
        if bytes == 0 {
            return (0, 0);
        }
        let last = (address + bytes as u64 - 1) / LINE_BYTES;
        let more = last - address / LINE_BYTES;
        (self.flat[how as usize].get() * (more + 1), more)
    }
}

/// An access that the memory must be asked of.
#[inline(never)]
fn touch_lines(at: (u64, usize), how: Access) {
    METER.with(|meter| {
        let (cpu, now) = (meter.cpu.get(), meter.now.get());
        let charged = with_memory(|memory| memory.access(cpu, at, how, now));
        meter.pass(charged.map_or(0, |(cycles, _)| cycles));
    });
}

/// An access that the machine must be told of.
#[inline(never)]
fn touch_told((address, bytes): (u64, usize), how: Access) {
    hooks::tell(|hooks| hooks.access(address, bytes, how));
}

#[cold]
#[inline(never)]
fn give_way() {
    hooks::tell(|hooks| hooks.give_way());
}

/// What runs touches memory.
#[inline(always)]
pub(crate) fn touch(at: (u64, usize), how: Access) {
    METER.with(|meter| match meter.mode.get() {
        Mode::Off => {}
        Mode::Flat => meter.pass(meter.flat(at, how).0),
        Mode::Lines => touch_lines(at, how),
        Mode::Told => touch_told(at, how),
    });
}

/// It asks for a line ahead.
#[inline(always)]
pub(crate) fn prefetch(address: u64, how: Access) {
    METER.with(|meter| {
        if !matches!(meter.mode.get(), Mode::Off | Mode::Flat) {
            prefetch_line(meter.cpu.get(), address, how);
        }
    });
}

#[inline(never)]
fn prefetch_line(cpu: usize, address: u64, how: Access) {
    with_memory(|memory| memory.prefetch(cpu, address, how, now()));
}

/// The allocator made this memory.
pub(crate) fn born(address: u64, bytes: usize) {
    with_memory(|memory| memory.born(address, bytes));
}

/// The scheduler works.
#[inline(always)]
pub fn work(work: Work, times: u64) {
    METER.with(|meter| {
        if meter.mode.get() != Mode::Off {
            if work == Work::Turn {
                meter.turns.set(true);
            }
            let cycles = meter.work[work as usize].get() * times;
            meter.now.set(meter.now.get() + cycles);
        }
    });
}

/// Reads the cycle counter.
#[inline]
pub(crate) fn cycles() -> u64 {
    METER.with(|meter| {
        if meter.mode.get() != Mode::Off {
            meter.now.set(meter.now.get() + meter.clock.get());
        }
        meter.now.get()
    })
}
