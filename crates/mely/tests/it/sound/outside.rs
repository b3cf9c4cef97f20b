//! What the program brings to the edge of a runtime: descriptors, callbacks, files and
//! thread-local values that do something unexpected.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream as Plain;
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mely::net::{UnixStream, Watch};
use mely::{Handler, ReactorKind, Runtime};

use crate::support::{Gate, OpenOnDrop, WAIT, bounded, eventually, runtime, silent_panic};

static READY: Handler = Handler::new("sound::Ready");
static STUCK: Handler = Handler::new("sound::Stuck");

#[test]
fn every_descriptor_is_told_to_a_single_reactor_with_little_room() {
    bounded("descriptors", || {
        let builder = Runtime::builder()
            .workers(2)
            .reactor(ReactorKind::Single)
            .color_capacity(1);
        let rt = builder.build().expect("a runtime");
        let seen = Arc::new(AtomicU32::new(0));
        let mut kept = Vec::new();
        for _ in 0..50 {
            let (ours, mut theirs) = Plain::pair().expect("a pair");
            let mut stream = UnixStream::new(ours).expect("non-blocking");
            let color = rt.color_options().capacity(64).new_color().expect("room");
            let sees = Arc::clone(&seen);
            let watched = stream.watch(&color, &READY, move |(), _, _| {
                sees.fetch_add(1, SeqCst);
            });
            watched.expect("a watch");
            theirs.write_all(b"x").expect("room for it");
            kept.push((stream, theirs));
        }
        eventually("each is ready", || seen.load(SeqCst) >= 50);
    });
}

/// A descriptor that ends its own watch when it is asked which it is.
struct EndsItsWatch {
    stream: Plain,
    watch: Mutex<Option<Watch>>,
}

impl AsFd for EndsItsWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let watch = self.watch.lock().expect("no panic").take();
        drop(watch);
        self.stream.as_fd()
    }
}

#[test]
fn a_descriptor_may_end_its_watch_while_it_follows_its_color() {
    bounded("a descriptor that follows", || {
        let rt = runtime(2);
        let (ours, mut theirs) = Plain::pair().expect("a pair");
        ours.set_nonblocking(true).expect("non-blocking");
        let color = rt
            .color_options()
            .start_on(0)
            .new_color()
            .expect("a worker");
        let fd = Arc::new(EndsItsWatch {
            stream: ours,
            watch: Mutex::new(None),
        });
        let seen = Arc::new(AtomicU32::new(0));
        let sees = Arc::clone(&seen);
        let on_ready = move |(): &mut (), _: &mut mely::Context<'_, ()>, _| {
            sees.fetch_add(1, SeqCst);
        };
        let watch = Watch::new(Arc::clone(&fd) as _, &color, &READY, on_ready);
        *fd.watch.lock().expect("no panic") = Some(watch.expect("a watch"));
        let (goes_on, began) = (Gate::default(), Gate::default());
        let (waits, begins) = (goes_on.clone(), began.clone());
        let open = OpenOnDrop(goes_on);
        let pinned = rt.color_options().pin_to(0).new_color().expect("a worker");
        pinned.post_or_shed(move |(), _| {
            begins.arrive();
            assert!(waits.wait_for(1, 2 * WAIT), "the test lets it go on");
        });
        began.pass("the first worker is held");
        // So the other worker runs it, until the descriptor follows and the watch has ended.
        let mut rounds = 0;
        while fd.watch.lock().expect("no panic").is_some() && rounds < 1_000 {
            let before = seen.load(SeqCst);
            theirs.write_all(b"x").expect("room for it");
            eventually("it is ready, or ends", || {
                seen.load(SeqCst) > before || fd.watch.lock().expect("no panic").is_none()
            });
            let _ = (&fd.stream).read(&mut [0; 8]);
            rounds += 1;
        }
        assert!(rounds < 1_000, "the descriptor has not followed its color");
        drop(open);
        rt.wait_idle();
    });
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        silent_panic();
    }
}

#[test]
fn a_handler_that_ends_its_watch_and_panics_does_not_end_the_process() {
    bounded("a watch that ends", || {
        let rt = runtime(1);
        let (ours, mut theirs) = Plain::pair().expect("a pair");
        let mut stream = UnixStream::new(ours).expect("non-blocking");
        let color = rt.colored(None::<UnixStream>);
        let owned = PanicsWhenDropped;
        let watched = stream.watch(&color, &READY, move |slot, _, _| {
            let _owned = &owned;
            if slot.take().is_some() {
                silent_panic();
            }
        });
        watched.expect("a watch");
        color.blocking_with(move |slot| *slot = Some(stream));
        // It was writable at once, and may have ended already.
        let _ = theirs.write_all(b"x");
        eventually("it has panicked", || rt.metrics().workers[0].panics > 0);
        assert_eq!(rt.new_color().try_blocking_with(|()| 1), Ok(1));
    });
}

#[test]
fn a_trace_that_nobody_reads_does_not_hold_up_a_shutdown() {
    bounded("a trace that cannot be written", || {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.fifo");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo is there").success());
        // Reads the header, and no more than that.
        let (to_read, ended) = (path.clone(), Gate::default());
        let (ends, open) = (ended.clone(), OpenOnDrop(ended));
        let reader = std::thread::spawn(move || {
            let file = std::fs::File::open(to_read).expect("the writer opens it");
            assert!(ends.wait_for(1, 2 * WAIT), "the test lets it go on");
            drop(file);
        });
        let rt = Runtime::builder().workers(1).trace(&path).build();
        let rt = rt.expect("a runtime");
        let color = rt.new_color();
        for _ in 0..20_000 {
            color.post_or_shed(|(), _| ());
        }
        rt.wait_idle();
        let report = rt.shutdown(Duration::from_millis(50)).expect("all is run");
        let trace = report.trace.expect("it records");
        let error = trace.error.expect("it could not be written");
        assert!(error.contains("deadline"), "{error}");
        drop(open);
        reader.join().expect("it ends");
    });
}

/// Is dropped with its thread, and then waits.
struct Waits(Gate);

impl Drop for Waits {
    fn drop(&mut self) {
        assert!(self.0.wait_for(1, 2 * WAIT), "the test lets it go on");
    }
}

thread_local! {
    static KEPT: RefCell<Option<Waits>> = const { RefCell::new(None) };
}

#[test]
fn what_a_handler_keeps_with_its_thread_does_not_hold_up_a_shutdown() {
    bounded("a thread-local value", || {
        let rt = runtime(2);
        let goes_on = Gate::default();
        let (waits, open) = (goes_on.clone(), OpenOnDrop(goes_on));
        let pinned = rt.color_options().pin_to(1).new_color().expect("a worker");
        let kept = pinned.call(move |(), _| KEPT.replace(Some(Waits(waits))));
        assert!(kept.wait().expect("it runs").is_none());
        let ended = rt.shutdown(Duration::from_millis(20));
        let held = ended.expect_err("the thread is still there").report.held;
        assert!(matches!(held[..], [(1, _)]), "{held:?}");
        drop(open);
    });
}

#[test]
fn cancelled_timers_take_no_room() {
    for most in [10, 1_000] {
        let builder = Runtime::builder().workers(1).timers_max(most);
        let rt = builder.build().expect("a runtime");
        let color = rt.new_color();
        let late = Duration::from_secs(3_600);
        for _ in 0..3 {
            let set: Vec<_> = (0..most)
                .map(|_| color.post_after(late, |(), _| ()))
                .collect();
            assert!(set.iter().all(mely::Timer::is_pending), "{most} at a time");
            assert!(!color.post_after(late, |(), _| ()).is_pending(), "one more");
            assert!(set.iter().all(mely::Timer::cancel));
        }
    }
}

static REPORTS: StaticGates = StaticGates::new();

/// A gate that a plain function can name.
struct StaticGates(Mutex<Option<(Gate, Gate)>>);

impl StaticGates {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn get(&self) -> (Gate, Gate) {
        let gates = &mut *self.0.lock().expect("no panic");
        gates.get_or_insert_default().clone()
    }
}

#[test]
fn timers_fire_while_a_report_of_a_stall_takes_its_time() {
    bounded("a report of a stall", || {
        let builder = Runtime::builder()
            .workers(2)
            .warn_after(Duration::from_millis(1));
        let rt = builder.on_stall(|_| {
            let (began, goes_on) = REPORTS.get();
            began.arrive();
            assert!(goes_on.wait_for(1, 2 * WAIT), "the test lets it go on");
        });
        let rt = rt.build().expect("a runtime");
        let (reported, goes_on) = REPORTS.get();
        let (waits, open) = (goes_on.clone(), OpenOnDrop(goes_on));
        let pinned = rt.color_options().pin_to(0).new_color().expect("a worker");
        pinned.with_handler(&STUCK).post_or_shed(move |(), _| {
            assert!(waits.wait_for(1, 2 * WAIT), "the test lets it go on");
        });
        reported.pass("the handler is reported");
        let color = rt
            .color_options()
            .start_on(0)
            .new_color()
            .expect("a worker");
        let fired = Gate::default();
        let fires = fired.clone();
        color.post_after(Duration::from_millis(1), move |(), _| fires.arrive());
        fired.pass("the timer fires");
        drop(open);
    });
}
