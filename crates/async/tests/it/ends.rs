//! The end of the runtime, and of what waits.

use std::io::{Read, Write};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures::FutureExt as _;
use mely::{CallError, OnPanic, Pending};
use mely_async::{TcpListener, TcpStream, UdpSocket, UnixStream, sleep};

use crate::support::{bounded, dropped, runtime};

#[test]
fn what_waits_is_dropped_with_the_runtime() {
    bounded(|| {
        let rt = runtime(2);
        let std_listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = std_listener.local_addr().expect("an address");
        let listener = TcpListener::from_std(std_listener).expect("a listener");
        let mut client = std::net::TcpStream::connect(address).expect("it listens");
        let (alive, is_dropped) = dropped();
        let waits = rt.new_color().spawn(async move {
            let _alive = alive;
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            let mut bytes = [0; 1];
            let nap = sleep(Duration::from_secs(3600));
            let mut datagram = [0; 1];
            let all = futures::join!(
                listener.accept(),
                stream.read(&mut bytes),
                udp.recv(&mut datagram),
                nap
            );
            drop(all);
        });
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        assert_eq!(waits.wait(), Err(mely::CallError::Dropped));
        assert!(is_dropped(), "the future is gone");
        assert_eq!(
            client.read(&mut [0]).expect("the end"),
            0,
            "so is its stream"
        );
        assert!(
            std::net::TcpStream::connect(address).is_err(),
            "and its listener"
        );
    });
}

#[test]
fn a_stream_that_outlives_its_runtime_works_in_another_one() {
    bounded(|| {
        let (mut here, mut there) = UnixStream::pair().expect("a pair");
        for _ in 0..5 {
            let rt = runtime(1);
            let waits = rt.new_color().spawn(async move {
                assert!(there.read(&mut [0; 1]).now_or_never().is_none());
                here.write_all(b"x").await.expect("room");
                there.read_exact(&mut [0; 1]).await.expect("a byte");
                (here, there)
            });
            (here, there) = waits.wait().expect("it ends");
            rt.shutdown(Duration::from_secs(10)).expect("it ends");
        }
    });
}

/// Each runtime has its own watch: neither the shutdown nor the end of one takes that of another.
#[test]
fn who_waits_in_another_runtime_goes_on_where_one_ends() {
    bounded(|| {
        for is_held in [false, true] {
            let [ends, goes_on] = [(); 2].map(|()| runtime(1));
            let listener = Arc::new(TcpListener::bind("127.0.0.1:0").expect("a listener"));
            let address = listener.local_addr().expect("an address");
            let udp = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a socket"));
            let waiting = [&ends, &goes_on].map(|rt| {
                let (listener, udp) = (Arc::clone(&listener), Arc::clone(&udp));
                let accepted = rt.new_color().spawn(async move {
                    for _ in 0..2 {
                        listener.accept().await.expect("a connection");
                    }
                });
                let received = rt.new_color().spawn(async move {
                    for _ in 0..2 {
                        udp.recv(&mut [0; 8]).await.expect("a datagram");
                    }
                });
                rt.wait_idle();
                (accepted, received)
            });
            let (release, held) = mpsc::channel::<()>();
            if is_held {
                // It drains, and does not end.
                ends.new_color().post_or_shed(move |(), _| _ = held.recv());
                mely::Handle::shutdown(&ends, Duration::from_secs(3600));
            } else {
                ends.shutdown(Duration::from_secs(10)).expect("it ends");
            }
            let client = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
            for _ in 0..2 {
                std::net::TcpStream::connect(address).expect("it listens");
                let peer = udp.local_addr().expect("an address");
                client.send_to(b"x", peer).expect("it is sent");
                goes_on.wait_idle();
            }
            let [_, (accepted, received)] = waiting;
            assert_eq!((accepted.wait(), received.wait()), (Ok(()), Ok(())));
            drop(release);
        }
    });
}

#[test]
fn a_task_that_ends_closes_what_it_has() {
    bounded(|| {
        let rt = runtime(1);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        for _ in 0..20 {
            let connects = rt.new_color().spawn(async move {
                let mut stream = TcpStream::connect(address).await.expect("it listens");
                // It waited, and is watched.
                assert!(stream.read(&mut [0; 1]).now_or_never().is_none());
            });
            let (mut peer, _) = listener.accept().expect("a connection");
            connects.wait().expect("it ends");
            assert_eq!(peer.read(&mut [0]).expect("the end"), 0);
        }
    });
}

/// Its task waits for what the peer sends, as an event of a color that runs none any more.
#[test]
fn a_connection_of_a_color_that_was_stopped_or_poisoned_is_closed() {
    bounded(|| {
        for by_panic in [false, true] {
            let rt = runtime(2);
            let (mut peer, ours) = std::os::unix::net::UnixStream::pair().expect("a pair");
            let options = rt.color_options().on_panic(OnPanic::PoisonColor);
            let session = options.new_color().expect("no home");
            let (alive, is_dropped) = dropped();
            let (mut echo, reading) = (
                UnixStream::from_std(ours).expect("a socket"),
                session.clone(),
            );
            let reply = reading.spawn(async move {
                let _alive = alive;
                let mut byte = [0; 1];
                while echo.read(&mut byte).await.is_ok_and(|count| count > 0) {
                    echo.write_all(&byte).await.expect("room");
                }
            });
            peer.write_all(b"x").expect("room");
            peer.read_exact(&mut [0; 1]).expect("it is echoed");
            match by_panic {
                false => session.stop(Pending::Run),
                true => {
                    let panicked = session.try_blocking_with(|()| -> () {
                        std::panic::resume_unwind(Box::new("planted by a test"))
                    });
                    assert!(panicked.is_err());
                }
            }
            assert_eq!(reply.wait(), Err(CallError::Dropped));
            assert!(is_dropped(), "the future is gone");
            assert_eq!(peer.read(&mut [0; 1]).expect("the end"), 0);
        }
    });
}
