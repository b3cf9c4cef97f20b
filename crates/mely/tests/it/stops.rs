//! Colors that are stopped while others have handles of them, and groups.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mely::{CallError, Colored, Pending, Policy, PostError, Runtime, TaskState};

use crate::checkers::conserved;
use crate::support::{
    Gate, LIMIT, OpenOnDrop, block_on, bounded, eventually, holds, runtime, settle, silent_panic,
};

/// Notes that it was dropped, posts to its color, stops it again, and panics.
struct Last(Arc<AtomicUsize>, Option<Colored<()>>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        if let Some(color) = self.1.take() {
            assert!(matches!(color.post(|_, _| ()), Err(PostError::Closed(_))));
            color.stop(Pending::Run);
            color.stop(Pending::Drop);
            silent_panic();
        }
    }
}

fn runtimes() -> impl Iterator<Item = Runtime> {
    [Policy::Adaptive, Policy::LibasyncSmp, Policy::Mely]
        .into_iter()
        .flat_map(|policy| [1, 2].map(|workers| (policy, workers)))
        .map(|(policy, workers)| {
            let builder = Runtime::builder().workers(workers).policy(policy);
            builder.build().expect("a runtime")
        })
}

fn last_of(color: &Colored<Vec<u32>>, dropped: &Arc<AtomicUsize>) {
    drop(color.attach(Last(Arc::clone(dropped), Some(color.color()))));
}

#[test]
fn what_was_posted_before_runs_and_the_state_goes() {
    bounded("run", || {
        for rt in runtimes() {
            let (dropped, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(vec![])));
            let color = rt
                .color_options()
                .capacity(200)
                .colored(Vec::new())
                .expect("no home");
            last_of(&color, &dropped);
            for n in 0..100 {
                let seen = Arc::clone(&seen);
                color.post_or_shed(move |list, _| {
                    list.push(n);
                    seen.lock().expect("no panic under it").push(list.len());
                });
            }
            color.stop(Pending::Run);
            eventually("its state goes", || dropped.load(SeqCst) == 1);
            assert_eq!(
                *seen.lock().expect("no panic under it"),
                (1..=100).collect::<Vec<_>>()
            );
            assert!(color.is_stopped());
            // Given back, closure and all, small and large.
            let (token, large) = (Arc::new(()), [7_u64; 32]);
            let held = Arc::clone(&token);
            let refused = color.post(move |_, _| drop(held)).unwrap_err();
            assert!(matches!(refused, PostError::Closed(_)), "{refused}");
            assert_eq!(Arc::strong_count(&token), 2);
            drop(refused);
            let held = Arc::clone(&token);
            let refused = color.post(move |list: &mut Vec<u32>, _: &mut mely::Context<'_, _>| {
                list.push(large[0] as u32);
                drop(held);
            });
            drop(refused.unwrap_err().into_event());
            assert_eq!(Arc::strong_count(&token), 1);
            assert_eq!(
                color.try_blocking_with(|list| list.len()),
                Err(CallError::Closed)
            );
            assert_eq!(
                color.call(|list, _| list.len()).wait(),
                Err(CallError::Closed)
            );
            assert_eq!(color.spawn(async { 1 }).wait(), Err(CallError::Dropped));
            settle(&rt);
            holds(conserved(&rt.metrics().events));
        }
    });
}

#[test]
fn what_has_not_begun_is_dropped() {
    bounded("drop", || {
        for rt in runtimes() {
            let (dropped, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let color = rt.colored(Vec::new());
            last_of(&color, &dropped);
            // By an event of the color: nothing of what is behind it begins, by whomever it
            // was posted.
            let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
            let (begin, wait, runs) = (begun.clone(), release.0.clone(), Arc::clone(&ran));
            color.post_or_shed(move |list, cx| {
                begin.arrive();
                wait.pass("others have posted");
                let more = Arc::clone(&runs);
                cx.post_or_shed(move |_, _| _ = more.fetch_add(1, SeqCst));
                cx.colored().stop(Pending::Drop);
                let more = Arc::clone(&runs);
                cx.post_or_shed(move |_, _| _ = more.fetch_add(1, SeqCst));
                list.push(1);
            });
            begun.pass("it begins");
            let token = Arc::new(());
            for _ in 0..50 {
                let (held, runs) = (Arc::clone(&token), Arc::clone(&ran));
                color.post_or_shed(move |_, _| {
                    runs.fetch_add(1, SeqCst);
                    drop(held);
                });
            }
            let reply = color.call(|list, _| list.len());
            drop(release);
            assert_eq!(reply.wait(), Err(CallError::Dropped));
            eventually("its state goes", || dropped.load(SeqCst) == 1);
            settle(&rt);
            assert_eq!((ran.load(SeqCst), Arc::strong_count(&token)), (0, 1));
            assert_eq!(rt.metrics().events.shed, 54);
            holds(conserved(&rt.metrics().events));
        }
    });
}

#[test]
fn an_idle_color_is_stopped_by_whoever_wants() {
    bounded("idle", || {
        for rt in runtimes() {
            let dropped = Arc::new(AtomicUsize::new(0));
            let color = rt.colored(vec![1]);
            last_of(&color, &dropped);
            let timer = color.post_after(Duration::from_secs(3_600), |_, _| ());
            color.stop(Pending::Drop);
            assert_eq!(dropped.load(SeqCst), 1);
            assert!(!timer.is_pending() && !timer.reset_after(Duration::ZERO));
            settle(&rt);
            // From an event of another color, and its memory is used again.
            let other = rt.colored(vec![2]);
            last_of(&other, &dropped);
            let to = other.clone();
            assert_eq!(
                rt.new_color()
                    .call(move |_, _| to.stop(Pending::Drop))
                    .wait(),
                Ok(())
            );
            assert_eq!(dropped.load(SeqCst), 2);
            drop((color, other));
            for n in 0..20 {
                assert_eq!(rt.colored(n).blocking_with(|n| *n), n);
            }
            settle(&rt);
            holds(conserved(&rt.metrics().events));
        }
    });
}

#[test]
fn threads_post_while_others_stop_the_color() {
    bounded("races", || {
        for rt in runtimes() {
            let rounds = if cfg!(miri) { 3 } else { 100 };
            let dropped = Arc::new(AtomicUsize::new(0));
            for round in 0..rounds {
                let color = rt.colored(Vec::new());
                last_of(&color, &dropped);
                std::thread::scope(|scope| {
                    for n in 0..2 {
                        let color = color.clone();
                        scope.spawn(move || {
                            for m in 0..50 {
                                color.post_or_shed(move |list, cx| {
                                    list.push(n + m);
                                    cx.post_or_shed(|list, _| list.push(0));
                                });
                            }
                        });
                    }
                    let by = [Pending::Run, Pending::Drop][round % 2];
                    color.stop(by);
                });
                assert_eq!(
                    color.call(|_, _| ()).wait().is_err(),
                    round % 2 == 1 || color.is_stopped()
                );
                eventually("its state goes", || dropped.load(SeqCst) == round + 1);
            }
            settle(&rt);
            holds(conserved(&rt.metrics().events));
        }
    });
}

#[test]
fn a_task_of_a_color_that_it_stops_is_given_up() {
    bounded("tasks", || {
        let (rt, dropped) = (runtime(2), Arc::new(AtomicUsize::new(0)));
        let color = rt.colored(vec![1]);
        last_of(&color, &dropped);
        let task = color.spawn_with(async |mut own: TaskState<Vec<u32>>| {
            own.with(|list| list.push(2));
            own.colored().stop(Pending::Drop);
            // Until the event is over it has its state.
            own.with(|list| list.push(3));
            std::future::poll_fn(|cx| {
                cx.waker().wake_by_ref();
                std::task::Poll::<()>::Pending
            })
            .await;
        });
        assert_eq!(task.wait(), Err(CallError::Dropped));
        eventually("its state goes", || dropped.load(SeqCst) == 1);
        settle(&rt);
        holds(conserved(&rt.metrics().events));
    });
}

#[test]
fn a_group_is_over_when_all_are() {
    bounded("group", || {
        for rt in runtimes() {
            let (group, dropped) = (rt.group(), Arc::new(AtomicUsize::new(0)));
            assert!(group.is_over() && group.wait() == Ok(()));
            let colors: Vec<_> = (0..10)
                .map(|_| group.colored(Last(Arc::clone(&dropped), None)))
                .collect();
            let tasks: Vec<_> = (0..10)
                .map(|n| {
                    let last = Last(Arc::clone(&dropped), None);
                    group.spawn(async move {
                        let _last = last;
                        n
                    })
                })
                .collect();
            let stuck = group.spawn(std::future::pending::<()>());
            assert!(!group.is_over());
            let inside = group.clone();
            let waited = rt.new_color().call(move |_, _| inside.wait());
            assert_eq!(waited.wait(), Ok(Err(CallError::InsideHandler)));
            for (n, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.wait(), Ok(n));
            }
            // Half of them end with their handles, the others are stopped.
            let kept: Vec<_> = colors.into_iter().step_by(2).collect();
            group.stop(Pending::Drop);
            assert_eq!(group.wait(), Ok(()));
            block_on(group.over());
            assert_eq!(
                dropped.load(SeqCst),
                20,
                "a state goes before its group is over"
            );
            assert_eq!(stuck.wait(), Err(CallError::Dropped));
            assert!(kept.iter().all(|color| color.is_stopped()));
            // What joins later is stopped.
            let late = group.colored(Last(Arc::clone(&dropped), None));
            assert!(late.is_stopped() && group.spawn(async { 1 }).wait() != Ok(2));
            assert_eq!(dropped.load(SeqCst), 21);
            group.wait().expect("outside of handlers");
        }
    });
}

#[test]
fn a_group_ends_with_its_runtime() {
    bounded("group and runtime", || {
        let (rt, other) = (runtime(2), runtime(1));
        let group = rt.group();
        let color = group.colored(1);
        let task = group.spawn(std::future::pending::<()>());
        let waiting = group.clone();
        let over = other.new_color().spawn(async move {
            waiting.over().await;
            waiting.over().await;
        });
        let waiting = group.clone();
        let thread = std::thread::spawn(move || waiting.wait());
        assert!(!group.is_over());
        rt.shutdown(LIMIT).expect("nothing is pending");
        assert_eq!(over.wait(), Ok(()));
        assert_eq!(thread.join().expect("no panic"), Ok(()));
        drop((color, task));
        // Of a runtime that has ended nothing is kept waiting.
        let late = group.colored(vec![1]);
        drop(group.spawn(async {}));
        drop(late);
        assert_eq!(group.wait(), Ok(()));
    });
}

#[test]
fn a_handle_shuts_its_runtime_down_from_inside() {
    bounded("handle", || {
        let rt = runtime(2);
        let (color, handle) = (rt.colored(0), rt.clone());
        for _ in 0..100 {
            color.post_or_shed(|n, _| *n += 1);
        }
        let begun = color.call(|n, cx| (*n, cx.handle().shutdown(LIMIT)));
        assert_eq!(begun.wait(), Ok((100, true)));
        assert!(!handle.shutdown(Duration::ZERO), "once");
        let closed = color.post(|_, _| ()).unwrap_err();
        assert!(matches!(closed, PostError::Closed(_)));
        let report = rt.shutdown(LIMIT).expect("all has run");
        assert_eq!(report.events_run, 101);
    });
}

/// A server that shuts down, and then stops its sessions after what is pending, runs that.
#[test]
fn what_was_accepted_runs_before_a_stop_while_the_runtime_drains() {
    for by_group in [false, true] {
        bounded("drains", move || {
            for rt in runtimes() {
                let (group, ran) = (rt.group(), Arc::new(AtomicUsize::new(0)));
                let color = group.colored(());
                let (begun, goes_on) = (Gate::default(), Gate::default());
                let (begins, waits) = (begun.clone(), goes_on.clone());
                color.post_or_shed(move |(), _| {
                    begins.arrive();
                    waits.pass("all is posted, and the shutdown has begun");
                });
                begun.pass("the color is held");
                let open = OpenOnDrop(goes_on);
                for _ in 0..10 {
                    let ran = Arc::clone(&ran);
                    color.post_or_shed(move |(), _| _ = ran.fetch_add(1, SeqCst));
                }
                let handle = mely::Handle::clone(&rt);
                assert!(handle.shutdown(LIMIT));
                match by_group {
                    true => group.stop(Pending::Run),
                    false => color.stop(Pending::Run),
                }
                drop(open);
                rt.shutdown(LIMIT).expect("nothing is left");
                assert_eq!(ran.load(SeqCst), 10);
                // After the end there is nothing to run any more.
                color.stop(Pending::Run);
                assert!(color.post(|_, _| ()).is_err());
            }
        });
    }
}
