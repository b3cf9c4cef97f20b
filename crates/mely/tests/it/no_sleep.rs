//! Work and a sleeping worker never stay together: handlers that hold their core
//! until what waits there has run on another one.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use mely::{Color, Handler, Policy, Runtime, Snapshot};

use crate::support::{Gate, OpenOnDrop, WAIT, bounded, eventually, settle};

/// Its events are short: after the warm-up a color with one is not worth a steal.
static SHORT: Handler = Handler::new("no_sleep::Short");
/// Said to be long.
static LONG: Handler = Handler::new("no_sleep::Long").cost_cycles(10_000_000);

/// Pauses that take longer than what counts as long (64 000 cycles) on any machine.
const LONG_SPINS: u32 = 10_000;

/// Holds its core until the test lets go.
static HOLDER: Handler = Handler::new("no_sleep::Holder").cost_cycles(10_000_000);

const WAITING: u64 = 20;

/// The policies of the papers that steal.
fn papers() -> impl Iterator<Item = Policy> {
    let of_papers = |policy: &Policy| policy.heuristics().steal && !policy.heuristics().learn;
    Policy::ALL.into_iter().filter(of_papers)
}

/// Those that steal however short a color is.
fn papers_without_time_left() -> impl Iterator<Item = Policy> {
    papers().filter(|policy| !policy.heuristics().time_left)
}

fn runtime(workers: usize, policy: Policy) -> Runtime {
    Runtime::builder()
        .workers(workers)
        .policy(policy)
        .build()
        .expect("a runtime")
}

fn at_home(rt: &Runtime, worker: usize) -> Color {
    rt.color_options()
        .start_on(worker)
        .new_color()
        .expect("there is such a worker")
}

/// Lets the runtime learn that events of [`SHORT`] are short, on every worker.
fn learn_short(rt: &Runtime) {
    for worker in 0..rt.workers() {
        let color = rt.color_options().pin_to(worker).new_color();
        let color = color.expect("there is such a worker");
        for _ in 0..500 {
            color.with_handler(&SHORT).post_or_shed(|_, _| ());
        }
    }
    settle(rt);
}

/// What a held handler saw: whether all that it waited for ran in time.
fn verdict(what: &str, all_ran: bool, metrics: &Snapshot) {
    let sleeping: Vec<_> = metrics
        .workers
        .iter()
        .map(|w| (w.parks, w.steals, w.steal_misses))
        .collect();
    assert!(
        all_ran,
        "{what}: events waited beside a sleeping worker; (parks, steals, misses): {sleeping:?}"
    );
}

/// How a handler comes to hold the core that colors wait on.
#[derive(Clone, Copy, Debug)]
enum Holder {
    /// Its cost is not known yet.
    Unknown,
    /// Its cost is annotated.
    Annotated,
}

/// An event on worker 0 makes a holder ready and after it short colors, and
/// returns: they are private to worker 0 when the holder begins.
fn private_before(policy: Policy, holder: Holder) {
    let what = format!("private before, {policy}, {holder:?}");
    bounded(&what.clone(), move || {
        let rt = runtime(2, policy);
        learn_short(&rt);
        let (ran, verdict_of) = (Gate::default(), Gate::default());
        let all_ran = Arc::new(AtomicU64::new(2));
        let (held, starter) = (at_home(&rt, 0), at_home(&rt, 0));
        let colors: Vec<_> = (0..WAITING).map(|_| at_home(&rt, 0)).collect();
        let (gate, result, end) = (ran.clone(), Arc::clone(&all_ran), verdict_of.clone());
        starter.post_or_shed(move |_, _| {
            let hold = move |_: &mut (), _: &mut mely::Context<'_>| {
                let _end = OpenOnDrop(end);
                result.store(u64::from(gate.wait_for(WAITING, WAIT / 3)), Relaxed);
            };
            match holder {
                Holder::Unknown => held.post_or_shed(hold),
                Holder::Annotated => held.with_handler(&HOLDER).post_or_shed(hold),
            }
            for color in &colors {
                let ran = ran.clone();
                color
                    .with_handler(&SHORT)
                    .post_or_shed(move |_, _| ran.arrive());
            }
        });
        verdict_of.pass("the holder ends");
        verdict(&what, all_ran.load(Relaxed) == 1, &rt.metrics());
    });
}

#[test]
fn what_was_private_before_an_unknown_handler_is_stolen() {
    private_before(Policy::Adaptive, Holder::Unknown);
}

#[test]
fn what_was_private_before_a_long_handler_is_stolen() {
    private_before(Policy::Adaptive, Holder::Annotated);
}

/// Who sends colors to worker 0 while it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    /// The handler that holds it, before it waits.
    Holder,
    /// A thread that is no worker.
    Outside,
    /// A handler on the other worker.
    Worker,
}

/// Worker 0 is held, and colors that live there become ready meanwhile.
fn sent_while_held(policy: Policy, sender: Sender, handler: &'static Handler) {
    let what = format!("{} sent by {sender:?}, {policy}", handler.name());
    bounded(&what.clone(), move || {
        let rt = runtime(2, policy);
        learn_short(&rt);
        let colors: Vec<_> = (0..WAITING).map(|_| at_home(&rt, 0)).collect();
        let (ran, begun, ended) = (Gate::default(), Gate::default(), Gate::default());
        let send = {
            let ran = ran.clone();
            move || {
                for color in &colors {
                    let ran = ran.clone();
                    color
                        .with_handler(handler)
                        .post_or_shed(move |_, _| ran.arrive());
                }
            }
        };
        let mut send = Some(send);
        let by_holder = match sender {
            Sender::Holder => send.take(),
            _ => None,
        };
        let all_ran = Arc::new(AtomicU64::new(2));
        let holder = rt.color_options().pin_to(0).new_color().expect("worker 0");
        let (gate, result) = (ran.clone(), Arc::clone(&all_ran));
        let (begin, end) = (begun.clone(), ended.clone());
        holder.with_handler(&HOLDER).post_or_shed(move |_, _| {
            let _end = OpenOnDrop(end);
            begin.arrive();
            if let Some(send) = by_holder {
                send();
            }
            result.store(u64::from(gate.wait_for(WAITING, WAIT / 3)), Relaxed);
        });
        begun.pass("the holder begins");
        match (sender, send) {
            (Sender::Outside, Some(send)) => send(),
            (Sender::Worker, Some(send)) => {
                let other = rt.color_options().pin_to(1).new_color().expect("worker 1");
                other.post_or_shed(move |_, _| send());
            }
            _ => {}
        }
        ended.pass("the holder ends");
        verdict(&what, all_ran.load(Relaxed) == 1, &rt.metrics());
    });
}

#[test]
fn what_outsiders_send_to_a_held_core_is_stolen() {
    sent_while_held(Policy::Adaptive, Sender::Outside, &SHORT);
    sent_while_held(Policy::Adaptive, Sender::Outside, &LONG);
}

#[test]
fn what_is_sent_to_a_held_core_is_stolen_under_the_papers_policies_too() {
    // There a post goes right into the queue that thieves look at.
    for policy in papers() {
        sent_while_held(policy, Sender::Outside, &LONG);
        sent_while_held(policy, Sender::Worker, &LONG);
    }
}

#[test]
fn what_workers_send_to_a_held_core_is_stolen() {
    sent_while_held(Policy::Adaptive, Sender::Worker, &SHORT);
    sent_while_held(Policy::Adaptive, Sender::Worker, &LONG);
}

#[test]
fn long_colors_that_the_holder_posts_are_stolen() {
    for policy in papers().chain([Policy::Adaptive]) {
        sent_while_held(policy, Sender::Holder, &LONG);
    }
}

#[test]
fn short_colors_that_the_holder_posts_are_stolen() {
    for policy in papers_without_time_left().chain([Policy::Adaptive]) {
        sent_while_held(policy, Sender::Holder, &SHORT);
    }
}

/// A woken thief wakes the next: events of one core that all wait for each other
/// need every worker.
fn every_worker_is_woken(policy: Policy, workers: usize) {
    let what = format!("{workers} workers, {policy}");
    bounded(&what.clone(), move || {
        let rt = runtime(workers, policy);
        let starter = rt.color_options().pin_to(0).new_color().expect("worker 0");
        for _ in 0..20 {
            // A `Barrier` would hang the workers for good if one did not come.
            let (met, missed) = (Gate::default(), Arc::new(AtomicU64::new(0)));
            let colors: Vec<_> = (0..workers).map(|_| at_home(&rt, 0)).collect();
            let count = workers as u64;
            let given = Arc::clone(&missed);
            // From one event: all are there before the first holds the core.
            starter.post_or_shed(move |_, _| {
                for color in &colors {
                    let (met, missed) = (met.clone(), Arc::clone(&given));
                    color.with_handler(&LONG).post_or_shed(move |_, _| {
                        met.arrive();
                        let came = met.wait_for(count, WAIT / 3);
                        missed.fetch_add(u64::from(!came), Relaxed);
                        // The last to come does not wait: what it says it is, it is.
                        (0..LONG_SPINS).for_each(|_| std::hint::spin_loop());
                    });
                }
            });
            settle(&rt);
            verdict(&what, missed.load(Relaxed) == 0, &rt.metrics());
        }
    });
}

#[test]
fn a_woken_thief_wakes_the_next() {
    for policy in Policy::ALL {
        if policy.heuristics().steal {
            every_worker_is_woken(policy, 2);
            every_worker_is_woken(policy, 8);
        }
    }
}

#[test]
fn sleeping_workers_do_not_wake_by_themselves() {
    bounded("idle", || {
        for policy in Policy::ALL {
            let rt = runtime(8, policy);
            (0..100).for_each(|_| rt.new_color().post_or_shed(|_, _| ()));
            settle(&rt);
            assert_quiet(&rt, &format!("idle, {policy}"));
        }
    });
}

/// Fails unless there comes a while in which no worker does anything.
fn assert_quiet(rt: &Runtime, what: &str) {
    let counts = |of: Snapshot| -> Vec<_> {
        of.workers
            .iter()
            .map(|w| (w.turns, w.parks, w.wakes, w.steals, w.steal_misses, w.locks))
            .collect()
    };
    let never = Gate::default();
    let mut before = counts(rt.metrics());
    for _ in 0..100 {
        assert!(!never.wait_for(1, Duration::from_millis(50)));
        let after = counts(rt.metrics());
        if after == before {
            return;
        }
        before = after;
    }
    panic!("{what}: workers never rest: {before:?}");
}

/// Worker 0 is held while only what must stay there waits there.
fn quiet_beside(policy: Policy, what: &str, events: u64, pinned: bool) {
    let what = format!("{what}, {policy}");
    bounded(&what.clone(), move || {
        let rt = runtime(2, policy);
        let (begun, release) = (Gate::default(), Gate::default());
        let release = OpenOnDrop(release);
        let holder = rt.color_options().pin_to(0).new_color().expect("worker 0");
        let (begin, wait) = (begun.clone(), release.0.clone());
        holder.post_or_shed(move |_, _| {
            begin.arrive();
            wait.pass("the test ends");
        });
        begun.pass("the holder begins");
        let options = rt.color_options();
        let waiting = match pinned {
            true => options.pin_to(0),
            false => options.start_on(0),
        };
        let waiting = waiting.new_color().expect("worker 0");
        (0..events).for_each(|_| waiting.post_or_shed(|_, _| ()));
        assert_quiet(&rt, &what);
        drop(release);
        settle(&rt);
    });
}

#[test]
fn a_pinned_color_on_a_held_core_keeps_nobody_awake() {
    for policy in Policy::ALL {
        quiet_beside(policy, "pinned color", 1, true);
    }
}

#[test]
fn a_color_with_many_events_on_a_held_core_keeps_nobody_awake() {
    for policy in Policy::ALL {
        quiet_beside(policy, "many events", 100, false);
    }
}

/// The same, but colors were ready with all their events before the core was held:
/// thieves of the base policies leave a color that is half of what they see.
fn quiet_beside_large_colors(policy: Policy) {
    let what = format!("large colors, {policy}");
    bounded(&what.clone(), move || {
        let rt = runtime(2, policy);
        let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
        let holder = rt.color_options().pin_to(0).new_color().expect("worker 0");
        let (begin, wait) = (begun.clone(), release.0.clone());
        let large = [at_home(&rt, 0), at_home(&rt, 0)];
        let starter = rt.color_options().pin_to(0).new_color().expect("worker 0");
        starter.post_or_shed(move |_, _| {
            for color in &large {
                // More than a batch: the rest is ready at once, behind the holder.
                color.post_or_shed(|_, cx| (0..100).for_each(|_| cx.post_or_shed(|_, _| ())));
            }
            holder.post_or_shed(move |_, _| {
                begin.arrive();
                wait.pass("the test ends");
            });
        });
        begun.pass("the holder begins");
        assert_quiet(&rt, &what);
        drop(release);
        settle(&rt);
    });
}

#[test]
fn a_color_that_nobody_may_steal_keeps_nobody_awake() {
    for policy in Policy::ALL {
        quiet_beside_large_colors(policy);
    }
}

/// A color worth a steal stays in the reach of thieves while an older, pinned one
/// holds the core.
fn worthy_beside_pinned(policy: Policy) {
    let what = format!("worthy beside pinned, {policy}");
    bounded(&what.clone(), move || {
        let rt = runtime(2, policy);
        let (ran, ended) = (Gate::default(), Gate::default());
        let all_ran = Arc::new(AtomicU64::new(2));
        let holder = rt.color_options().pin_to(0).new_color().expect("worker 0");
        let (wait, end, result) = (ran.clone(), ended.clone(), Arc::clone(&all_ran));
        let large = at_home(&rt, 0);
        large.post_or_shed(move |_, cx| {
            for _ in 0..100 {
                let ran = ran.clone();
                cx.with_handler(&LONG)
                    .post_or_shed(move |_, _| ran.arrive());
            }
            holder.with_handler(&HOLDER).post_or_shed(move |_, _| {
                let _end = OpenOnDrop(end);
                result.store(u64::from(wait.wait_for(100, WAIT / 3)), Relaxed);
            });
        });
        ended.pass("the holder ends");
        verdict(&what, all_ran.load(Relaxed) == 1, &rt.metrics());
    });
}

#[test]
fn a_worthy_color_stays_offered_while_a_pinned_one_runs() {
    for policy in [Policy::Adaptive, Policy::MelyTimeLeft, Policy::Mely] {
        worthy_beside_pinned(policy);
    }
}

/// Wake-ups that race with falling asleep: bursts after every silence.
#[test]
fn no_wake_up_is_lost_between_bursts() {
    for policy in [Policy::LibasyncSmp, Policy::MelyBase, Policy::Adaptive] {
        bounded("bursts", move || {
            let rt = Arc::new(runtime(4, policy));
            let rounds = crate::support::Stress::get().pick(50, 300, 5_000);
            let start = Arc::new(Barrier::new(3));
            let posters: Vec<_> = (0..2)
                .map(|_| {
                    let (rt, start) = (Arc::clone(&rt), Arc::clone(&start));
                    std::thread::spawn(move || {
                        start.wait();
                        for round in 0..rounds {
                            let ran = Gate::default();
                            for worker in 0..4 {
                                let ran = ran.clone();
                                at_home(&rt, worker).post_or_shed(move |_, _| ran.arrive());
                            }
                            assert!(ran.wait_for(4, WAIT), "round {round} hangs");
                        }
                    })
                })
                .collect();
            start.wait();
            for poster in posters {
                poster.join().expect("a poster ends");
            }
            settle(&rt);
            eventually("all metrics agree", || rt.metrics().events.pending() == 0);
        });
    }
}
