//! What needs Tokio's runtime says so, and what to do.

use std::future::poll_fn;
use std::pin::pin;
use std::process::Command;
use std::time::Duration;

use mely::CallError;

use crate::support::{bounded, runtime};

fn tokio_runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(1).enable_all();
    builder.build().expect("a runtime of Tokio's")
}

/// What a task says that needs Tokio.
fn said<F>(future: F) -> CallError
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let failed = runtime(1).new_color().spawn(future).wait();
    failed.err().expect("it needs Tokio's context")
}

const HELPER: &str = "MELY_TOKIO_IS_MISSING";

#[test]
fn who_needs_tokio_is_told_what_to_do() {
    if std::env::var_os(HELPER).is_some() {
        let sleeps = said(async { tokio::time::sleep(Duration::from_millis(1)).await });
        let spawns = said(async { drop(tokio::spawn(async {})) });
        let binds = said(async { tokio::net::TcpListener::bind("127.0.0.1:0").await.is_ok() });
        for error in [sleeps, spawns, binds] {
            let CallError::Panicked(message) = &error else {
                panic!("{error:?}");
            };
            assert!(!message.contains("mely_async"), "it is Tokio's: {message}");
            let text = error.to_string();
            assert!(text.contains("there is no reactor running"), "{text}");
            assert!(
                text.contains("mely_async") && text.contains("handle.spawn"),
                "{text}"
            );
        }
        let other = said(async { panic!("planted by a test") });
        assert!(other.to_string().ends_with("planted by a test"));
        return;
    }
    let test = "tokio_context::who_needs_tokio_is_told_what_to_do";
    let output = Command::new(std::env::current_exe().expect("a test has a path"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(HELPER, "1")
        .output()
        .expect("the test starts itself");
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complained}");
    // Behind what the panic hook says, and once.
    let (before, after) = complained.split_once("\nmely: ").expect("it is told");
    assert!(before.contains("there is no reactor running"));
    assert!(
        after.contains("mely_async") && !after.contains("\nmely: "),
        "{complained}"
    );
}

#[test]
fn what_needs_tokio_runs_beside_mely() {
    bounded(|| {
        let (rt, tokio) = (runtime(2), tokio_runtime());
        let handle = tokio.handle().clone();
        let task = rt.new_color().spawn(async move {
            let listener = handle.spawn(tokio::net::TcpListener::bind("127.0.0.1:0"));
            let listener = listener.await.expect("it ends").expect("a listener");
            let address = listener.local_addr().expect("an address");
            let connect = handle.spawn(tokio::net::TcpStream::connect(address));
            // In Tokio's context it is polled here, and woken by Tokio.
            let accept = async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                listener.accept().await
            };
            let mut accept = pin!(accept);
            let accepted = poll_fn(|cx| {
                assert!(mely::Color::current().is_some());
                let _context = handle.enter();
                accept.as_mut().poll(cx)
            });
            let (_, peer) = accepted.await.expect("a peer");
            let stream = connect.await.expect("it ends").expect("a stream");
            peer == stream.local_addr().expect("an address")
        });
        assert_eq!(task.wait(), Ok(true));
    });
}

#[test]
fn tokio_is_found_on_each_worker_that_has_entered_it() {
    bounded(|| {
        let rt = runtime(2);
        let tokio: &tokio::runtime::Runtime = Box::leak(Box::new(tokio_runtime()));
        for worker in 0..rt.workers() {
            let there = rt.color_options().pin_to(worker).new_color();
            let there = there.expect("there is such a worker");
            let enters = there.spawn(async { std::mem::forget(tokio.enter()) });
            assert_eq!(enters.wait(), Ok(()));
        }
        let tasks: Vec<_> = (0..64)
            .map(|at| {
                let there = rt.color_options().pin_to(at % rt.workers()).new_color();
                there.expect("there is such a worker").spawn(async {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    tokio::spawn(async { 7 }).await.ok()
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.wait(), Ok(Some(7)));
        }
    });
}
