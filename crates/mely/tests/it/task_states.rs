//! Tasks that own the state of their color, and programs that bring it elsewhere.

use std::sync::{Arc, Mutex};
use std::task::Poll;

use mely::{CallError, Colored, OnPanic, Runtime, TaskState};

use crate::checkers::{Faults, Serial};
use crate::support::{Gate, LIMIT, bounded, holds, panicked, runtime, settle, silent_panic};

const OUTSIDE: CallError = CallError::OutsideTask;

/// Where a program keeps a handle that it should not.
type Elsewhere = Arc<Mutex<Option<TaskState<Vec<u32>>>>>;

fn ask(elsewhere: &Elsewhere) -> Result<usize, CallError> {
    let mut kept = elsewhere.lock().expect("no panic under it");
    kept.as_mut()
        .expect("a handle was put there")
        .try_with(|list| list.len())
}

/// Starts a task that puts its handle elsewhere and waits for ever.
fn put_elsewhere(color: &Colored<Vec<u32>>) -> Elsewhere {
    let (elsewhere, put) = (Elsewhere::default(), Gate::default());
    let (there, gate) = (Arc::clone(&elsewhere), put.clone());
    drop(color.spawn_with(async move |own| {
        *there.lock().expect("no panic under it") = Some(own);
        gate.arrive();
        std::future::pending::<()>().await;
    }));
    put.pass("the handle is put elsewhere");
    elsewhere
}

#[test]
fn a_task_reaches_the_state_between_other_events() {
    bounded("between events", || {
        let rt = runtime(4);
        let faults = Arc::new(Faults::default());
        let serial = Arc::new(Serial::new(&faults));
        let (sum, other) = (rt.colored(0u64), rt.colored(1u64));
        let tasks: Vec<_> = (0..10)
            .map(|_| {
                let (serial, other) = (Arc::clone(&serial), other.clone());
                sum.spawn_with(async move |mut own| {
                    for _ in 0..50 {
                        let more = other.call(|n, _| *n).await?;
                        own.with(|sum| {
                            let _alone = serial.enter();
                            *sum += more;
                        });
                    }
                    Ok::<_, CallError>(())
                })
            })
            .collect();
        for _ in 0..500 {
            let serial = Arc::clone(&serial);
            sum.post_or_shed(move |sum, _| {
                let _alone = serial.enter();
                *sum += 1;
            });
        }
        tasks
            .into_iter()
            .for_each(|task| assert_eq!(task.wait(), Ok(Ok(()))));
        settle(&rt);
        assert_eq!(sum.blocking_with(|sum| *sum), 1_000);
        holds(faults.verdict());
    });
}

#[test]
fn elsewhere_the_state_is_refused() {
    bounded("elsewhere", || {
        let rt = runtime(2);
        let color = rt.colored(vec![1, 2]);
        let elsewhere = put_elsewhere(&color);
        // On a thread of the program's.
        assert_eq!(ask(&elsewhere), Err(OUTSIDE));
        // In an event that has the very state, and in one that has another of the color.
        let there = Arc::clone(&elsewhere);
        assert_eq!(color.call(move |_, _| ask(&there)).wait(), Ok(Err(OUTSIDE)));
        let (beside, there) = (color.attach(0), Arc::clone(&elsewhere));
        assert_eq!(
            beside.call(move |_, _| ask(&there)).wait(),
            Ok(Err(OUTSIDE))
        );
        // In a section.
        assert_eq!(color.blocking_with(|_| ask(&elsewhere)), Err(OUTSIDE));
        // In another task of the color, while that one has the state and while it has not.
        let there = Arc::clone(&elsewhere);
        let task = color.spawn_with(async move |mut own| (ask(&there), own.with(|_| ask(&there))));
        assert_eq!(task.wait(), Ok((Err(OUTSIDE), Err(OUTSIDE))));
        // In one without the state.
        let there = Arc::clone(&elsewhere);
        let task = color.spawn(async move { ask(&there) });
        assert_eq!(task.wait(), Ok(Err(OUTSIDE)));
        // In the function that makes the future.
        let mut early = Ok(());
        let task = color.spawn_with(|mut own| {
            early = own.try_with(|_| ());
            async move { own.with(|list| list.len()) }
        });
        assert_eq!((early, task.wait()), (Err(OUTSIDE), Ok(2)));
    });
}

#[test]
fn the_task_itself_does_not_lend_its_state_to_others() {
    bounded("others", || {
        let (rt, there) = (runtime(1), runtime(1));
        let (color, far) = (rt.colored(vec![1]), there.new_color());
        let task = color.spawn_with(async move |mut own: TaskState<Vec<u32>>| {
            // To a worker of another runtime, for which it waits, and to a thread.
            let section = far.blocking_with(|()| own.try_with(|_| ()));
            let thread = std::thread::scope(|scope| {
                let thread = scope.spawn(|| own.try_with(|_| ()));
                thread.join().expect("it does not panic")
            });
            (section, thread, own.with(|list| list.len()))
        });
        assert_eq!(task.wait(), Ok((Err(OUTSIDE), Err(OUTSIDE), 1)));
    });
}

#[test]
fn after_a_panic_in_it_the_state_goes_on() {
    bounded("panics", || {
        let rt = runtime(1);
        let color = rt
            .color_options()
            .on_panic(OnPanic::Continue)
            .colored(vec![1])
            .expect("no home was chosen");
        let task = color.spawn_with(async |mut own: TaskState<Vec<u32>>| {
            let caught = std::panic::AssertUnwindSafe(|| {
                own.with(|list| {
                    list.push(2);
                    silent_panic()
                })
            });
            assert!(std::panic::catch_unwind(caught).is_err());
            own.with(|list| list.push(3));
            own.with(|_| silent_panic())
        });
        assert_eq!(task.wait(), panicked::<()>());
        assert_eq!(color.blocking_with(|list| list.clone()), [1, 2, 3]);
    });
}

#[test]
fn a_panic_outside_of_the_task_is_at_the_programs_line() {
    bounded("says so", || {
        let rt = runtime(1);
        let color = rt.colored(vec![1]);
        let elsewhere = put_elsewhere(&color);
        let mut own = elsewhere.lock().expect("no panic under it").take();
        let said = color.call(move |_, _| own.as_mut().map(|own| own.with(|list| list.len())));
        let Err(CallError::Panicked(message)) = said.wait() else {
            panic!("it was lent");
        };
        assert!(
            message.contains("only while that very task is polled"),
            "{message}"
        );
    });
}

/// Wakes itself while it has the state, and posts to its color.
#[test]
fn a_task_may_wake_and_post_while_it_has_the_state() {
    bounded("wakes", || {
        let rt = runtime(2);
        let color = rt.colored(Vec::new());
        let task = color.spawn_with(|mut own: TaskState<Vec<u32>>| {
            let mut left = 100;
            std::future::poll_fn(move |cx| {
                let posts = own.colored().clone();
                own.with(|list| {
                    posts.post_or_shed(|list, _| list.push(1));
                    list.push(0);
                    cx.waker().wake_by_ref();
                });
                left -= 1;
                match left {
                    0 => Poll::Ready(()),
                    _ => Poll::Pending,
                }
            })
        });
        assert_eq!(task.wait(), Ok(()));
        settle(&rt);
        let list = color.blocking_with(std::mem::take);
        assert_eq!((list.len(), list.iter().sum::<u32>()), (200, 100));
        assert!(list.chunks(2).all(|pair| pair == [0, 1]), "in order");
    });
}

/// Has the handle of its own color's state in that very state.
#[test]
fn a_handle_in_its_own_state_ends_with_the_runtime() {
    bounded("a circle", || {
        struct Own(Option<TaskState<Own>>, #[expect(dead_code)] Arc<()>);
        let (rt, token) = (runtime(1), Arc::new(()));
        let color = rt.colored(Own(None, Arc::clone(&token)));
        let task = color.spawn_with(async |mut own: TaskState<Own>| {
            let handle = Mutex::new(None::<TaskState<Own>>);
            own.with(|state| state.0 = handle.into_inner().expect("no panic under it"));
            own
        });
        let own = task.wait().expect("it ends");
        color.blocking_with(move |state| state.0 = Some(own));
        // While it is lent there, it does not lend.
        let inner = color.blocking_with(|state| state.0.as_mut().map(|own| own.try_with(|_| ())));
        assert_eq!(inner, Some(Err(OUTSIDE)));
        drop(color);
        rt.shutdown(LIMIT).expect("nothing is pending");
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

#[test]
fn a_runtime_that_ends_while_a_task_has_the_state_leaves_it_there() {
    bounded("the end", || {
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let (begun, release) = (Gate::default(), Gate::default());
        let (begin, wait) = (begun.clone(), release.clone());
        let color = rt.colored(vec![4]);
        let task = color.spawn_with(async move |mut own: TaskState<Vec<u32>>| {
            own.with(|list| {
                begin.arrive();
                wait.pass("the runtime has stopped");
                list[0]
            })
        });
        begun.pass("the task has its state");
        drop(color);
        let error = rt.shutdown(std::time::Duration::ZERO).unwrap_err();
        assert_eq!(error.report.held.len(), 1);
        release.arrive();
        assert_eq!(task.wait(), Ok(4));
    });
}
