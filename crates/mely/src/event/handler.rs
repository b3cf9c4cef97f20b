//! Handlers: what the events of a kind have in common.

use core::any::type_name;
use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A static descriptor of a kind of event: its name in the metrics, and what the
/// programmer knows of its cost.
///
/// Everything but the name is optional: what is not given is learned while
/// running. Events that are posted without a handler get one by the type of their
/// closure, so that costs are learned and counted for each closure of a program.
///
/// The annotations are those of the paper (seed 000, sections III-B and III-C).
///
/// ```
/// use mely::{Handler, Runtime};
/// static DEPOSIT: Handler = Handler::new("Deposit").cost_cycles(2_000);
///
/// let rt = Runtime::builder().workers(1).build()?;
/// let account = rt.colored(0u64);
/// account.with_handler(&DEPOSIT).post(|balance, _cx| *balance += 5)?;
/// assert_eq!(account.blocking_with(|balance| *balance), 5);
/// assert_eq!(rt.metrics().handler("Deposit").map(|h| h.events), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Handler {
    name: &'static str,
    cost_cycles: Option<u32>,
    penalty: Option<u32>,
    /// The name, where it is that of a type: of what the runtime wraps in a closure.
    type_name: Option<fn() -> &'static str>,
}

impl Handler {
    /// A handler with a name, and everything else to be learned.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            cost_cycles: None,
            penalty: None,
            type_name: None,
        }
    }

    /// Annotates the mean time that an event takes, in cycles.
    #[must_use]
    pub const fn cost_cycles(mut self, cycles: u32) -> Self {
        self.cost_cycles = Some(cycles);
        self
    }

    /// Annotates the stealing penalty: the cost of an event counts divided by this
    /// when a thief weighs the color. High for handlers that touch a large,
    /// long-lived data set. 0 and 1 are no penalty, and none is learned then.
    #[must_use]
    pub const fn penalty(mut self, penalty: u32) -> Self {
        self.penalty = Some(penalty);
        self
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// The handler of events that the runtime posts for something of the program's, known by
/// its type: the closure of a call, the future of a task.
pub(crate) struct HandlerOf<F>(PhantomData<F>);

impl<F> HandlerOf<F> {
    pub(crate) const HANDLER: &'static Handler = &Handler {
        type_name: Some(type_name::<F>),
        ..Handler::new("(unnamed)")
    };
}

/// How many handlers a process can tell apart; the events of any more count as
/// those of the handler `(other)`. 1024 tables of 64 bytes are 64 KiB a worker.
pub const HANDLERS_MAX: usize = if cfg!(loom) {
    16
} else if cfg!(miri) {
    // Each worker has tables of them, which are slow to interpret.
    128
} else {
    1024
};

/// The bits of a handler's number that its place in tables does not need.
const POSTER_SHIFT: u32 = HANDLERS_MAX.trailing_zeros();
const _: () = assert!(HANDLERS_MAX.is_power_of_two());

/// The number of a handler, the same in all runtimes of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandlerId(u32);

impl HandlerId {
    /// Not looked up yet.
    pub(crate) const UNRESOLVED: HandlerId = HandlerId(0);
    const OTHER: HandlerId = HandlerId(1);

    /// Its place in the tables of handlers.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize % HANDLERS_MAX
    }

    /// The same handler, for an event that this source has posted: an event is one
    /// cache line, and has no other room for that.
    pub(crate) fn noting_poster(self, source: u16) -> Self {
        let poster = (u32::from(source) + 1) << POSTER_SHIFT;
        Self(self.index() as u32 | poster)
    }

    /// The source that posted the event, where that was noted.
    pub(crate) fn posted_by(self) -> Option<u16> {
        u16::try_from((self.0 >> POSTER_SHIFT).checked_sub(1)?).ok()
    }
}

/// Which handler an event is of, and what it adds to the time left of its color.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    pub(crate) id: HandlerId,
    pub(crate) time_left_cycles: u32,
}

impl Weight {
    /// Of an event whose handler has not been looked up yet.
    pub(crate) const UNKNOWN: Weight = Weight {
        id: HandlerId::UNRESOLVED,
        time_left_cycles: 1,
    };
}

/// What a handler is known by: the address of its descriptor, or of the code of a
/// closure that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HandlerKey(pub(crate) usize);

/// What the events of a kind have in common, before it is looked up.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    handler: Option<&'static Handler>,
    name: fn() -> &'static str,
}

impl Kind {
    /// That of a closure type, posted as an event of `handler` or of none.
    #[inline]
    pub(crate) fn of<F>(handler: Option<&'static Handler>) -> Self {
        let name = core::any::type_name::<F>;
        Self { handler, name }
    }

    /// What the handler is known by.
    #[inline]
    pub(crate) fn key(self) -> HandlerKey {
        match self.handler {
            Some(handler) => HandlerKey(core::ptr::from_ref(handler) as usize),
            None => HandlerKey(self.name as usize),
        }
    }

    /// The descriptor, or one made from the type of the closure.
    pub(crate) fn info(self) -> HandlerInfo {
        match self.handler {
            Some(handler) => handler.into(),
            None => HandlerInfo::closure((self.name)()),
        }
    }
}

/// What the process knows of a handler before running it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlerInfo {
    pub(crate) name: &'static str,
    pub(crate) cost_cycles: Option<u32>,
    pub(crate) penalty: Option<u32>,
}

impl HandlerInfo {
    pub(crate) fn closure(name: &'static str) -> Self {
        Self {
            name,
            cost_cycles: None,
            penalty: None,
        }
    }
}

impl From<&Handler> for HandlerInfo {
    fn from(handler: &Handler) -> Self {
        Self {
            name: handler.type_name.map_or(handler.name, |name| name()),
            cost_cycles: handler.cost_cycles,
            penalty: handler.penalty,
        }
    }
}

#[derive(Default)]
struct Registry {
    ids: HashMap<HandlerKey, HandlerId>,
    infos: Vec<HandlerInfo>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

fn with_registry<R>(work: impl FnOnce(&mut Registry) -> R) -> R {
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    let registry = registry.get_or_insert_with(|| Registry {
        ids: HashMap::new(),
        infos: ["(unresolved)", "(other)"]
            .map(HandlerInfo::closure)
            .to_vec(),
    });
    work(registry)
}

/// The number of a handler, given one at its first use.
pub(crate) fn resolve(key: HandlerKey, info: HandlerInfo) -> (HandlerId, HandlerInfo) {
    with_registry(|registry| {
        if let Some(&id) = registry.ids.get(&key) {
            return (id, registry.infos[id.index()]);
        }
        let id = match u32::try_from(registry.infos.len()) {
            Ok(next) if registry.infos.len() < HANDLERS_MAX => {
                registry.infos.push(info);
                HandlerId(next)
            }
            _ => HandlerId::OTHER,
        };
        registry.ids.insert(key, id);
        (id, registry.infos[id.index()])
    })
}

/// What is known of all handlers so far, by number.
pub(crate) fn infos() -> Vec<HandlerInfo> {
    with_registry(|registry| registry.infos.clone())
}

/// The names of those from a number on.
pub(crate) fn names_from(first: usize) -> Vec<&'static str> {
    with_registry(|registry| {
        let new = registry.infos.iter().skip(first);
        new.map(|info| info.name).collect()
    })
}

/// Their names, by number.
pub(crate) fn names() -> Vec<&'static str> {
    infos().into_iter().map(|info| info.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_keeps_its_number() {
        static A: Handler = Handler::new("tests::A").penalty(7);
        let key = HandlerKey(&raw const A as usize);
        let (first, info) = resolve(key, (&A).into());
        assert_eq!(resolve(key, (&A).into()).0, first);
        assert_eq!((info.name, info.penalty), ("tests::A", Some(7)));
        assert_eq!(names()[first.index()], "tests::A");
        assert_eq!(names_from(first.index())[0], "tests::A");
    }

    #[test]
    fn a_poster_does_not_change_the_handler() {
        let id = HandlerId(HANDLERS_MAX as u32 - 1);
        assert_eq!(id.posted_by(), None);
        for source in [0, 1, 4096, u16::MAX] {
            let noted = id.noting_poster(7).noting_poster(source);
            assert_eq!(
                (noted.index(), noted.posted_by()),
                (id.index(), Some(source))
            );
        }
    }
}
