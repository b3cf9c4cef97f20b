//! Counters of Linux: `perf_event_open`.

use core::cell::RefCell;
use std::io;
use std::time::Duration;

use perf_event::Builder;
use perf_event::events::{Hardware, Raw, Software};
use rustix::io::Errno;

use super::{Reading, Source};

/// Who may open counters, as the kernel was told.
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// A counter of the thread that opened it, in user space only: so no privilege is needed where
/// `kernel.perf_event_paranoid` is 2, as it is on most machines.
#[derive(Debug)]
pub(crate) struct Counter(RefCell<perf_event::Counter>);

impl Counter {
    /// Opens a counter of this thread, and starts it.
    ///
    /// # Errors
    ///
    /// Why it cannot be, for people.
    pub(crate) fn open(source: Source) -> Result<Self, String> {
        let open = || -> io::Result<perf_event::Counter> {
            let mut counter = match source {
                Source::L2CacheMisses(event) => Builder::new(Raw::new(event)).build(),
                Source::CacheMisses => Builder::new(Hardware::CACHE_MISSES).build(),
                Source::PageFaults => Builder::new(Software::PAGE_FAULTS).build(),
            }?;
            counter.enable()?;
            Ok(counter)
        };
        let counter = open().map_err(|error| refused(source, &error))?;
        Ok(Self(RefCell::new(counter)))
    }

    /// What it has counted; `None` if the system does not tell.
    pub(crate) fn read(&self) -> Option<Reading> {
        let read = self.0.borrow_mut().read_full().ok()?;
        let ns = |time: Option<Duration>| {
            time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
        };
        Some(Reading {
            count: read.count(),
            enabled_ns: ns(read.time_enabled()),
            running_ns: ns(read.time_running()),
        })
    }
}

/// Why it cannot be opened, for people.
fn refused(source: Source, error: &io::Error) -> String {
    format!("{} cannot be opened: {error}{}", source.name(), hint(error))
}

/// What an error means here.
fn hint(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::OPNOTSUPP | Errno::NODEV) => {
            " (this machine has none, as many virtual machines)".to_owned()
        }
        Some(Errno::ACCESS | Errno::PERM | Errno::NOSYS) => {
            match std::fs::read_to_string(PARANOID) {
                Ok(level) => format!(
                    " (kernel.perf_event_paranoid is {}; it is refused above 2, and by filters of \
                     system calls, as many containers have them)",
                    level.trim()
                ),
                Err(_) => " (the kernel may be built without)".to_owned(),
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_faults_of_this_thread_are_counted() {
        let counter = Counter::open(Source::PageFaults).expect("the kernel counts them");
        let fresh = || {
            let mut memory = vec![0_u8; 8 << 20];
            memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
            std::hint::black_box(memory);
        };
        let begin = counter.read().expect("it is told");
        fresh();
        let end = counter.read().expect("it is told");
        // Huge pages take few faults.
        assert!(end.since(&begin) >= Some(4), "{begin:?}, {end:?}");
        std::thread::spawn(fresh).join().expect("no panic");
        let others = counter.read().expect("it is told").since(&end);
        assert!(others < Some(1_000), "those of another: {others:?}");
    }

    #[test]
    fn a_refusal_names_what_to_look_at() {
        let told = |errno: Errno| refused(Source::CacheMisses, &errno.into());
        assert!(told(Errno::NOENT).contains("virtual machines"));
        assert!(told(Errno::MFILE).contains("open files"));
        assert!(told(Errno::NOSYS).contains('('));
        let told = told(Errno::ACCESS);
        assert!(told.starts_with("cache_misses cannot be opened"), "{told}");
    }
}
