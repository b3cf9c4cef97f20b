//! Models of what a watch notes: readiness beside its event beside the end.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::*;
use crate::machine::sync::{AtomicBool, AtomicUsize};
use crate::outside::reactor::bits::ReadyBits;

/// A watch whose events are run one at a time by whoever calls `run`, as those of a color
/// are.
struct Source {
    bits: ReadyBits,
    posted: Mutex<usize>,
    seen: Mutex<u32>,
}

impl Source {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            bits: ReadyBits::new(),
            posted: Mutex::new(0),
            seen: Mutex::new(0),
        })
    }

    fn ready(&self, flags: u32) {
        if self.bits.add(flags) {
            *lock(&self.posted) += 1;
        }
    }

    /// Runs an event, if one was posted. What it tells of.
    fn run(&self) -> Option<u32> {
        let mut posted = lock(&self.posted);
        *posted = posted.checked_sub(1)?;
        drop(posted);
        let flags = self.bits.take()?;
        *lock(&self.seen) |= flags;
        Some(flags)
    }
}

/// Two reactors tell of readiness, as while a watch moves from one to the other, and its
/// event runs beside: nothing is lost, and what comes before it is told of is seen.
#[test]
fn loom_readiness_is_not_lost() {
    loom::model(|| {
        let source = Source::new();
        let bytes = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let reactors: Vec<_> = [0, 1]
            .map(|n| {
                let (source, bytes) = (Arc::clone(&source), Arc::clone(&bytes[n]));
                thread::spawn(move || {
                    // Relaxed: the bits order it.
                    bytes.store(1, Relaxed);
                    source.ready(1 << n);
                })
            })
            .into();
        let run_and_look = |source: &Source| {
            let flags = source.run().unwrap_or(0);
            for n in 0..2 {
                // Relaxed: as above.
                let told = flags & 1 << n != 0;
                assert!(!told || bytes[n].load(Relaxed) == 1, "told of too early");
            }
        };
        run_and_look(&source);
        for reactor in reactors {
            reactor.join().unwrap();
        }
        while *lock(&source.posted) > 0 {
            run_and_look(&source);
        }
        assert_eq!(*lock(&source.seen), 3);
    });
}

/// No event that begins after the end of the watch tells of anything, and none is posted.
#[test]
fn loom_nothing_is_told_after_the_end() {
    loom::model(|| {
        let (source, ended) = (Source::new(), Arc::new(AtomicBool::new(false)));
        let reactor = {
            let source = Arc::clone(&source);
            thread::spawn(move || [1, 2].map(|flags| source.ready(flags)))
        };
        let worker = {
            let (source, ended) = (Arc::clone(&source), Arc::clone(&ended));
            thread::spawn(move || {
                for _ in 0..2 {
                    let too_late = ended.load(Acquire);
                    let told = source.run();
                    assert!(!too_late || told.is_none(), "told of {told:?}");
                }
            })
        };
        source.bits.end();
        ended.store(true, Release);
        let posted = *lock(&source.posted);
        worker.join().unwrap();
        reactor.join().unwrap();
        let later = lock(&source.posted).saturating_sub(posted);
        source.ready(4);
        assert!(
            later <= 1,
            "what was seen before the end may still be posted"
        );
        while *lock(&source.posted) > 0 {
            assert_eq!(source.run(), None);
        }
    });
}
