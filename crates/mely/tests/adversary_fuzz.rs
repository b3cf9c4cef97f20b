//! Everything at once, under every policy.
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context as Cx, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mely::*;

const MAGIC: u64 = 0x5EED_5EED_5EED_5EED;
static BAD: Mutex<Vec<String>> = Mutex::new(Vec::new());
fn bad(what: &str) {
    let mut all = BAD.lock().unwrap();
    if all.len() < 50 {
        all.push(what.to_owned());
    }
}

struct Live(Arc<AtomicI64>);
impl Live {
    fn new(n: &Arc<AtomicI64>) -> Self {
        n.fetch_add(1, Relaxed);
        Live(n.clone())
    }
}
impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[derive(Default)]
struct Watch {
    running: AtomicBool,
    ended: AtomicBool,
}
struct Guard<'a>(&'a Watch);
impl Watch {
    fn enter(&self, what: &str) -> Guard<'_> {
        if self.running.swap(true, Acquire) {
            bad(&format!("two at once: {what}"));
        }
        if self.ended.load(Relaxed) {
            bad(&format!("event after own stop: {what}"));
        }
        Guard(self)
    }
}
impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.running.store(false, Release);
    }
}

struct S {
    canary: u64,
    last: Box<[u64; 16]>,
    n: u64,
    watch: Arc<Watch>,
    _live: Live,
    evil: u8,
    own: Option<WeakColored<S>>,
    handle: Handle,
    keep: Option<Colored<S>>,
}
impl S {
    fn check(&mut self, what: &str) {
        if self.canary != MAGIC {
            bad(&format!("dead state in {what}"));
        }
        self.n = self.n.wrapping_add(1);
        let x = self.last[15];
        self.last[15] = x.wrapping_add(1);
    }
}
impl Drop for S {
    fn drop(&mut self) {
        if self.watch.running.load(Acquire) {
            bad("state dropped while an event of its color runs");
        }
        if self.canary != MAGIC {
            bad("state dropped twice");
        }
        self.canary = 0xDEAD;
        let own = self.own.as_ref().and_then(WeakColored::upgrade);
        match self.evil % 6 {
            0 => {
                if let Some(own) = &own {
                    own.post(|s, _| s.check("posted by own drop"));
                }
            }
            1 => {
                if let Some(own) = &own {
                    own.stop(Pending::Drop);
                    own.stop(Pending::Run);
                }
            }
            2 => {
                if let Some(own) = &own {
                    drop(own.attach(5u8));
                    drop(own.spawn(async {}));
                }
            }
            3 => resume_unwind(Box::new("state drop")),
            4 => {
                let c = self.handle.colored(1u8);
                c.post(|n, _| *n += 1);
                c.stop(Pending::Run);
            }
            _ => {}
        }
        if let Some(own) = own {
            let _ = own.try_with(|s| s.check("with in drop"));
        }
    }
}

struct OnDrop<F: FnMut() + Send>(F);
impl<F: FnMut() + Send> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)()
    }
}

#[derive(Clone)]
struct C {
    c: Colored<S>,
    w: Arc<Watch>,
}

fn make(
    h: &Handle,
    live: &Arc<AtomicI64>,
    r: &mut fastrand::Rng,
    group: &Group,
    workers: usize,
) -> C {
    let w = Arc::new(Watch::default());
    let state = {
        let (w, live, h) = (w.clone(), live.clone(), h.clone());
        move |evil| S {
            canary: MAGIC,
            last: Box::new([0; 16]),
            n: 0,
            watch: w.clone(),
            _live: Live::new(&live),
            evil,
            own: None,
            handle: h.clone(),
            keep: None,
        }
    };
    let mut o = h.color_options();
    if r.bool() {
        o = o.capacity(r.usize(1..20));
    }
    match r.u8(..3) {
        0 => o = o.pinned(r.usize(..workers)),
        1 => o = o.home(r.usize(..workers)),
        _ => {}
    }
    let evil = r.u8(..);
    let c = match r.u8(..6) {
        0 | 1 => {
            let mut r2 = r.fork();
            let mut first = true;
            o.restarting(move || {
                let e = r2.u8(..);
                if !std::mem::replace(&mut first, false) && e < 10 && r2.bool() {
                    resume_unwind(Box::new("make"));
                }
                state(e)
            })
            .unwrap_or_else(|_| unreachable!())
        }
        2 => o
            .on_panic(OnPanic::PoisonColor)
            .colored(state(evil))
            .unwrap(),
        3 => group.adopt(o.fresh().unwrap(), state(evil)),
        4 => group.colored(state(evil)),
        _ => o.colored(state(evil)).unwrap(),
    };
    let weak = c.downgrade();
    let keep = r.u8(..8) == 0;
    c.post(move |s, cx| {
        s.own = Some(weak);
        if keep {
            s.keep = Some(cx.colored());
        }
    });
    C { c, w }
}

fn go(policy: Policy, workers: usize, seed: u64, single: bool, ops: u32, threads: u64) {
    let b = Runtime::builder().workers(workers).policy(policy);
    let b = if single {
        b.reactor(ReactorKind::Single)
    } else {
        b
    };
    let rt = b.build().unwrap();
    let live = Arc::new(AtomicI64::new(0));
    let group = rt.group();
    let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
    let colors: Vec<Mutex<(C, [u64; 15])>> = {
        let mut r = fastrand::Rng::with_seed(seed);
        (0..12)
            .map(|_| Mutex::new((make(&rt, &live, &mut r, &group, workers), [0; 15])))
            .collect()
    };
    let seqs = AtomicU64::new(1);
    thread::scope(|scope| {
        for t in 0..threads {
            let (colors, rt, live, group, wakers, seqs) =
                (&colors, &rt, &live, &group, &wakers, &seqs);
            scope.spawn(move || {
                let mut r = fastrand::Rng::with_seed(seed * 31 + t);
                let mut timers: Vec<Timer> = vec![];
                let mut replies: Vec<Reply<u64>> = vec![];
                for _ in 0..ops {
                    let at = r.usize(..colors.len());
                    let C { c, w } = {
                        let l = colors[at].lock().unwrap();
                        l.0.clone()
                    };
                    let l = Live::new(live);
                    let me = t as usize;
                    match r.u8(..32) {
                        0..8 => {
                            // In the order of one thread: each (thread, color) has growing numbers.
                            let seq = seqs.fetch_add(1, Relaxed);
                            c.post(move |s, _| {
                                let _l = l;
                                let _g = w.enter("post");
                                s.check("post");
                                if s.last[me] >= seq {
                                    bad("order");
                                }
                                s.last[me] = seq;
                            });
                        }
                        8 => c.post(move |s, cx| {
                            let _l = l;
                            {
                                let _g = w.enter("chain");
                                s.check("chain");
                            }
                            let w2 = w.clone();
                            cx.post(move |s, _| {
                                let _g = w2.enter("cx.post");
                                s.check("cx.post");
                            });
                        }),
                        9 => c.post(move |s, _| {
                            let _l = l;
                            let _g = w.enter("panic");
                            s.check("panic");
                            resume_unwind(Box::new(OnDrop(|| ())));
                        }),
                        10 => {
                            let p = if r.bool() {
                                Pending::Run
                            } else {
                                Pending::Drop
                            };
                            c.stop(p);
                            let n = make(rt, live, &mut r, group, workers);
                            colors[at].lock().unwrap().0 = n;
                        }
                        11 => {
                            let n = make(rt, live, &mut r, group, workers);
                            colors[at].lock().unwrap().0 = n;
                            c.post(move |s, cx| {
                                let _l = l;
                                {
                                    let _g = w.enter("stop own");
                                    s.check("stop own");
                                    cx.colored().stop(Pending::Drop);
                                    w.ended.store(true, Relaxed);
                                    s.check("after own stop");
                                }
                                cx.post(|_, _| bad("posted after own stop"));
                            });
                        }
                        12 => {
                            let n = make(rt, live, &mut r, group, workers);
                            colors[at].lock().unwrap().0 = n;
                            let c2 = c.clone();
                            let d = OnDrop(move || c2.stop(Pending::Drop));
                            c.post(move |s, _| {
                                let _l = l;
                                let _d = &d;
                                s.check("stop in drop");
                            });
                        }
                        13 => timers.push(c.post_after(
                            Duration::from_micros(r.u64(..2000)),
                            move |s, _| {
                                let _l = &l;
                                let _g = w.enter("timer");
                                s.check("timer");
                            },
                        )),
                        14 => timers.push(c.post_every(
                            Duration::from_micros(r.u64(..2000)),
                            move |s, _| {
                                let _l = &l;
                                let _g = w.enter("every");
                                s.check("every");
                                if s.n % 64 == 0 {
                                    resume_unwind(Box::new("every"));
                                }
                            },
                        )),
                        15 => {
                            if let Some(t) = timers.get(r.usize(..timers.len().max(1))) {
                                t.reset_after(Duration::from_micros(r.u64(..3000)));
                            }
                        }
                        16 => {
                            if !timers.is_empty() {
                                timers.swap_remove(r.usize(..timers.len())).cancel();
                            }
                        }
                        17 => replies.push(c.call(move |s, _| {
                            let _l = l;
                            let _g = w.enter("call");
                            s.check("call");
                            s.n
                        })),
                        18 => {
                            if let Some(rep) = replies.pop() {
                                if r.bool() {
                                    rep.cancel();
                                } else if let Err(rep) =
                                    rep.wait_timeout(Duration::from_micros(r.u64(..200)))
                                {
                                    rep.cancel();
                                }
                            }
                        }
                        19 => {
                            let _ = c.try_with(|s| {
                                let _g = w.enter("with");
                                s.check("with");
                            });
                        }
                        20..23 => {
                            let wk = wakers.clone();
                            let turns = r.u8(..5);
                            let fail = r.u8(..6) == 0;
                            let stop = r.u8(..6) == 0;
                            let rep = c.spawn_with(async move |mut own: TaskState<S>| {
                                let l = l;
                                for _ in 0..turns {
                                    let _ = own.try_with(|s| {
                                        let _g = w.enter("task");
                                        s.check("task");
                                        if fail && s.n % 3 == 0 {
                                            resume_unwind(Box::new("task"));
                                        }
                                    });
                                    if stop {
                                        own.colored().stop(Pending::Drop);
                                        own.with(|s| s.check("task after stop"));
                                    }
                                    let mut once = false;
                                    poll_fn(|cx| {
                                        if once {
                                            return Poll::Ready(());
                                        }
                                        once = true;
                                        let mut v = wk.lock().unwrap();
                                        v.push(cx.waker().clone());
                                        Poll::Pending
                                    })
                                    .await;
                                }
                                drop(l);
                                // It goes with the future, or is abused after.
                                drop(OnDrop(move || {
                                    let _ = own.try_with(|s| {
                                        let _g = w.enter("task drop");
                                        s.check("task in drop")
                                    });
                                }));
                                0u64
                            });
                            if r.bool() {
                                replies.push(rep);
                            }
                        }
                        23 | 24 => {
                            let w = {
                                let mut v = wakers.lock().unwrap();
                                if v.is_empty() {
                                    None
                                } else {
                                    let at = r.usize(..v.len());
                                    Some(v.swap_remove(at))
                                }
                            };
                            if let Some(w) = w {
                                w.wake();
                            }
                        }
                        25 | 26 => {
                            let weak = c.downgrade();
                            drop(c);
                            let w2 = weak.clone();
                            if let Some(c) = weak.upgrade() {
                                c.post(move |s, _| {
                                    let _l = l;
                                    s.check("weak");
                                    if let Some(c) = w2.upgrade() {
                                        drop(c.clone());
                                    }
                                });
                            }
                        }
                        27 => {
                            let n = make(rt, live, &mut r, group, workers);
                            let old = std::mem::replace(&mut colors[at].lock().unwrap().0, n);
                            let weak = old.c.downgrade();
                            drop((old, c));
                            if let Some(c) = weak.upgrade() {
                                let _ = c.try_post(|s, _| s.check("upgraded late"));
                            }
                        }
                        28 => {
                            let rep = group.spawn(async move {
                                let _l = l;
                                5u64
                            });
                            replies.push(rep);
                        }
                        29 => {
                            let other = {
                                let l = colors[r.usize(..colors.len())].lock().unwrap();
                                l.0.clone()
                            };
                            c.post(move |s, cx| {
                                let _l = l;
                                s.check("x");
                                let o = other;
                                if s.n % 7 == 0 {
                                    o.c.stop(Pending::Run);
                                } else {
                                    o.c.post(|s, _| s.check("y"));
                                }
                                if let Err(CallError::InsideHandler) = o.c.try_with(|_| ()) {
                                } else {
                                    bad("with in handler")
                                }
                                let _ = cx.now();
                            });
                        }
                        30 => {
                            let a = c.attach(OnDrop(move || {
                                let _ = &l;
                            }));
                            a.post(|_, _| ());
                        }
                        _ => {
                            let sub = rt.group();
                            let g2 = sub.clone();
                            let _m = sub.colored(OnDrop(move || {
                                let _ = (&l, g2.is_over());
                                g2.stop(Pending::Drop);
                            }));
                            let rep = sub.spawn(async { poll_fn(|_| Poll::<()>::Pending).await });
                            sub.stop(Pending::Drop);
                            if sub.wait().is_err() {
                                bad("group wait");
                            }
                            if rep.wait().is_ok() {
                                bad("pending task ok");
                            }
                        }
                    }
                    if replies.len() > 20 {
                        replies.clear();
                    }
                    if timers.len() > 40 {
                        for t in timers.drain(..20) {
                            t.cancel();
                        }
                    }
                }
                for t in timers {
                    t.cancel();
                }
            });
        }
    });
    let report = rt.handle_shutdown();
    let (metrics, report) = report;
    drop(colors);
    let all: Vec<Waker> = std::mem::take(&mut *wakers.lock().unwrap());
    for w in all {
        let _ = catch_unwind(AssertUnwindSafe(|| w.wake()));
    }
    let pending = metrics.metrics().events.pending();
    if let Err(e) = report {
        bad(&format!("{policy}/{workers}/{seed}: {e}"));
    }
    if pending != 0 {
        bad(&format!("{policy}/{workers}/{seed}: pending {pending}"));
    }
    if !group.is_over() {
        bad(&format!(
            "{policy}/{workers}/{seed}: group not over {group:?}"
        ));
    }
    drop(metrics);
    let n = live.load(SeqCst);
    if n != 0 {
        bad(&format!("{policy}/{workers}/{seed}: {n} things leaked"));
    }
}

trait Ends {
    fn handle_shutdown(self) -> (Handle, Result<ShutdownReport, String>);
}
impl Ends for Runtime {
    fn handle_shutdown(self) -> (Handle, Result<ShutdownReport, String>) {
        let h: Handle = (*self).clone();
        if h.metrics().events.pending() % 3 == 0 {
            h.shutdown(Duration::from_secs(5));
        }
        let r = self
            .shutdown(Duration::from_secs(5))
            .map_err(|e| e.to_string());
        (h, r)
    }
}

#[test]
fn fuzz() {
    let env = |n: &str, d: u64| {
        std::env::var(n)
            .ok()
            .and_then(|s| s.parse().ok())
            .unwrap_or(d)
    };
    let (seeds, first, ops) = (env("SEEDS", 3), env("FIRST", 0), env("OPS", 3000) as u32);
    let begin = Instant::now();
    let limit = Duration::from_secs(env("SECS", 100));
    let only = std::env::var("POLICY").ok();
    'all: for seed in first..first + seeds {
        for policy in Policy::ALL {
            if std::env::var("NO_FIFO").is_ok()
                && policy.heuristics().queues == QueueKind::EventFifo
            {
                continue;
            }
            if only.as_ref().is_some_and(|o| *o != policy.to_string()) {
                continue;
            }
            for workers in [1, 2, 8] {
                if begin.elapsed() > limit {
                    break 'all;
                }
                let (tx, rx) = mpsc::channel();
                thread::spawn(move || {
                    go(policy, workers, seed, seed % 3 == 1, ops, 3);
                    let _ = tx.send(());
                });
                if rx.recv_timeout(Duration::from_secs(60)).is_err() {
                    bad(&format!("HANG/panic {policy}/{workers}/{seed}"));
                    break 'all;
                }
                let n = BAD.lock().unwrap().len();
                if n > 0 {
                    eprintln!(
                        "{policy}/{workers}/{seed}: {:?}",
                        std::mem::take(&mut *BAD.lock().unwrap())
                    );
                    FAILED.store(true, Relaxed);
                }
            }
        }
    }
    let all = BAD.lock().unwrap();
    assert!(all.is_empty() && !FAILED.load(Relaxed), "{all:?}");
    let _: Option<Pin<Box<dyn Future<Output = ()>>>> = None;
    let _: Option<Cx<'_>> = None;
}
static FAILED: AtomicBool = AtomicBool::new(false);
