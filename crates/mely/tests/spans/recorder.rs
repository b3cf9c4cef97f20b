//! A subscriber of `tracing` that knows which spans there are, and does what a program's might.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// What the subscriber does where it is told of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Cloned,
    Entered,
    Left,
    Dropped,
}

struct Known {
    metadata: &'static Metadata<'static>,
    references: usize,
}

static KNOWN: Mutex<Option<HashMap<u64, Known>>> = Mutex::new(None);

/// A function of the test's, called whenever a span of this name is told of.
type Hook = (&'static str, fn(Told));
static HOOKS: Mutex<Vec<Hook>> = Mutex::new(Vec::new());

thread_local! {
    static STACK: RefCell<Vec<Id>> = const { RefCell::new(Vec::new()) };
    /// A hook that does what it is told of is not told.
    static IN_HOOK: Cell<bool> = const { Cell::new(false) };
}

fn known() -> MutexGuard<'static, Option<HashMap<u64, Known>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name_of(id: &Id) -> Option<&'static str> {
    let known = known();
    known
        .as_ref()
        .and_then(|known| known.get(&id.into_u64()))
        .map(|span| span.metadata.name())
}

fn tell(id: &Id, told: Told) {
    let Some(name) = name_of(id) else { return };
    let hooks = HOOKS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for (of, hook) in hooks {
        if of == name && !IN_HOOK.replace(true) {
            struct Leave;
            impl Drop for Leave {
                fn drop(&mut self) {
                    IN_HOOK.set(false);
                }
            }
            let _leave = Leave;
            hook(told);
        }
    }
}

struct Recorder;

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut known = known();
        let known = known.get_or_insert_with(HashMap::new);
        let id = known.keys().max().copied().unwrap_or(0) + 1;
        let metadata = span.metadata();
        known.insert(
            id,
            Known {
                metadata,
                references: 1,
            },
        );
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        tell(id, Told::Entered);
        STACK.with_borrow_mut(|stack| stack.push(id.clone()));
    }

    fn exit(&self, id: &Id) {
        STACK.with_borrow_mut(|stack| {
            let last = stack.iter().rposition(|entered| entered == id);
            stack.remove(last.expect("it was entered"));
        });
        tell(id, Told::Left);
    }

    fn clone_span(&self, id: &Id) -> Id {
        tell(id, Told::Cloned);
        if let Some(span) = known().as_mut().and_then(|k| k.get_mut(&id.into_u64())) {
            span.references += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        tell(&id, Told::Dropped);
        let mut known = known();
        let Some(known) = known.as_mut() else {
            return false;
        };
        let span = known.get_mut(&id.into_u64()).expect("it is open");
        span.references -= 1;
        let is_over = span.references == 0;
        if is_over {
            known.remove(&id.into_u64());
        }
        is_over
    }

    fn current_span(&self) -> Current {
        STACK.with_borrow(|stack| {
            let found = stack.last().and_then(|id| {
                let known = known();
                let span = known.as_ref()?.get(&id.into_u64())?;
                Some(Current::new(id.clone(), span.metadata))
            });
            found.unwrap_or_else(Current::none)
        })
    }
}

/// Makes the recorder the subscriber of this process.
pub(crate) fn start() {
    static START: Once = Once::new();
    START.call_once(|| {
        tracing::subscriber::set_global_default(Recorder).expect("there is no other");
    });
}

/// Calls `hook` for all spans of this name from now on.
pub(crate) fn hook(name: &'static str, hook: fn(Told)) {
    HOOKS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push((name, hook));
}

/// The name of the span that this thread is in.
pub(crate) fn here() -> Option<&'static str> {
    tracing::Span::current().metadata().map(Metadata::name)
}

/// How many spans of this name are open.
pub(crate) fn open(name: &str) -> usize {
    let known = known();
    let spans = known.iter().flat_map(HashMap::values);
    spans.filter(|span| span.metadata.name() == name).count()
}
