//! Letting others run.

use futures::FutureExt as _;
use mely::TaskState;
use mely_async::yield_now;

use crate::support::{bounded, runtime};

#[test]
fn tasks_of_one_color_take_turns() {
    bounded(|| {
        let rt = runtime(1);
        let log = rt.colored(String::new());
        // Both are there before one begins.
        let (begin, begun) = std::sync::mpsc::channel::<()>();
        log.post_or_shed(move |_, _| {
            let _ = begun.recv();
        });
        let tasks = ["a", "b"].map(|name| {
            log.spawn_with(async move |mut log: TaskState<String>| {
                for _ in 0..3 {
                    log.with(|log| log.push_str(name));
                    yield_now().await;
                }
            })
        });
        drop(begin);
        for task in tasks {
            task.wait().expect("it ends");
        }
        assert_eq!(log.blocking_with(|log| log.clone()), "ababab");
    });
}

#[test]
fn who_always_yields_lets_other_colors_run() {
    bounded(|| {
        let rt = runtime(1);
        let busy = rt.new_color().spawn(async {
            loop {
                yield_now().await;
            }
        });
        for _ in 0..100 {
            assert_eq!(rt.colored(5).blocking_with(|n| *n), 5);
        }
        assert!(busy.cancel());
    });
}

#[test]
fn it_may_be_awaited_anywhere_once() {
    let mut yields = yield_now();
    assert_eq!((&mut yields).now_or_never(), None);
    assert_eq!((&mut yields).now_or_never(), Some(()));
}
