//! Hostile programs, one hypothesis each. A test that fails shows a break.
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, mpsc};

static WAKERS: Mutex<Vec<Waker>> = Mutex::new(Vec::new());
/// Waits for ever; somebody has its waker.
async fn parked() {
    poll_fn(|cx| {
        WAKERS.lock().unwrap().push(cx.waker().clone());
        Poll::<()>::Pending
    })
    .await
}
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mely::*;

const LIMIT: Duration = Duration::from_secs(15);

fn bounded<R: Send + 'static>(
    what: &str,
    limit: Duration,
    body: impl FnOnce() -> R + Send + 'static,
) -> R {
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        let _ = tx.send(body());
    });
    match rx.recv_timeout(limit) {
        Ok(r) => r,
        Err(e) => panic!("{what}: {e:?} (HANG or panic)"),
    }
}

fn rt(n: usize) -> Runtime {
    Runtime::builder().workers(n).build().unwrap()
}

/// 1. A repeating timer whose color runs on another worker than that which keeps the timer.
#[test]
fn every_dies() {
    let mut dead = 0;
    let mut ticks_at_death = vec![];
    let rounds = 20;
    for _ in 0..rounds {
        let rt = rt(2);
        let ticks = Arc::new(AtomicU64::new(0));
        let color = rt.color_options().pinned(1).colored(0u64).unwrap();
        let maker = rt.color_options().pinned(0).fresh().unwrap();
        let (c, t) = (color.clone(), Arc::clone(&ticks));
        let timer = maker
            .call(move |_, _| {
                c.post_every(Duration::from_micros(50), move |_, _| {
                    t.fetch_add(1, Relaxed);
                })
            })
            .wait()
            .unwrap();
        let begin = Instant::now();
        let mut last = (0, Instant::now());
        while begin.elapsed() < Duration::from_millis(1000) {
            thread::sleep(Duration::from_millis(20));
            let now = ticks.load(Relaxed);
            if now != last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > Duration::from_millis(300) {
                break;
            }
        }
        if !timer.is_pending() {
            dead += 1;
            ticks_at_death.push(ticks.load(Relaxed));
        }
        drop(rt);
    }
    assert_eq!(
        dead, 0,
        "of {rounds} repeating timers that nobody cancelled {dead} died, after ticks {ticks_at_death:?}"
    );
}

/// 2. A bounded color that was stopped says Full, "try again later", for ever.
#[test]
fn stopped_bounded_is_full() {
    let rt = rt(1);
    let color = rt.color_options().capacity(2).colored(0u8).unwrap();
    color.stop(Pending::Drop);
    let kinds: Vec<String> = (0..4)
        .map(|_| format!("{:?}", color.try_post(|_, _| ()).unwrap_err()))
        .collect();
    let with = color.try_with(|n| *n);
    let timer = color.post_after(Duration::ZERO, |_, _| ()).is_pending();
    assert_eq!(
        (kinds.join(" "), with, timer),
        (
            "Closed(..) Closed(..) Closed(..) Closed(..)".into(),
            Err(CallError::Closed),
            false
        )
    );
}

/// 3. A poisoned color cannot be stopped with Pending::Run; its group is never over.
#[test]
fn poisoned_stop_run() {
    let rt = rt(1);
    let group = rt.group();
    let dropped = Arc::new(AtomicBool::new(false));
    struct D(Arc<AtomicBool>);
    impl Drop for D {
        fn drop(&mut self) {
            self.0.store(true, SeqCst)
        }
    }
    let fresh = rt
        .color_options()
        .on_panic(OnPanic::PoisonColor)
        .fresh()
        .unwrap();
    let color = group.adopt(fresh, D(dropped.clone()));
    let _ = color.try_with(|_| -> () { resume_unwind(Box::new("odd")) });
    group.stop(Pending::Run);
    rt.settle();
    thread::sleep(Duration::from_millis(100));
    let seen = (color.is_stopped(), group.is_over(), dropped.load(SeqCst));
    // And `wait` waits for good, while somebody has the handle.
    let g = group.clone();
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        let _ = tx.send(g.wait());
    });
    let waited = rx.recv_timeout(Duration::from_secs(2)).is_ok();
    assert_eq!(
        (seen, waited),
        ((true, true, true), true),
        "(is_stopped, is_over, state dropped), wait returned"
    );
}

/// 4. A future that is spawned in a group that was stopped "is dropped unpolled".
#[test]
fn stopped_group_polls() {
    for workers in [1, 2] {
        let rt = rt(workers);
        let group = rt.group();
        group.stop(Pending::Drop);
        let polled = Arc::new(AtomicU32::new(0));
        let n = 20_000;
        let mut ok = 0;
        for _ in 0..n {
            let p = polled.clone();
            let reply = group.spawn(async move {
                p.fetch_add(1, Relaxed);
                7
            });
            ok += u32::from(reply.wait() == Ok(7));
        }
        assert_eq!(
            (polled.load(Relaxed), ok),
            (0, 0),
            "of {n}: polled, answered Ok"
        );
    }
}

/// 4b. The same from a handler of the same worker: should never be polled.
#[test]
fn adopt_a_stopped_color() {
    let rt = rt(1);
    let group = rt.group();
    let color = rt.fresh_color();
    color.stop(Pending::Drop);
    let held = group.adopt(color, 5);
    group.stop(Pending::Drop);
    assert!(held.is_stopped());
    let g = group.clone();
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        let _ = tx.send(g.wait());
    });
    assert!(
        rx.recv_timeout(Duration::from_secs(2)).is_ok(),
        "all members are stopped, and wait hangs"
    );
}

/// 4c. attach to a stopped color: when is the state dropped?
#[test]
fn attach_after_stop() {
    let rt = rt(1);
    let color = rt.fresh_color();
    color.stop(Pending::Drop);
    let alive = Arc::new(());
    let _attached = color.attach(alive.clone());
    rt.settle();
    assert_eq!(
        Arc::strong_count(&alive),
        1,
        "a state that no event reaches is kept"
    );
}

/// 6. Wakers of dropped `GroupOver`s stay, and with them tasks and their colors.
#[test]
fn group_over_keeps_colors() {
    let rt = rt(2);
    let group = rt.group();
    let dropped = Arc::new(AtomicBool::new(false));
    struct D(Arc<AtomicBool>);
    impl Drop for D {
        fn drop(&mut self) {
            self.0.store(true, SeqCst)
        }
    }
    let session = group.colored(D(dropped.clone()));
    let g = group.clone();
    // A task that looks once whether the group is over, and ends.
    let reply = session.spawn(async move {
        let mut over = pin!(g.over());
        poll_fn(|cx| Poll::Ready(over.as_mut().poll(cx).is_ready())).await
    });
    assert_eq!(reply.wait(), Ok(false));
    drop(session);
    rt.settle();
    thread::sleep(Duration::from_millis(300));
    assert!(
        dropped.load(SeqCst) && group.is_over(),
        "no handle, no event, no task is left, and the state lives: {group:?}"
    );
}

/// 6b. ... and without bound, in quadratic time.
#[test]
fn group_over_wakers_pile_up() {
    let rt = rt(1);
    let group = rt.group();
    let _member = group.colored(());
    struct W;
    impl Wake for W {
        fn wake(self: Arc<Self>) {}
    }
    let weak: Vec<_> = {
        let mut times = vec![];
        let mut all = vec![];
        for n in [5_000, 10_000, 20_000, 40_000] {
            let at = Instant::now();
            for _ in 0..n {
                let w = Arc::new(W);
                all.push(Arc::downgrade(&w));
                let waker = Waker::from(w);
                let mut over = Box::pin(group.over());
                let _ = over.as_mut().poll(&mut Context::from_waker(&waker));
            }
            times.push((n, at.elapsed()));
        }
        eprintln!("{times:?}");
        all
    };
    let kept = weak.iter().filter(|w| w.strong_count() > 0).count();
    assert_eq!(kept, 0, "wakers of futures that were dropped");
}

/// 7. A task whose guard spawns it anew when it is dropped.
#[derive(Clone)]
struct Phoenix(Color, Arc<AtomicU64>);
impl Drop for Phoenix {
    fn drop(&mut self) {
        self.1.fetch_add(1, Relaxed);
        let again = Phoenix(self.0.clone(), self.1.clone());
        drop(self.0.spawn(async move {
            let _again = again;
            parked().await;
        }));
    }
}

#[test]
fn respawn_in_drop() {
    let rt = rt(1);
    let count = Arc::new(AtomicU64::new(0));
    let color = rt.fresh_color();
    let p = Phoenix(color.clone(), count.clone());
    drop(color.spawn(async move {
        let _p = p;
        parked().await
    }));
    rt.settle();
    let ended = bounded("respawn", LIMIT, move || {
        rt.shutdown(Duration::from_secs(2))
            .map_err(|e| e.to_string())
            .map(|r| r.events_run)
    });
    let before = count.load(Relaxed);
    thread::sleep(Duration::from_millis(500));
    let after = count.load(Relaxed);
    assert!(
        ended.is_ok() && before == after,
        "{ended:?}, dropped {before} times, then {after}"
    );
}

/// 7b. The same with stop.
#[test]
fn respawn_in_drop_of_stopped() {
    let rt = rt(1);
    let count = Arc::new(AtomicU64::new(0));
    let color = rt.fresh_color();
    let p = Phoenix(color.clone(), count.clone());
    let reply = color.spawn(async move {
        let _p = p;
        parked().await
    });
    rt.settle();
    color.stop(Pending::Drop);
    let c = count.clone();
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        let _ = tx.send(reply.cancel());
    });
    let cancelled = rx.recv_timeout(Duration::from_secs(3));
    let before = c.load(Relaxed);
    assert!(
        cancelled.is_ok(),
        "cancel hangs: {before} drops and going on"
    );
}

/// 8. A repeating closure that arms itself anew when it is dropped.
struct Rearm(Colored<u8>, Arc<AtomicU64>);
impl Drop for Rearm {
    fn drop(&mut self) {
        self.1.fetch_add(1, Relaxed);
        let again = Rearm(self.0.clone(), self.1.clone());
        drop(self.0.post_every(Duration::from_secs(10), move |_, _| {
            let _ = &again;
        }));
    }
}

#[test]
fn rearm_every_in_drop() {
    let rt = rt(1);
    let count = Arc::new(AtomicU64::new(0));
    let color = rt.colored(0u8);
    let again = Rearm(color.clone(), count.clone());
    drop(color.post_every(Duration::from_secs(10), move |_, _| {
        let _ = &again;
    }));
    let ended = bounded("rearm", LIMIT, move || {
        rt.shutdown(Duration::from_secs(2))
            .map_err(|e| e.to_string())
            .map(|r| r.events_run)
    });
    let before = count.load(Relaxed);
    thread::sleep(Duration::from_millis(500));
    let after = count.load(Relaxed);
    assert!(
        ended.is_ok() && before == after,
        "{ended:?}, dropped {before} times, then {after}"
    );
}

struct RearmAfter(Colored<u8>, Arc<AtomicU64>);
impl Drop for RearmAfter {
    fn drop(&mut self) {
        self.1.fetch_add(1, Relaxed);
        let again = RearmAfter(self.0.clone(), self.1.clone());
        drop(self.0.post_after(Duration::from_secs(10), move |_, _| {
            let _ = &again;
        }));
    }
}

#[test]
fn rearm_after_in_drop() {
    let rt = rt(1);
    let count = Arc::new(AtomicU64::new(0));
    let color = rt.colored(0u8);
    let again = RearmAfter(color.clone(), count.clone());
    drop(color.post_after(Duration::from_secs(10), move |_, _| {
        let _ = &again;
    }));
    let ended = bounded("rearm after", LIMIT, move || {
        rt.shutdown(Duration::from_secs(2))
            .map_err(|e| e.to_string())
            .map(|r| r.events_run)
    });
    let before = count.load(Relaxed);
    thread::sleep(Duration::from_millis(500));
    let after = count.load(Relaxed);
    assert!(
        ended.is_ok() && before == after,
        "{ended:?}, dropped {before} times, then {after}"
    );
}

/// 10. A stopped color's timers keep `settle` waiting.
#[test]
fn settle_after_stop_with_timer() {
    let rt = rt(1);
    let color = rt.colored(0u8);
    let captured = Arc::new(());
    let c = captured.clone();
    drop(color.post_after(Duration::from_secs(3600), move |_, _| drop(c)));
    color.stop(Pending::Drop);
    drop(color);
    let rt = Arc::new(rt);
    let r = rt.clone();
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        r.settle();
        let _ = tx.send(());
    });
    let settled = rx.recv_timeout(Duration::from_secs(2)).is_ok();
    assert!(
        settled,
        "settle waits an hour for a timer that posts nothing any more; pending {}, captures {}",
        rt.metrics().events.pending(),
        Arc::strong_count(&captured)
    );
}

/// 11. Repeating timers of ended colors fill the worker's timers; new ones are shed.
#[test]
fn dead_everys_fill_timers() {
    let rt = Runtime::builder()
        .workers(1)
        .timers_max(1000)
        .build()
        .unwrap();
    let alive = Arc::new(());
    for _ in 0..1000 {
        let session = rt.colored(0u8);
        let a = alive.clone();
        drop(session.post_every(Duration::from_secs(3600), move |_, _| {
            let _ = &a;
        }));
    }
    rt.settle();
    let live = rt.colored(0u8);
    let timer = live.post_after(Duration::from_secs(1), |_, _| ());
    assert!(
        timer.is_pending() && Arc::strong_count(&alive) == 1,
        "shed: {}, closures of ended colors kept: {}",
        !timer.is_pending(),
        Arc::strong_count(&alive) - 1
    );
}

/// 12. cancel after the task was over and its reply polled.
#[test]
fn cancel_after_over() {
    let rt = rt(1);
    let mut reply = rt.fresh_color().spawn(async { 5 });
    rt.settle();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(
        Pin::new(&mut reply).poll(&mut cx),
        Poll::Ready(Ok(5))
    ));
    assert!(!reply.cancel(), "`false` means that it was over before");
}

/// 12b. a call that was stopped/dropped or begun.
#[test]
fn cancel_after_dropped_call() {
    let rt = rt(1);
    let color = rt.fresh_color();
    color.stop(Pending::Drop);
    let reply = color.call(|_, _| 5);
    // "Takes the event back, if it has not begun".
    eprintln!("cancel of a refused call: {}", reply.cancel());
}

/// 13. A group of one runtime with a member of another.
#[test]
fn group_of_two_runtimes() {
    let a = rt(1);
    let b = rt(1);
    let group = a.group();
    let member = group.adopt(b.fresh_color(), 1u8);
    group.stop(Pending::Run);
    let _ = member;
    // a second member, which waits for its own group in its own event
    let group = a.group();
    let member = group.adopt(b.fresh_color(), 1u8);
    let g = group.clone();
    let reply = member.call(move |_, cx| {
        cx.colored().stop(Pending::Drop);
        g.wait()
    });
    let got = reply.wait_timeout(Duration::from_secs(2));
    assert!(
        matches!(got, Ok(Err(_)) | Ok(Ok(Err(_)))),
        "wait inside of a handler that it waits for hangs"
    );
}

/// 14. Long chains: stops inside destructors.
struct StopNext(Option<Colored<Vec<u8>>>);
impl Drop for StopNext {
    fn drop(&mut self) {
        if let Some(next) = self.0.take() {
            next.stop(Pending::Drop);
        }
    }
}

#[test]
fn chain_of_stops() {
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        let rt = Runtime::builder()
            .workers(1)
            .policy(policy)
            .build()
            .unwrap();
        let hold = rt.color_options().pinned(0).fresh().unwrap();
        let (tx, rx) = mpsc::channel::<()>();
        hold.post(move |_, _| drop(rx.recv()));
        let n = 200_000;
        let mut next: Option<Colored<Vec<u8>>> = None;
        for _ in 0..n {
            let color = rt.colored(vec![0u8]);
            let stop = StopNext(next.take());
            color.post(move |_, _| {
                let _ = &stop;
            });
            next = Some(color);
        }
        let at = Instant::now();
        next.unwrap().stop(Pending::Drop);
        drop(tx);
        rt.settle();
        eprintln!("{policy}: {:?}", at.elapsed());
        assert_eq!(rt.metrics().events.pending(), 0);
        bounded("chain", LIMIT, move || drop(rt));
    }
}

/// 18. Resets, back and forth.
#[test]
fn reset_back_and_forth() {
    let rt = rt(1);
    let color = rt.colored(0u8);
    let at = Instant::now();
    let base = Instant::now() + Duration::from_secs(3600);
    let timers: Vec<_> = (0..100).map(|_| color.post_at(base, |_, _| ())).collect();
    for i in 0..1_000_000u64 {
        let t = &timers[(i % 100) as usize];
        t.reset_at(base - Duration::from_micros(i));
        if i % 3 == 0 {
            t.reset_at(base + Duration::from_micros(i));
        }
    }
    eprintln!("{:?}", at.elapsed());
    assert!(timers.iter().all(|t| t.cancel()));
    rt.settle();
}

/// A timer that is reset while it fires: fires exactly once, or was reset in time.
#[test]
fn reset_races_with_firing() {
    for workers in [1, 2] {
        let rt = rt(workers);
        let bad = AtomicUsize::new(0);
        for i in 0..20_000u64 {
            let ran = Arc::new(AtomicU64::new(0));
            let color = rt.colored(0u8);
            let r = ran.clone();
            let t = color.post_after(Duration::from_micros(i % 60), move |_, _| {
                r.fetch_add(1, SeqCst);
            });
            for _ in 0..i % 50 {
                std::hint::spin_loop();
            }
            let put_off = t.reset_after(Duration::from_secs(1000));
            if put_off {
                let forward = t.reset_after(Duration::ZERO);
                if !forward {
                    bad.fetch_add(1, Relaxed);
                }
            }
            let end = Instant::now() + Duration::from_secs(5);
            while ran.load(SeqCst) == 0 && Instant::now() < end {
                thread::yield_now();
            }
            if ran.load(SeqCst) != 1 {
                bad.fetch_add(1, Relaxed);
                break;
            }
        }
        assert_eq!(bad.load(Relaxed), 0);
        rt.settle();
    }
}
