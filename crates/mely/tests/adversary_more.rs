//! More hostile programs, one hypothesis each.
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context as Cx, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mely::*;

fn within<R: Send + 'static>(
    what: &str,
    secs: u64,
    body: impl FnOnce() -> R + Send + 'static,
) -> R {
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        let _ = tx.send(body());
    });
    match rx.recv_timeout(Duration::from_secs(secs)) {
        Ok(r) => r,
        Err(e) => panic!("{what}: {e:?}"),
    }
}
fn all(body: impl Fn(Policy, usize, Runtime) + Send + Sync + Copy + 'static) {
    let no_fifo = std::env::var("NO_FIFO").is_ok();
    for policy in Policy::ALL {
        if no_fifo && policy.heuristics().queues == QueueKind::EventFifo {
            continue;
        }
        for workers in [1, 2, 8] {
            let rt = Runtime::builder()
                .workers(workers)
                .policy(policy)
                .build()
                .unwrap();
            within(&format!("{policy}/{workers}"), 20, move || {
                body(policy, workers, rt)
            });
        }
    }
}
struct OnDrop<F: FnMut() + Send>(F);
impl<F: FnMut() + Send> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)()
    }
}
fn boom<T>() -> T {
    resume_unwind(Box::new("boom"))
}

/// The function that makes a state anew does all sorts of things.
#[test]
fn odd_makes() {
    all(|policy, workers, rt| {
        for kind in 0..7 {
            let slot: Arc<Mutex<Option<Colored<u64>>>> = Arc::default();
            let (s, h) = (slot.clone(), (*rt).clone());
            let made = AtomicU64::new(0);
            let c = rt
                .color_options()
                .restarting(move || {
                    let n = made.fetch_add(1, SeqCst);
                    if n == 0 {
                        return 0;
                    }
                    let own = s.lock().unwrap().clone().unwrap();
                    match kind {
                        0 => boom(),
                        1 => own.post(|n, _| *n += 100),
                        2 => own.stop(Pending::Drop),
                        3 => own.stop(Pending::Run),
                        4 => {
                            drop(own.attach(OnDrop(|| ())));
                            drop(own.attach(vec![1]));
                        }
                        5 => {
                            assert!(own.try_with(|_| ()).is_err());
                            assert!(own.is_current());
                            drop(own.spawn(async {}));
                        }
                        _ => {
                            drop(own);
                            s.lock().unwrap().take();
                            drop(h.group().colored(4));
                        }
                    }
                    n * 1000
                })
                .unwrap();
            *slot.lock().unwrap() = Some(c.clone());
            let err = c.try_with(|_| boom::<()>()).unwrap_err();
            assert_eq!(err, CallError::Panicked("boom".into()));
            let after = c.try_with(|n| *n);
            let want = match kind {
                0 => matches!(after, Err(CallError::Dropped)),
                1 => after == Ok(1100) || after == Ok(1000),
                2 => after.is_err(),
                3 => after.is_err() || after == Ok(1000),
                _ => after == Ok(1000),
            };
            assert!(want, "{policy}/{workers} kind {kind}: {after:?}");
            slot.lock().unwrap().take();
        }
        rt.settle();
        let pending = rt.metrics().events.pending();
        assert_eq!(pending, 0);
        rt.shutdown(Duration::from_secs(5)).unwrap();
    });
}

/// make drops the runtime.
#[test]
fn make_drops_runtime() {
    all(|_, _, rt| {
        let h = (*rt).clone();
        let rt = Mutex::new(Some(rt));
        let n = AtomicU32::new(0);
        let c = h
            .color_options()
            .restarting(move || {
                if n.fetch_add(1, SeqCst) == 1 {
                    drop(rt.lock().unwrap().take());
                }
                5
            })
            .unwrap();
        let _ = c.try_with(|_| boom::<()>());
        let end = Instant::now() + Duration::from_secs(5);
        while c.try_with(|n| *n).is_ok() {
            assert!(Instant::now() < end);
        }
    });
}

/// A task is polled, and while it is, everything of it is attacked.
#[test]
fn tasks_attacked_while_polled() {
    all(|policy, workers, rt| {
        for kind in 0..8 {
            let c = rt.colored(vec![0u8; 64]);
            let reply: Arc<Mutex<Option<Reply<usize>>>> = Arc::default();
            let (r2, c2) = (reply.clone(), c.clone());
            let (go, gone) = mpsc::channel::<()>();
            let gone = Mutex::new(gone);
            let r = c.spawn_with(async move |mut own: TaskState<Vec<u8>>| {
                let _ = gone.lock().unwrap().recv();
                let n = own.with(|s| {
                    s[0] += 1;
                    match kind {
                        0 => c2.stop(Pending::Drop),
                        1 => {
                            let r = r2.lock().unwrap().take();
                            if let Some(r) = r {
                                r.cancel();
                            }
                        }
                        2 => {
                            r2.lock().unwrap().take();
                        }
                        3 => {
                            thread::scope(|t| {
                                t.spawn(|| c2.stop(Pending::Drop));
                            });
                        }
                        4 => {
                            c2.handle_like_shutdown();
                        }
                        5 => {
                            c2.post(|s, _| s[1] += 1);
                            c2.stop(Pending::Run);
                        }
                        6 => {
                            drop(c2.spawn_with(async |mut o: TaskState<Vec<u8>>| {
                                o.with(|s| s.clear())
                            }));
                        }
                        _ => {
                            let b = Box::pin(c2.call(|s, _| s.len()));
                            let mut b = b;
                            assert!(
                                b.as_mut()
                                    .poll(&mut Cx::from_waker(Waker::noop()))
                                    .is_pending()
                            );
                        }
                    }
                    s[0] += 1;
                    assert_eq!(s[0], 2);
                    s.len()
                });
                n
            });
            *reply.lock().unwrap() = Some(r);
            drop(go);
            rt.settle();
            let r = reply.lock().unwrap().take();
            if let Some(r) = r {
                let got = r.wait();
                assert_eq!(got, Ok(64), "{policy}/{workers}/{kind}");
            }
        }
        rt.settle();
        assert_eq!(rt.metrics().events.pending(), 0);
        rt.shutdown(Duration::from_secs(5)).unwrap();
    });
}
trait L {
    fn handle_like_shutdown(&self);
}
impl L for Colored<Vec<u8>> {
    fn handle_like_shutdown(&self) {
        self.color().post(|_, _| ());
        let c = self.clone();
        drop(c.attach(3));
    }
}

/// TaskStates are swapped, sent away, kept.
#[test]
fn task_states_astray() {
    all(|_, _, rt| {
        let (a, b) = (rt.colored(1u64), rt.colored(2u64));
        let stray: Arc<Mutex<Vec<TaskState<u64>>>> = Arc::default();
        let s = stray.clone();
        a.spawn_with(async move |mut own: TaskState<u64>| {
            assert_eq!(own.with(|n| *n), 1);
            s.lock().unwrap().push(own);
        })
        .wait()
        .unwrap();
        let s = stray.clone();
        let r = b.spawn_with(async move |mut own: TaskState<u64>| {
            let mut other = s.lock().unwrap().pop().unwrap();
            assert_eq!(other.try_with(|_| ()), Err(CallError::OutsideTask));
            std::mem::swap(&mut own, &mut other);
            assert_eq!(own.try_with(|_| ()), Err(CallError::OutsideTask));
            assert_eq!(
                other.with(|n| {
                    assert!(own.try_with(|_| ()).is_err());
                    *n
                }),
                2
            );
            // In another thread, in this poll.
            thread::scope(|t| {
                t.spawn(|| assert!(other.try_with(|_| ()).is_err()));
            });
            other
        });
        let mut out = r.wait().unwrap();
        assert!(out.try_with(|_| ()).is_err());
        // An event of the very color.
        assert!(
            b.with(move |n| {
                let e = out.try_with(|_| ());
                *n += 1;
                e
            })
            .is_err()
        );
        rt.shutdown(Duration::from_secs(5)).unwrap();
    });
}

/// Handle::shutdown from all sorts of places.
#[test]
fn shutdowns_from_anywhere() {
    all(|policy, workers, rt| {
        let h = (*rt).clone();
        for kind in 0..5 {
            let rt2 = Runtime::builder()
                .workers(workers)
                .policy(policy)
                .build()
                .unwrap();
            let h2 = (*rt2).clone();
            let group = rt2.group();
            let hh = h2.clone();
            let state = OnDrop(move || {
                hh.shutdown(Duration::from_secs(3));
                hh.shutdown(Duration::ZERO);
            });
            let c = group.colored(state);
            let task = group.spawn(poll_fn(|_| Poll::<()>::Pending));
            match kind {
                0 => drop(c),
                1 => c.stop(Pending::Drop),
                2 => {
                    let hh = h2.clone();
                    c.post(move |_, _| {
                        let _d = OnDrop(|| {
                            hh.shutdown(Duration::from_secs(2));
                        });
                        boom()
                    });
                }
                3 => {
                    let hh = h2.clone();
                    drop(c.post_every(Duration::from_micros(100), move |_, _| {
                        hh.shutdown(Duration::from_secs(1));
                    }));
                }
                _ => group.stop(Pending::Run),
            }
            let t = Instant::now();
            h.color(3).post(move |_, _| drop(h2.metrics()));
            rt2.shutdown(Duration::from_secs(5)).unwrap();
            assert!(t.elapsed() < Duration::from_secs(4), "{kind}");
            group.wait().unwrap();
            assert!(task.wait().is_err());
        }
        drop(rt);
    });
}

/// Odd payloads.
#[test]
fn payloads() {
    all(|_, _, rt| {
        let c = rt.colored(0u8);
        let (c2, c3) = (c.clone(), c.clone());
        let odd = c.try_with(move |_| -> () {
            resume_unwind(Box::new(OnDrop(move || {
                c2.post(|n, _| *n += 1);
                drop(c2.try_with(|_| ()));
                boom()
            })))
        });
        assert_eq!(
            odd,
            Err(CallError::Panicked("its payload is no text".into()))
        );
        let big = "x".repeat(1 << 20);
        let b2 = big.clone();
        assert_eq!(
            c.try_with(move |_| -> () { resume_unwind(Box::new(b2)) }),
            Err(CallError::Panicked(big.into()))
        );
        let t = c.spawn(async move {
            let _d = OnDrop(move || c3.stop(Pending::Run));
            boom::<()>()
        });
        assert_eq!(t.wait(), Err(CallError::Panicked("boom".into())));
        rt.settle();
        assert!(c.is_stopped());
        // A result whose destructor panics, of a reply that nobody wants.
        let d = rt.colored(0u8);
        let r = d.call(|_, _| OnDrop(|| boom()));
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(r)));
        let r = d.spawn(async { OnDrop(|| boom()) });
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(r)));
        // A waker that panics.
        struct W;
        impl Wake for W {
            fn wake(self: Arc<Self>) {
                boom()
            }
        }
        let mut r = d.call(|_, _| 1);
        let _ = Pin::new(&mut r).poll(&mut Cx::from_waker(&Arc::new(W).into()));
        rt.settle();
        assert_eq!(d.with(|n| *n), 0);
        rt.shutdown(Duration::from_secs(5)).unwrap();
    });
}

/// Group: waits, races of joining and stopping, members that end each other.
#[test]
fn groups_race() {
    all(|policy, workers, rt| {
        for i in 0..60u32 {
            let group = rt.group();
            let stopped = Arc::new(AtomicBool::new(false));
            let drops = Arc::new(AtomicU32::new(0));
            let made = Arc::new(AtomicU32::new(0));
            let t: Vec<_> = (0..2)
                .map(|_| {
                    let (g, d, m, s) =
                        (group.clone(), drops.clone(), made.clone(), stopped.clone());
                    thread::spawn(move || {
                        let mut kept = vec![];
                        for k in 0..30 {
                            m.fetch_add(1, SeqCst);
                            let (d2, g2) = (d.clone(), g.clone());
                            let state = OnDrop(move || {
                                d2.fetch_add(1, SeqCst);
                                let _ = g2.is_over();
                            });
                            let c = g.colored(state);
                            let g3 = g.clone();
                            c.post(move |_, _| {
                                if k == 13 {
                                    g3.stop(Pending::Run);
                                    s_true(&g3);
                                }
                            });
                            drop(g.spawn(poll_fn(|_| Poll::<()>::Pending)));
                            kept.push(c);
                        }
                        let _ = s;
                        kept
                    })
                })
                .collect();
            for _ in 0..i * 20 {
                std::hint::spin_loop();
            }
            group.stop(if i % 2 == 0 {
                Pending::Run
            } else {
                Pending::Drop
            });
            stopped.store(true, SeqCst);
            let kept: Vec<_> = t.into_iter().map(|t| t.join().unwrap()).collect();
            group.stop(Pending::Drop);
            group.wait().unwrap();
            assert_eq!(
                drops.load(SeqCst),
                made.load(SeqCst),
                "{policy}/{workers}: all states are dropped when it is over"
            );
            drop(kept);
        }
        rt.settle();
        assert_eq!(rt.metrics().events.pending(), 0);
        rt.shutdown(Duration::from_secs(5)).unwrap();
    });
}
fn s_true(_: &Group) {}

/// Weak references against the last drop.
#[test]
fn weak_races() {
    all(|policy, _, rt| {
        let drops = Arc::new(AtomicU32::new(0));
        let n = 300;
        for _ in 0..n {
            let d = drops.clone();
            let c = rt.colored(OnDrop(move || {
                d.fetch_add(1, SeqCst);
            }));
            let weak = c.downgrade();
            let t: Vec<_> = (0..2)
                .map(|_| {
                    let w = weak.clone();
                    thread::spawn(move || {
                        let mut n = 0;
                        while let Some(c) = w.upgrade() {
                            c.post(|_, _| ());
                            let x = c.downgrade();
                            drop(c);
                            let _ = x.upgrade();
                            n += 1;
                            if n > 200 {
                                break;
                            }
                        }
                    })
                })
                .collect();
            c.post(move |_, _| ());
            drop(c);
            for t in t {
                t.join().unwrap();
            }
            rt.settle();
            let end = Instant::now() + Duration::from_secs(5);
            while weak.upgrade().is_some() {
                assert!(Instant::now() < end, "{policy}");
            }
        }
        rt.shutdown(Duration::from_secs(5)).unwrap();
        assert_eq!(drops.load(SeqCst), n);
    });
}

/// Many stopped with many pending, in linear time.
#[test]
fn many() {
    for policy in [Policy::Adaptive, Policy::LibasyncSmp] {
        let rt = Runtime::builder()
            .workers(2)
            .policy(policy)
            .build()
            .unwrap();
        for n in [50_000u32, 100_000, 200_000] {
            let at = Instant::now();
            let group = rt.group();
            let kept: Vec<_> = (0..n)
                .map(|_| {
                    let c = group.colored(String::new());
                    c.post(|_, _| ());
                    c
                })
                .collect();
            let made = at.elapsed();
            group.stop(Pending::Run);
            group.wait().unwrap();
            eprintln!("{policy} {n}: made {made:?} all {:?}", at.elapsed());
            drop(kept);
        }
        within("drop", 10, move || drop(rt));
    }
}

/// Restarting over and over: no leak, no recursion; a state of many attached.
#[test]
fn restart_often() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let live = Arc::new(());
    let l = live.clone();
    let c = rt
        .color_options()
        .restarting(move || (l.clone(), vec![0u8; 1000]))
        .unwrap();
    for _ in 0..2000 {
        drop(c.attach(live.clone()));
    }
    let at = Instant::now();
    for _ in 0..20_000 {
        c.post(|_, _| boom());
    }
    rt.settle();
    eprintln!("20000 restarts with 2000 attached: {:?}", at.elapsed());
    assert_eq!(Arc::strong_count(&live), 2000 + 3);
    assert_eq!(rt.metrics().events.pending(), 0);
}
