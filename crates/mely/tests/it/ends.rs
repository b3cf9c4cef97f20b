//! What ends with a color, by whom, and when.

use std::future::poll_fn;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use mely::net::Watch;
use mely::{CallError, Color, Handler, OnPanic, Pending, PostError, Runtime};

use crate::checkers::conserved;
use crate::support::{Gate, OpenOnDrop, bounded, holds, panicked, runtime, settle, silent_panic};

const LATE: Duration = Duration::from_secs(3_600);

/// A color that a panic has poisoned.
fn poisoned(rt: &Runtime) -> Color {
    let options = rt.color_options().on_panic(OnPanic::PoisonColor);
    options.new_color().expect("no home was chosen")
}

fn poison(color: &Color) {
    assert_eq!(
        color.try_blocking_with(|()| -> () { silent_panic() }),
        panicked()
    );
}

/// How many others have it.
fn others(token: &Arc<()>) -> usize {
    Arc::strong_count(token) - 1
}

/// Waits for ever; others have its waker.
async fn parked(wakers: Arc<Mutex<Vec<Waker>>>) {
    poll_fn(|cx| {
        let mut wakers = wakers.lock().expect("no panic under it");
        wakers.push(cx.waker().clone());
        Poll::<()>::Pending
    })
    .await;
}

/// Notes the name of the thread that drops it.
struct DroppedOn(Arc<Mutex<Vec<String>>>);

impl Drop for DroppedOn {
    fn drop(&mut self) {
        let name = std::thread::current().name().unwrap_or("?").to_owned();
        self.0.lock().expect("no panic under it").push(name);
    }
}

/// Who stops a color that is being run leaves what is pending to the worker that has it.
#[test]
fn what_is_pending_is_dropped_by_the_owner() {
    bounded("owner", || {
        let (rt, dropped) = (runtime(1), Arc::new(Mutex::new(Vec::new())));
        let color = rt.colored(0);
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let (begin, wait) = (begun.clone(), release.0.clone());
        color.post_or_shed(move |_, _| {
            begin.arrive();
            wait.pass("the color is stopped");
        });
        begun.pass("it begins");
        for _ in 0..3 {
            let captured = DroppedOn(Arc::clone(&dropped));
            color.post_or_shed(move |n, _| {
                let _captured = &captured;
                *n += 1;
            });
        }
        color.stop(Pending::Drop);
        assert!(dropped.lock().expect("no panic under it").is_empty());
        let refused = color.post(|_, _| ()).unwrap_err();
        assert!(matches!(refused, PostError::Closed(_)));
        drop(release);
        settle(&rt);
        let dropped = dropped.lock().expect("no panic under it");
        assert_eq!(*dropped, ["mely-0"; 3]);
        assert_eq!(rt.metrics().events.shed, 4);
        holds(conserved(&rt.metrics().events));
    });
}

/// A worker looks ahead into the inboxes of colors that another thread stops.
#[test]
fn inboxes_are_looked_into_while_their_colors_are_stopped() {
    bounded("look ahead", || {
        let (rt, end) = (runtime(1), Instant::now() + Duration::from_millis(200));
        let (colors, events) = if cfg!(miri) { (9, 3) } else { (24, 16) };
        for round in 0_u32.. {
            if Instant::now() > end || (cfg!(miri) && round > 3) {
                break;
            }
            let all: Vec<_> = (0..colors).map(|_| rt.new_color()).collect();
            for _ in 0..events {
                all.iter().for_each(|color| color.post_or_shed(|_, _| ()));
            }
            all.iter().rev().for_each(|color| color.stop(Pending::Drop));
        }
        settle(&rt);
        holds(conserved(&rt.metrics().events));
    });
}

/// A bounded color that was stopped has no room, and says why.
#[test]
fn a_bounded_color_that_was_stopped_is_closed_and_not_full() {
    bounded("bounded", || {
        let rt = runtime(1);
        let color = rt.color_options().capacity(2).colored(0).expect("no home");
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let (begin, wait) = (begun.clone(), release.0.clone());
        color.post_or_shed(move |_, _| {
            begin.arrive();
            wait.pass("the color is stopped");
        });
        begun.pass("it begins");
        color.post_or_shed(|_, _| ());
        color.post_or_shed(|_, _| ());
        let full = color.post(|_, _| ()).unwrap_err();
        assert!(matches!(full, PostError::Full(_)));
        color.stop(Pending::Drop);
        let is_closed = || matches!(color.post(|_, _| ()), Err(PostError::Closed(_)));
        assert!(is_closed() && is_closed());
        drop(release);
        settle(&rt);
        assert!((0..4).all(|_| is_closed()));
        assert_eq!(color.try_blocking_with(|n| *n), Err(CallError::Closed));
        assert!(!color.post_after(Duration::ZERO, |_, _| ()).is_pending());
        holds(conserved(&rt.metrics().events));
    });
}

#[test]
fn tasks_end_with_a_color_that_was_stopped_or_poisoned() {
    bounded("tasks", || {
        for by_panic in [false, true] {
            let (rt, token) = (runtime(2), Arc::new(()));
            let (color, wakers) = (poisoned(&rt), Arc::default());
            let replies: Vec<_> = (0..3)
                .map(|_| {
                    let (held, parked) = (Arc::clone(&token), parked(Arc::clone(&wakers)));
                    color.spawn(async move {
                        let _held = held;
                        parked.await;
                    })
                })
                .collect();
            settle(&rt);
            match by_panic {
                false => color.stop(Pending::Run),
                true => poison(&color),
            }
            for reply in replies {
                assert_eq!(reply.wait(), Err(CallError::Dropped));
            }
            assert_eq!(others(&token), 0);
            let wakers = std::mem::take(&mut *wakers.lock().expect("no panic under it"));
            wakers.into_iter().for_each(Waker::wake);
            assert_eq!(color.spawn(async { 1 }).wait(), Err(CallError::Dropped));
            settle(&rt);
            holds(conserved(&rt.metrics().events));
        }
    });
}

#[test]
fn a_poisoned_color_is_stopped_after_what_is_pending() {
    bounded("poisoned", || {
        let (rt, token) = (runtime(1), Arc::new(()));
        let group = rt.group();
        let color = group.adopt(poisoned(&rt), Arc::clone(&token));
        poison(&color.color());
        group.stop(Pending::Run);
        assert_eq!(group.wait(), Ok(()));
        assert!(color.is_stopped() && others(&token) == 0);
        settle(&rt);
        holds(conserved(&rt.metrics().events));
    });
}

/// Each member of a group, and each state, that comes to a color after its end.
#[test]
fn what_is_given_to_a_color_that_was_stopped_goes_at_once() {
    bounded("attached", || {
        let (rt, token) = (runtime(1), Arc::new(()));
        let color = rt.new_color();
        color.stop(Pending::Drop);
        let attached = color.attach(Arc::clone(&token));
        assert_eq!(others(&token), 0);
        let group = rt.group();
        let held = group.adopt(color.clone(), Arc::clone(&token));
        group.stop(Pending::Drop);
        assert_eq!((group.wait(), others(&token)), (Ok(()), 0));
        assert!(held.is_stopped() && attached.is_stopped());
        let renewed = rt.colored(5);
        drop((color, held, attached));
        assert_eq!(
            renewed.blocking_with(|n| *n),
            5,
            "its memory is another one's"
        );
    });
}

#[test]
fn timers_end_with_their_color() {
    bounded("timers", || {
        for drops in [false, true] {
            let rt = Runtime::builder().workers(1).timers_max(100).build();
            let (rt, token) = (rt.expect("a runtime"), Arc::new(()));
            for _ in 0..3 {
                let color = rt.colored(0);
                let timers: Vec<_> = (0..100)
                    .map(|_| {
                        let held = Arc::clone(&token);
                        match drops {
                            false => color.post_after(LATE, move |_, _| drop(held)),
                            true => color.post_every(LATE, move |_, _| drop(held.clone())),
                        }
                    })
                    .collect();
                assert!(timers.iter().all(mely::Timer::is_pending));
                assert_eq!(others(&token), 100);
                // Those in the middle first.
                timers[30..60].iter().for_each(|timer| _ = timer.cancel());
                assert_eq!(others(&token), 70);
                match drops {
                    false => color.stop(Pending::Drop),
                    true => drop(color),
                }
                assert!(!timers.iter().any(mely::Timer::is_pending));
                assert!(!timers[0].cancel() && !timers[99].reset_after(LATE));
                assert_eq!(others(&token), 0);
                settle(&rt);
            }
            holds(conserved(&rt.metrics().events));
        }
    });
}

#[test]
fn what_was_over_is_not_taken_back() {
    bounded("taken back", || {
        let rt = runtime(1);
        let color = rt.new_color();
        let mut polled = color.spawn(async { 5 });
        settle(&rt);
        let mut cx = std::task::Context::from_waker(Waker::noop());
        assert!(pin!(&mut polled).poll(&mut cx).is_ready());
        assert!(!polled.cancel());
        let stuck = color.spawn(std::future::pending::<()>());
        color.stop(Pending::Drop);
        settle(&rt);
        assert!(!stuck.cancel(), "it was given up before");
        let refused = color.call(|_, _| 5);
        assert!(!refused.cancel());
    });
}

/// Readiness of a color that was stopped is told to who asked for that, by a thread that may
/// wait: not by the one that looks after workers that do not come.
#[test]
fn readiness_that_a_color_refuses_is_told_elsewhere() {
    static WATCH: Handler = Handler::new("ends::Watch");
    bounded("refused readiness", || {
        let rt = runtime(2);
        for held in [false, true] {
            let (mut peer, ours) = UnixStream::pair().expect("a pair");
            ours.set_nonblocking(true).expect("a socket");
            let on = |worker| rt.color_options().pin_to(worker).new_color();
            let [holder, color] = [(); 2].map(|()| on(0).expect("there are two workers"));
            let (told, names) = (Gate::default(), Arc::new(Mutex::new(Vec::new())));
            let (tell, name) = (told.clone(), DroppedOn(Arc::clone(&names)));
            let _watch = Watch::new_or(
                Arc::new(ours),
                &color,
                &WATCH,
                |(), _, readiness| assert!(!readiness.readable),
                move |readiness| {
                    if readiness.readable {
                        drop(DroppedOn(Arc::clone(&name.0)));
                        tell.arrive();
                    }
                },
            );
            settle(&rt);
            color.stop(Pending::Drop);
            let release = OpenOnDrop(Gate::default());
            if held {
                let (begun, wait) = (Gate::default(), release.0.clone());
                let begin = begun.clone();
                holder.post_or_shed(move |(), _| {
                    begin.arrive();
                    wait.pass("it is told");
                });
                begun.pass("the worker is held");
            }
            peer.write_all(b"hello").expect("there is room");
            told.pass("somebody is told");
            let names = names.lock().expect("no panic under it");
            let expected = if held { "mely-drops" } else { "mely-0" };
            assert_eq!(*names, [expected]);
        }
        settle(&rt);
        holds(conserved(&rt.metrics().events));
    });
}
