//! Descriptors, threads and states go with the runtime. In processes of their own,
//! where nobody else opens or ends anything.

use std::io::Read;
use std::sync::Arc;

use mely::net::TcpStream;
use mely::{Handler, ReactorKind, Runtime};

use crate::support::{Stress, alone, bounded, eventually, settle};

static READY: Handler = Handler::new("leaks::Ready");

fn count(directory: &str) -> usize {
    std::fs::read_dir(directory).map_or(0, Iterator::count)
}

/// Fails unless descriptors and threads are as many as before.
fn no_leak(body: impl Fn() + Send + 'static) {
    bounded("leaks", move || {
        // What is made once for the process is made here.
        body();
        let (fds, threads) = (count("/proc/self/fd"), count("/proc/self/task"));
        for _ in 0..3 {
            body();
        }
        // What a thread held that has just ended may be seen for a moment longer.
        eventually("descriptors are closed", || count("/proc/self/fd") <= fds);
        eventually("threads end", || count("/proc/self/task") <= threads);
    });
}

#[test]
fn thousands_of_runtimes_leave_nothing() {
    alone("leaks::thousands_of_runtimes_leave_nothing", || {
        no_leak(|| {
            for round in 0..Stress::get().pick(20, 350, 5_000) {
                let kind = [ReactorKind::PerWorker, ReactorKind::Single][round % 2];
                let rt = Runtime::builder().workers(1 + round % 3).reactor(kind);
                let rt = rt.build().expect("a runtime");
                let color = rt.colored(vec![0u8; 10]);
                color.post_or_shed(|_, _| ());
                rt.numbered_color(5).post_or_shed(|_, _| ());
                if round % 2 == 0 {
                    drop(rt);
                }
            }
        });
    });
}

#[test]
fn a_reference_that_outlives_its_runtime_leaves_nothing() {
    alone(
        "leaks::a_reference_that_outlives_its_runtime_leaves_nothing",
        || {
            no_leak(|| {
                for _ in 0..10 {
                    let rt = Runtime::builder().workers(2).build().expect("a runtime");
                    let (color, handle) = (rt.colored(1), rt.clone());
                    drop(rt);
                    color.post_or_shed(|_, _| ());
                    drop((color, handle));
                }
            });
        },
    );
}

#[test]
fn a_small_color_after_the_end_leaves_nothing() {
    alone("leaks::a_small_color_after_the_end_leaves_nothing", || {
        no_leak(|| {
            for _ in 0..10 {
                let rt = Runtime::builder().workers(2).build().expect("a runtime");
                let handle = rt.clone();
                drop(rt);
                handle.numbered_color(9).post_or_shed(|_, _| ());
            }
        });
    });
}

#[test]
fn a_refused_runtime_leaves_nothing() {
    alone("leaks::a_refused_runtime_leaves_nothing", || {
        no_leak(|| {
            for _ in 0..10 {
                let refused = Runtime::builder().workers(2).cores([1 << 20]).build();
                assert!(refused.is_err());
            }
        });
    });
}

/// A connection that owns its stream, which keeps its color alive.
fn open_connection(rt: &Runtime) -> std::net::TcpStream {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("it is bound");
    let client = std::net::TcpStream::connect(address).expect("it listens");
    let (stream, _) = listener.accept().expect("one waits");
    let stream = TcpStream::new(stream).expect("non-blocking");
    let connection = rt.colored((None, Arc::new(())));
    let watched = connection.call(|(slot, _): &mut (Option<TcpStream>, _), cx| {
        let mut stream = stream;
        let watched = stream.watch(&cx.colored(), &READY, |(slot, _), _, _| {
            let mut bytes = [0; 16];
            if let Some(stream) = slot {
                drop(stream.read(&mut bytes));
            }
        });
        *slot = Some(stream);
        watched
    });
    watched.wait().expect("an answer").expect("a watch");
    client
}

#[test]
fn open_connections_end_with_their_runtime() {
    alone("leaks::open_connections_end_with_their_runtime", || {
        no_leak(|| {
            for kind in [ReactorKind::PerWorker, ReactorKind::Single] {
                let rt = Runtime::builder().workers(2).reactor(kind);
                let rt = rt.build().expect("a runtime");
                let mut client = open_connection(&rt);
                settle(&rt);
                drop(rt);
                // The peer learns of it.
                client
                    .set_read_timeout(Some(crate::support::LIMIT / 10))
                    .expect("a timeout");
                assert_eq!(
                    client.read(&mut [0; 1]).ok(),
                    Some(0),
                    "the stream is closed"
                );
            }
        });
    });
}
