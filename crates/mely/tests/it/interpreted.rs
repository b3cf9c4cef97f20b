//! Short programs for an interpreter that sees undefined behaviour: the whole runtime,
//! under every policy. `cargo xtask miri` runs them there, by the name of this module.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mely::net::TcpStream;
use mely::{
    CallError, Colored, Handler, OnPanic, Pending, Policy, Runtime, ShutdownReport, TaskState,
};

use crate::support::{Gate, Stress, block_on, echo, silent_panic};

/// To build and to end a runtime takes an interpreter longer than these programs do.
const PROGRAMS: [fn(&Runtime); 9] = [
    states_are_changed_attached_and_dropped,
    colors_are_passed_on_while_they_end,
    destructors_post_and_panic,
    tasks_call_and_wait,
    tasks_own_states,
    colors_end_in_many_ways,
    timers_fire_and_are_cancelled,
    sections_borrow_and_panics_poison,
    sockets_echo,
];

fn policies() -> &'static [Policy] {
    Stress::get().pick(&[Policy::Adaptive], &Policy::ALL, &Policy::ALL)
}

fn run_programs(policy: Policy, workers: usize) {
    let builder = Runtime::builder().workers(workers).policy(policy);
    let builder = builder.on_panic(OnPanic::PoisonColor);
    let rt = builder.build().expect("a runtime");
    for program in PROGRAMS {
        program(&rt);
    }
    let ended = rt.shutdown(Duration::from_secs(60));
    assert_eq!(ended.map(|report: ShutdownReport| report.held), Ok(vec![]));
}

/// Runs the programs until everything they posted is done.
#[test]
fn programs_under_every_policy() {
    for &policy in policies() {
        run_programs(policy, 2);
    }
}

#[test]
fn programs_with_one_worker() {
    let both = [Policy::LibasyncSmp, Policy::Adaptive];
    for &policy in Stress::get().pick(&both[..1], &both, &both) {
        run_programs(policy, 1);
    }
}

fn states_are_changed_attached_and_dropped(rt: &Runtime) {
    let (a, token) = (rt.colored(vec![0u8]), Arc::new(()));
    let b = a.attach((String::new(), Arc::clone(&token)));
    for n in 1..4 {
        a.post_or_shed(move |bytes, cx| {
            bytes.push(n);
            cx.post_or_shed(move |bytes, _| bytes.push(10 * n));
        });
        b.post_or_shed(move |(text, _), cx| {
            text.push('x');
            let me = cx.colored();
            cx.post_parallel(move |(), _| me.post_or_shed(|(text, _), _| text.push('y')));
        });
    }
    let copied = a.blocking_with(|bytes| bytes.clone());
    assert!(copied.starts_with(&[0, 1]));
    rt.wait_idle();
    assert_eq!(b.blocking_with(|(text, _)| text.len()), 6);
    drop((a, b));
    // The last event may still be giving up the color.
    while Arc::strong_count(&token) > 1 {
        std::thread::yield_now();
    }
}

fn colors_are_passed_on_while_they_end(rt: &Runtime) {
    let sum = Arc::new(AtomicU32::new(0));
    let relay = rt.new_color();
    for n in 0..4 {
        let short_lived = rt.colored(Box::new(n));
        let (relay, sum) = (relay.clone(), Arc::clone(&sum));
        short_lived.clone().post_or_shed(move |_, cx| {
            let me = cx.colored();
            relay.post_or_shed(move |(), _| {
                me.post_or_shed(move |n, _| {
                    sum.fetch_add(**n, SeqCst);
                });
            });
        });
        drop(short_lived);
    }
    rt.wait_idle();
    assert_eq!(sum.load(SeqCst), 6);
}

/// Posts when it is dropped, and panics then.
struct Last(Colored<Vec<u8>>, Arc<()>);

impl Drop for Last {
    fn drop(&mut self) {
        let kept = Arc::clone(&self.1);
        self.0.post_or_shed(move |bytes, _| {
            bytes.push(1);
            drop(kept);
        });
        silent_panic();
    }
}

fn destructors_post_and_panic(rt: &Runtime) {
    let (notes, token) = (rt.colored(Vec::new()), Arc::new(()));
    let last = || Last(notes.clone(), Arc::clone(&token));
    let color = rt.colored(last());
    drop(color.attach(last()));
    let captured = last();
    let timer = color.post_after(Duration::from_secs(3_600), move |_, _| drop(captured));
    color.post_or_shed(|_, _| ());
    assert!(timer.cancel());
    drop(color);
    while Arc::strong_count(&token) > 1 {
        std::thread::yield_now();
    }
    assert_eq!(notes.blocking_with(|bytes| bytes.len()), 3);
}

fn tasks_call_and_wait(rt: &Runtime) {
    let (from, to) = (rt.colored(Box::new(10)), rt.colored(String::new()));
    let to_there = to.clone();
    let task = from.spawn(async move {
        for _ in 0..2 {
            let written = to_there.call(|text, _| {
                text.push('x');
                text.len()
            });
            written.await?;
        }
        to_there.call(|text, _| text.clone()).await
    });
    assert_eq!(block_on(task), Ok(Ok("xx".to_owned())));
    let never = to.spawn(std::future::pending::<()>());
    drop((from, to, never));
}

/// Asks for its state where it is dropped.
struct Asks(TaskState<Vec<u32>>, Arc<AtomicU32>);

impl Drop for Asks {
    fn drop(&mut self) {
        if self.0.try_with(|list| list.push(9)).is_err() {
            self.1.fetch_add(1, SeqCst);
        }
    }
}

fn tasks_own_states(rt: &Runtime) {
    let (list, refused) = (rt.colored(vec![0]), Arc::new(AtomicU32::new(0)));
    let other = rt.colored(7);
    let tasks: Vec<_> = (0..2)
        .map(|n| {
            let other = other.clone();
            list.spawn_with(async move |mut own: TaskState<Vec<u32>>| {
                for _ in 0..3 {
                    own.with(|list| list.push(n));
                    own.colored().post_or_shed(|list, _| list.push(5));
                    other.call(|n, _| *n += 1).await?;
                }
                // The other one's events and polls have come between.
                own.with(|list| list.push(8));
                Ok::<_, CallError>(own)
            })
        })
        .collect();
    for task in tasks {
        // Here nobody polls the task.
        let mut own = task
            .wait()
            .expect("it ends")
            .expect("each call is answered");
        assert_eq!(
            own.try_with(|list| list.clear()),
            Err(CallError::OutsideTask)
        );
        let section = list.try_blocking_with(|_| own.try_with(|list| list.clear()));
        assert_eq!(section, Ok(Err(CallError::OutsideTask)));
    }
    let asks = Arc::clone(&refused);
    let given_up = list.spawn_with(async move |own| {
        let _asks = Asks(own, asks);
        std::future::pending::<()>().await;
    });
    let panicked = list.spawn_with(async |mut own| own.with(|_| silent_panic()));
    // With a text of the panic it poisons its color.
    assert_eq!(panicked.wait(), crate::support::panicked::<()>());
    drop(list);
    // The first poll, or the poison, comes before the end.
    drop(given_up);
    assert!(refused.load(SeqCst) <= 1);
}

fn colors_end_in_many_ways(rt: &Runtime) {
    let (token, group) = (Arc::new(()), rt.group());
    // Found again by a weak reference, and not any more.
    let color = rt.colored((0, Arc::clone(&token)));
    let weak = color.downgrade();
    let (ticked, gate) = (Gate::default(), Gate::default());
    let tick = ticked.clone();
    let timer = color.post_every(Duration::from_millis(1), move |(n, _), _| {
        *n += 1;
        tick.arrive();
    });
    assert!(timer.reset_after(Duration::ZERO) && timer.reset_after(Duration::from_micros(1)));
    ticked.pass("it comes");
    weak.upgrade()
        .expect("it lives")
        .post_or_shed(|(n, _), _| *n += 1);
    drop(color);
    // Stopped by itself, from outside, and after what waits.
    for n in 0..3 {
        let color = group.colored((n, Arc::clone(&token)));
        let kept = color.clone();
        let wait = gate.clone();
        color.post_or_shed(move |(n, _), cx| {
            wait.pass("others have posted");
            if *n == 0 {
                cx.colored().stop(Pending::Drop);
            }
            cx.post_or_shed(|(n, _), _| *n += 1);
        });
        (0..3).for_each(|_| color.post_or_shed(|(n, _), _| *n += 1));
        match n {
            1 => kept.stop(Pending::Drop),
            _ => kept.stop(Pending::Run),
        }
        gate.arrive();
        while !kept.is_stopped() {
            std::thread::yield_now();
        }
        let (small, large) = (Arc::clone(&token), [Arc::clone(&token), Arc::clone(&token)]);
        drop(
            kept.post(move |_, _| drop(small))
                .expect_err("it is stopped"),
        );
        drop(
            kept.post(move |_, _| drop(large))
                .expect_err("it is stopped"),
        );
    }
    assert_eq!(group.spawn(async { 7 }).wait(), Ok(7));
    drop(group.spawn(std::future::pending::<()>()));
    assert_eq!(group.wait(), Ok(()));
    // Made anew after a panic, beside other states.
    let (made, kept) = (Arc::new(AtomicU32::new(0)), Arc::clone(&token));
    let make = move || (vec![made.fetch_add(1, SeqCst)], Arc::clone(&kept));
    let color = rt.color_options().restarting(make).expect("no home");
    let beside = color.attach(String::from("x"));
    assert!(
        color
            .try_blocking_with(|_| -> () { silent_panic() })
            .is_err()
    );
    assert_eq!(color.blocking_with(|(list, _)| list.clone()), [1]);
    assert_eq!(beside.blocking_with(|text| text.len()), 1);
    let cancelled = color.call(|(list, _), _| list.push(5)).cancel();
    assert_eq!(
        color.blocking_with(|(list, _)| list.len()),
        if cancelled { 1 } else { 2 }
    );
    drop((color, beside));
    while weak.upgrade().is_some() || timer.is_pending() || Arc::strong_count(&token) > 1 {
        std::thread::yield_now();
    }
}

fn timers_fire_and_are_cancelled(rt: &Runtime) {
    let (color, fired) = (rt.colored(String::from("a")), Gate::default());
    let gate = fired.clone();
    let soon = color.post_after(Duration::from_millis(1), move |text, cx| {
        text.push('b');
        cx.colored()
            .post_after(Duration::ZERO, move |_, _| gate.arrive());
    });
    let late = color.post_after(Duration::from_secs(3_600), |text, _| text.clear());
    fired.pass("a timer that a timer set");
    assert!(late.cancel() && !soon.cancel());
    let _ends_with_the_runtime = color.post_after(Duration::from_secs(3_600), |_, _| ());
    assert_eq!(color.blocking_with(|text| text.clone()), "ab");
}

fn sections_borrow_and_panics_poison(rt: &Runtime) {
    let color = rt.colored(vec![1, 2]);
    let (mut seen, added) = (Vec::new(), String::from("a borrowed text"));
    color.blocking_with(|list| {
        list.push(added.len());
        seen.clone_from(list);
    });
    assert_eq!(seen, [1, 2, 15]);
    let panicked = color.try_blocking_with(|_| -> () { silent_panic() });
    assert_eq!(panicked, crate::support::panicked());
    assert_eq!(
        color.try_blocking_with(|list| list.len()),
        Err(CallError::Poisoned)
    );
}

static ECHO: Handler = Handler::new("interpreted::Echo");

fn sockets_echo(rt: &Runtime) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let theirs = std::net::TcpStream::connect(address).expect("a connection");
    let (ours, _) = listener.accept().expect("the other end");
    let connection = rt.colored(None::<TcpStream>);
    let mut stream = TcpStream::new(ours).expect("non-blocking");
    let me = connection.clone();
    connection.blocking_with(move |slot| {
        let watched = stream.watch(&me, &ECHO, |slot, _, _| echo(slot));
        watched.expect("a watch");
        *slot = Some(stream);
    });
    (&theirs).write_all(b"hello").expect("room for it");
    let mut answer = [0; 5];
    (&theirs).read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"hello");
}

#[test]
fn a_shutdown_drops_what_is_left() {
    for &policy in policies() {
        let rt = Runtime::builder()
            .workers(2)
            .policy(policy)
            .build()
            .expect("a runtime");
        let token = Arc::new(());
        let colors: Vec<_> = (0..3).map(|_| rt.colored(Arc::clone(&token))).collect();
        for color in &colors {
            again(color);
            let (me, kept) = (color.clone(), Arc::clone(&token));
            color.attach(me.clone());
            color.post_after(Duration::from_secs(3_600), move |_, _| drop((me, kept)));
        }
        drop(colors);
        let ended = rt.shutdown(Duration::from_millis(1));
        let report = ended.expect_err("they go on for ever").report;
        // An interpreted worker may still be dropping what is left.
        assert!(!report.abandoned.is_empty() || !report.held.is_empty());
        while Arc::strong_count(&token) > 1 {
            std::thread::yield_now();
        }
    }
}

fn again(color: &Colored<Arc<()>>) {
    let me = color.clone();
    color.post_or_shed(move |_, _| again(&me));
}
