//! Shutdowns that give up, runtimes that fail to start, and what refers to itself.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use mely::{CallError, Colored, Handler, OnPanic, Runtime, net::UnixStream};

use crate::support::{Gate, OpenOnDrop, alone, bounded, child, eventually, runtime, silent_panic};

struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn nothing_is_taken_from_a_handler_that_does_not_return() {
    bounded("a handler that is held", || {
        let rt = runtime(1);
        let (from, drops) = (rt.new_color(), Arc::new(AtomicU64::new(0)));
        let (began, goes_on) = (Gate::default(), Gate::default());
        let open = OpenOnDrop(goes_on.clone());
        let target = Arc::new(rt.colored(Counted(Arc::clone(&drops))));
        let small = rt.numbered_color(7).attach(Counted(Arc::clone(&drops)));
        let (there, began_there, sees) = (Arc::clone(&target), began.clone(), Arc::clone(&drops));
        // Short ones first: they let their posts wait, once.
        for _ in 0..2_000 {
            let there = Arc::clone(&target);
            from.post_or_shed(move |(), _| there.post_or_shed(|_, _| ()));
        }
        rt.wait_idle();
        from.post_or_shed(move |(), _| {
            there.post_or_shed(|_, _| ());
            drop((there, small));
            began_there.arrive();
            goes_on.pass("the test lets it go on");
            assert_eq!(sees.load(SeqCst), 0, "a state was dropped beside a handler");
        });
        began.pass("the handler runs");
        drop(target);
        let error = rt
            .shutdown(Duration::from_millis(1))
            .expect_err("it is held");
        assert_eq!(error.report.held.len(), 1, "{error}");
        assert_eq!(drops.load(SeqCst), 0);
        drop(open);
        eventually("the last worker drops both states", || {
            drops.load(SeqCst) == 2
        });
    });
}

#[test]
fn a_task_whose_poll_is_dropped_ends() {
    bounded("tasks that nobody polls", || {
        let builder = Runtime::builder().workers(1);
        let rt = builder
            .on_panic(OnPanic::PoisonColor)
            .build()
            .expect("a runtime");
        let (poisoned, held) = (rt.new_color(), rt.new_color());
        let (began, goes_on) = (Gate::default(), Gate::default());
        let (began_there, goes_on_there) = (began.clone(), goes_on.clone());
        held.post_or_shed(move |(), _| {
            began_there.arrive();
            goes_on_there.pass("the shutdown has begun");
        });
        began.pass("the worker is held");
        // It is polled once, and woken again while the color is about to be poisoned.
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let polled = Arc::clone(&waker);
        let shed = poisoned.spawn(std::future::poll_fn(move |cx| {
            *polled.lock().expect("no panic") = Some(cx.waker().clone());
            std::task::Poll::<()>::Pending
        }));
        goes_on.arrive();
        rt.wait_idle();
        let wake = waker
            .lock()
            .expect("no panic")
            .clone()
            .expect("it was polled");
        let wake_there = wake.clone();
        poisoned.post_or_shed(move |(), _| {
            wake_there.wake();
            silent_panic();
        });
        assert_eq!(shed.wait(), Err(CallError::Dropped));
        drop(wake);

        let (began, goes_on) = (Gate::default(), Gate::default());
        let open = OpenOnDrop(goes_on.clone());
        let began_there = began.clone();
        held.post_or_shed(move |(), _| {
            began_there.arrive();
            goes_on.pass("the shutdown has given up");
        });
        began.pass("the worker is held");
        let abandoned = held.spawn(async { 2 });
        rt.shutdown(Duration::ZERO).expect_err("it is held");
        drop(open);
        assert_eq!(abandoned.wait(), Err(CallError::Dropped));
        drop(waker);
    });
}

#[test]
fn a_task_that_waits_for_ever_ends_with_the_runtime() {
    bounded("a task without end", || {
        let rt = runtime(2);
        let token = Arc::new(());
        let kept = Arc::clone(&token);
        let wakers = Arc::new(Mutex::new(None));
        // The task owns what owns its waker.
        let reply = rt.new_color().spawn(std::future::poll_fn(move |cx| {
            let _kept = &kept;
            *wakers.lock().expect("no panic") = Some(cx.waker().clone());
            std::task::Poll::<()>::Pending
        }));
        rt.wait_idle();
        rt.shutdown(Duration::from_secs(5))
            .expect("nothing is pending");
        assert_eq!(reply.wait(), Err(CallError::Dropped));
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

struct Myself {
    _me: Option<Colored<Myself>>,
    _socket: Option<UnixStream>,
    _token: Arc<()>,
}

#[test]
fn a_color_in_its_own_state_ends_with_the_runtime() {
    static READY: Handler = Handler::new("sound::Ready");
    bounded("a circle", || {
        let rt = runtime(2);
        let token = Arc::new(());
        for _ in 0..100 {
            let color = rt.colored(Myself {
                _me: None,
                _socket: None,
                _token: Arc::clone(&token),
            });
            let (mut ours, _theirs) = UnixStream::pair().expect("a pair of sockets");
            ours.watch(&color, &READY, |_, _, _| ()).expect("a watch");
            let me = color.clone();
            color.post_or_shed(move |state, _| {
                state._me = Some(me);
                state._socket = Some(ours);
            });
        }
        // One that nothing but its own state refers to.
        let alone = rt.colored((None::<Colored<()>>, Arc::clone(&token)));
        alone
            .clone()
            .post_or_shed(move |(me, _), _| *me = Some(alone.color()));
        rt.shutdown(Duration::from_secs(5)).expect("all is run");
        assert_eq!(Arc::strong_count(&token), 1, "states leak");
    });
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

/// The program that [`a_runtime_whose_threads_cannot_start_leaves_nothing`] starts, with
/// stacks that no machine has room for.
#[test]
fn threads_cannot_start() {
    if std::env::var_os("RUST_MIN_STACK").is_none() {
        return;
    }
    let before = descriptors();
    for _ in 0..3 {
        let error = Runtime::builder().workers(2).build().expect_err("no stack");
        assert!(error.to_string().contains("thread"), "{error}");
    }
    assert_eq!(descriptors(), before, "descriptors leak");
}

#[test]
fn a_runtime_whose_threads_cannot_start_leaves_nothing() {
    let mut program = child("sound::endings::threads_cannot_start");
    let output = program
        .env("RUST_MIN_STACK", (1u64 << 50).to_string())
        .output();
    let output = output.expect("the test starts itself");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn two_runtimes_that_wait_for_each_other_are_told() {
    bounded("waiting in a circle", || {
        let (one, other) = (runtime(1), runtime(1));
        let (a, b) = (one.new_color(), other.new_color());
        let (both, meet) = (Gate::default(), Gate::default());
        let wait = |own: &Colored<()>, target: &Colored<()>| {
            let (both, meet, target) = (both.clone(), meet.clone(), target.clone());
            own.call(move |(), _| {
                both.arrive();
                assert!(meet.wait_for(1, crate::support::WAIT));
                target.try_blocking_with(|()| ())
            })
        };
        let (first, second) = (wait(&a, &b), wait(&b, &a));
        assert!(both.wait_for(2, crate::support::WAIT));
        meet.arrive();
        let results = [first.wait(), second.wait()].map(|r| r.expect("no panic"));
        assert!(
            results.contains(&Err(CallError::InsideHandler)),
            "{results:?}"
        );
    });
}

#[test]
fn a_panic_under_color_0_does_not_end_the_single_reactor() {
    static READY: Handler = Handler::new("sound::ReadyAfterPanic");
    bounded("a panic under color 0", || {
        let builder = Runtime::builder().workers(1).on_panic(OnPanic::PoisonColor);
        let builder = builder.reactor(mely::ReactorKind::Single);
        let rt = builder.build().expect("a runtime");
        rt.numbered_color(0).post_or_shed(|(), _| silent_panic());
        rt.wait_idle();
        let (color, ready) = (rt.new_color(), Gate::default());
        let (mut ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let seen = ready.clone();
        let watch = move |(): &mut (), _: &mut mely::Context<'_>, r: mely::net::Readiness| {
            if r.closed {
                seen.arrive();
            }
        };
        ours.watch(&color, &READY, watch).expect("a watch");
        drop(theirs);
        ready.pass("the end of the stream is found");
    });
}

#[test]
fn a_signal_that_there_is_not_leaves_the_others_alone() {
    use std::os::unix::process::ExitStatusExt;
    const NAME: &str = "sound::endings::a_signal_that_there_is_not_leaves_the_others_alone";
    if std::env::var_os("MELY_ALONE").is_none() {
        let output = child(NAME).output().expect("the test starts itself");
        assert_eq!(output.status.signal(), Some(mely::signals::SIGTERM));
        return;
    }
    let rt = runtime(1);
    let color = rt.new_color();
    let watched =
        mely::signals::Signals::watch(&[mely::signals::SIGTERM, 9999], &color, |_, _, _| ());
    assert!(watched.is_err());
    let this = rustix::process::getpid();
    rustix::process::kill_process(this, rustix::process::Signal::TERM).expect("a signal to itself");
    // Swallowed: the parent sees an orderly end.
}

#[test]
fn a_waker_that_panics_while_a_handler_panics_does_not_end_the_process() {
    use std::task::{Context, Wake, Waker};
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            silent_panic();
        }
    }
    const NAME: &str =
        "sound::endings::a_waker_that_panics_while_a_handler_panics_does_not_end_the_process";
    alone(NAME, || {
        let rt = runtime(1);
        let color = rt
            .color_options()
            .on_panic(OnPanic::Continue)
            .colored(1)
            .expect("no home was chosen");
        let goes_on = Gate::default();
        let gate = goes_on.clone();
        let mut reply = Box::pin(color.call(move |_, _| {
            gate.pass("the reply has a waker");
            silent_panic();
        }));
        let waker = Waker::from(Arc::new(Bad));
        assert!(
            reply
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        goes_on.arrive();
        assert_eq!(color.blocking_with(|n| *n), 1);
        assert_eq!(rt.metrics().workers[0].panics, 1);
    });
}
