//! `cancel` of a repeating timer said `true`: "none will begin any more".
use mely::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

#[test]
fn begins_after_cancel() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let late = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let mut n = 0u64;
    while begin.elapsed() < Duration::from_secs(20) && late.load(SeqCst) == 0 {
        n += 1;
        let color = rt.colored(0u8);
        let cancelled = Arc::new(AtomicBool::new(false));
        let started = Arc::new(AtomicBool::new(false));
        let (c, l, s) = (cancelled.clone(), late.clone(), started.clone());
        let timer = color.post_every(Duration::ZERO, move |_, _| {
            if c.load(SeqCst) {
                l.fetch_add(1, SeqCst);
            }
            s.store(true, SeqCst);
        });
        let end = Instant::now() + Duration::from_millis(50);
        while !started.load(SeqCst) && Instant::now() < end {}
        for _ in 0..n % 300 {
            std::hint::spin_loop();
        }
        if timer.cancel() {
            cancelled.store(true, SeqCst);
        }
    }
    rt.settle();
    assert_eq!(late.load(SeqCst), 0, "after {n} rounds");
}

/// A destructor on the monitor's thread may wait for ever.
#[test]
fn monitor_runs_destructors() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let where_ = Arc::new(std::sync::Mutex::new(vec![]));
    struct D(Arc<std::sync::Mutex<Vec<String>>>, Color);
    impl Drop for D {
        fn drop(&mut self) {
            let n = std::thread::current().name().unwrap_or("?").to_owned();
            let w = self.1.try_with(|_| ());
            self.0.lock().unwrap().push(format!("{n} {w:?}"));
        }
    }
    let busy = rt.color_options().pinned(0).fresh().unwrap();
    let stopped = rt.color_options().home(0).colored(0u8).unwrap();
    let on1 = rt.color_options().pinned(1).colored(0u64).unwrap();
    // Kept by worker 0: made there.
    let (w, b2, s2, o2) = (where_.clone(), busy.clone(), stopped.clone(), on1.clone());
    let (tx, rx) = std::sync::mpsc::channel();
    busy.call(move |_, _| {
        let d = D(w, b2);
        drop(s2.post_after(Duration::from_millis(30), move |_, _| drop(d)));
        drop(o2.post_after(Duration::from_millis(60), move |_, _| {
            let _ = tx.send(());
        }));
    })
    .wait()
    .unwrap();
    stopped.stop(Pending::Drop);
    // Worker 0 waits for what its timer does on worker 1: the monitor fires it.
    let got = busy
        .call(move |_, _| rx.recv_timeout(Duration::from_secs(3)).is_ok())
        .wait();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(
        got,
        Ok(true),
        "destructor ran on {:?}",
        where_.lock().unwrap()
    );
}
