//! With which color things wait.

use std::io;
use std::time::Duration;

use futures::FutureExt as _;
use futures::executor::block_on;
use mely::{Color, Colored, Handle};
use mely_async::{Error, TcpListener, UdpSocket, UnixStream, sleep, timeout};

use crate::support::{bounded, colored, dropped, eventually, runtime};

fn is_outside(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|e| e.downcast_ref::<Error>());
    inner == Some(&Error::OutsideColor) && error.to_string().contains("Colored::spawn")
}

#[test]
fn waiting_outside_of_any_color_is_an_error_that_tells_what_to_do() {
    let (mut here, mut there) = UnixStream::pair().expect("a pair");
    let error = block_on(here.read(&mut [0; 1])).expect_err("it would wait");
    assert!(is_outside(&error), "{error}");
    // What need not wait works anywhere.
    block_on(there.write_all(b"x")).expect("there is room");
    assert_eq!(block_on(here.read(&mut [0; 1])).expect("a byte"), 1);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let error = block_on(listener.accept()).expect_err("nobody connects");
    assert!(is_outside(&error), "{error}");
    let error = block_on(listener.incoming().next()).expect_err("nobody connects");
    assert!(is_outside(&error), "{error}");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let error = block_on(udp.recv_from(&mut [0; 1])).expect_err("nobody sends");
    assert!(is_outside(&error), "{error}");
    let long = Duration::from_secs(3600);
    assert_eq!(block_on(sleep(long)), Err(Error::OutsideColor));
    assert_eq!(block_on(sleep(Duration::ZERO)), Ok(()));
    let timed = block_on(timeout(long, futures::future::pending::<()>()));
    assert_eq!(timed, Err(Error::OutsideColor));
    let timed = block_on(timeout(long, async { 3 }));
    assert_eq!(timed, Ok(3));
}

#[test]
fn a_stream_that_waited_under_a_color_does_not_wait_outside() {
    bounded(|| {
        let rt = runtime(1);
        let (here, mut there) = UnixStream::pair().expect("a pair");
        let waited = rt.new_color().spawn(async move {
            assert!(there.read(&mut [0; 1]).now_or_never().is_none());
            there
        });
        let mut there = waited.wait().expect("it ends");
        let error = block_on(there.read(&mut [0; 1])).expect_err("it would wait");
        assert!(is_outside(&error), "{error}");
        drop(here);
        let at_last = rt
            .new_color()
            .spawn(async move { there.read(&mut [0; 1]).await });
        assert_eq!(at_last.wait().expect("it ends").expect("the end"), 0);
    });
}

/// A color whose end is seen: it ends once nothing refers to it.
fn seen_color(rt: &Handle) -> (Colored<std::sync::Arc<()>>, impl Fn() -> bool + use<>) {
    let (alive, is_dropped) = dropped();
    (rt.colored(alive), is_dropped)
}

#[test]
fn a_stream_follows_to_the_color_that_polls_it() {
    bounded(|| {
        let rt = runtime(2);
        let (mut here, mut there) = UnixStream::pair().expect("a pair");
        let mut ends = Vec::new();
        for round in 0..20 {
            let (color, is_ended) = seen_color(&rt);
            let beside = rt.new_color();
            let waits = color.spawn(async move {
                let mut byte = [0; 1];
                // It waits here, and so it is watched with this color now.
                let first = there.read(&mut byte).now_or_never();
                assert!(first.is_none(), "round {round}: nothing was sent");
                let writes = beside.spawn(async move {
                    here.write_all(b"x").await.expect("room");
                    here
                });
                there.read(&mut byte).await.expect("a byte");
                (writes.await.expect("it ends"), there)
            });
            (here, there) = waits.wait().expect("it ends");
            ends.push(is_ended);
        }
        let last = ends.pop().expect("there were some");
        // The colors that it has left are gone; the last one is kept by it.
        eventually("the colors end", || ends.iter().all(|ended| ended()));
        assert!(!last(), "the stream is watched with its last color");
        drop(there);
        eventually("the last color ends", last);
    });
}

#[test]
fn listeners_and_sleeps_go_from_color_to_color() {
    bounded(|| {
        let rt = runtime(2);
        let mut listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        let mut nap = Box::pin(sleep(Duration::from_millis(30)));
        for _ in 0..10 {
            let waits = rt.new_color().spawn(async move {
                assert!(listener.accept().now_or_never().is_none());
                let polled = nap.as_mut().now_or_never();
                assert!(polled.is_none_or(|slept| slept.is_ok()));
                (listener, nap)
            });
            (listener, nap) = waits.wait().expect("it ends");
        }
        let accepts = rt.new_color().spawn(async move {
            nap.await.expect("it ends");
            listener.accept().await.map(|_| ())
        });
        let client = std::net::TcpStream::connect(address).expect("it listens");
        accepts.wait().expect("it ends").expect("no error");
        drop(client);
    });
}

#[test]
fn a_half_goes_on_when_the_color_of_the_other_has_ended() {
    bounded(|| {
        let (rt, other) = (runtime(1), runtime(1));
        let (mut here, there) = UnixStream::pair().expect("a pair");
        let (mut reads, writes) = there.into_split();
        let (waits, has_waited) = std::sync::mpsc::channel();
        let also_waits = waits.clone();
        // It is watched with a color of a runtime that ends.
        let fills = rt.new_color().spawn(async move {
            while let Some(wrote) = writes.as_stream().writable().now_or_never() {
                wrote.expect("no error");
                let _ = writes.as_stream().try_write(&[0; 4096]);
            }
            let mut wait = Box::pin(writes.as_stream().writable());
            assert!(futures::poll!(wait.as_mut()).is_pending());
            waits.send(()).expect("the test waits");
            wait.await
        });
        has_waited.recv().expect("it has begun to wait");
        let reader = other.new_color().spawn(async move {
            let mut byte = [0; 1];
            let mut read = Box::pin(reads.read_exact(&mut byte));
            assert!(futures::poll!(read.as_mut()).is_pending());
            also_waits.send(()).expect("the test waits");
            read.await?;
            Ok::<_, std::io::Error>(byte)
        });
        has_waited.recv().expect("it has begun to wait");
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        assert!(fills.wait().is_err(), "its task ended with the runtime");
        let writes = other
            .new_color()
            .spawn(async move { here.write_all(b"x").await.map(|()| here) });
        assert_eq!(reader.wait().expect("it ends").expect("a byte"), *b"x");
        drop(writes.wait());
    });
}

#[test]
fn tasks_of_one_color_are_polled_under_it() {
    let same = colored(|rt| async move {
        let color = rt.new_color();
        let found = color.spawn(async {
            sleep(Duration::from_millis(1)).await.expect("a timer");
            Color::current()
        });
        found.await.expect("it ends") == Some(color)
    });
    assert!(same);
}
