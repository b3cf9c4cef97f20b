//! UDP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt as _;
use mely::{OnPanic, Pending};
use mely_async::UdpSocket;

use crate::support::colored;

fn socket() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("an address");
    (socket, address)
}

#[test]
fn datagrams_echo() {
    colored(|rt| async move {
        let ((echo, to), (asks, from)) = (socket(), socket());
        let echoed = rt.new_color().spawn(async move {
            let mut bytes = [0; 128];
            for _ in 0..100 {
                let (count, peer) = echo.recv_from(&mut bytes).await?;
                echo.send_to(&bytes[..count], peer).await?;
            }
            Ok::<_, io::Error>(())
        });
        asks.connect(to).expect("it is connected");
        for round in 0..100_u8 {
            let sent = vec![round; usize::from(round)];
            assert_eq!(asks.send(&sent).await.expect("room"), sent.len());
            let mut bytes = [0; 128];
            assert_eq!(asks.recv(&mut bytes).await.expect("an echo"), sent.len());
            assert_eq!(bytes[..sent.len()], sent);
        }
        assert_eq!(from, asks.local_addr().expect("an address"));
        echoed.await.expect("it ends").expect("no error");
    });
}

#[test]
fn each_of_many_that_wait_gets_a_datagram() {
    colored(|rt| async move {
        let ((receives, to), (sends, _)) = (socket(), socket());
        let receives = Arc::new(receives);
        let waiting: Vec<_> = (0..20)
            .map(|_| {
                let receives = Arc::clone(&receives);
                rt.new_color().spawn(async move {
                    let mut byte = [0; 1];
                    receives.recv_from(&mut byte).await.map(|_| byte[0])
                })
            })
            .collect();
        for number in 0..20_u8 {
            sends.send_to(&[number], to).await.expect("room");
        }
        let mut got = Vec::new();
        for waits in waiting {
            got.push(waits.await.expect("it ends").expect("a datagram"));
        }
        got.sort_unstable();
        assert!(got.into_iter().eq(0..20));
    });
}

#[test]
fn one_that_gives_up_takes_no_datagram() {
    colored(|_| async move {
        let ((receives, to), (sends, _)) = (socket(), socket());
        let mut bytes = [0; 8];
        for _ in 0..10 {
            assert!(receives.recv_from(&mut bytes).now_or_never().is_none());
        }
        sends.send_to(b"one", to).await.expect("room");
        assert_eq!(receives.peek_from(&mut bytes).await.expect("it came").0, 3);
        assert_eq!(receives.recv_from(&mut bytes).await.expect("it came").0, 3);
        let none = receives.try_recv_from(&mut bytes).expect_err("no more");
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
    });
}

/// The color that is told of readiness is stopped, or poisoned; the other one goes on. The
/// future of the first, which waits, may still be there.
#[test]
fn a_socket_that_two_colors_wait_for_outlives_one_of_them() {
    colored(|rt| async move {
        for (is_kept, by_panic) in [(false, false), (true, false), (false, true), (true, true)] {
            let (socket, to) = socket();
            let socket = Arc::new(socket);
            let options = rt.color_options().on_panic(OnPanic::PoisonColor);
            let (first, second) = (options.new_color().expect("no home"), rt.new_color());
            let shared = Arc::clone(&socket);
            let mut waits = Box::pin(async move {
                let mut bytes = [0; 4];
                shared.recv_from(&mut bytes).await.map(drop)
            });
            // Polled there once; where it is kept, it is not dropped there.
            let polled = first.spawn(async move {
                assert!(futures::poll!(&mut waits).is_pending());
                if !is_kept {
                    waits.await.expect("no error");
                    return None;
                }
                Some(waits)
            });
            let kept = match is_kept {
                true => polled.await.expect("it was polled"),
                false => None,
            };
            let shared = Arc::clone(&socket);
            let (tell, told) = futures::channel::oneshot::channel();
            let other = second.spawn(async move {
                let mut bytes = [0; 4];
                let mut waits = Box::pin(shared.recv_from(&mut bytes));
                assert!(futures::poll!(&mut waits).is_pending());
                tell.send(()).expect("somebody waits");
                waits.await.map(|(count, _)| count)
            });
            told.await.expect("it waits");
            match by_panic {
                false => first.stop(Pending::Drop),
                true => {
                    let panics = |(): &mut (), _: &mut mely::Context<'_>| -> () {
                        std::panic::resume_unwind(Box::new("planted by a test"))
                    };
                    assert!(first.call(panics).await.is_err());
                }
            }
            let sends = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
            sends.send_to(b"abcd", to).expect("room");
            assert_eq!(other.await.expect("it ends").expect("no error"), 4);
            drop(kept);
        }
    });
}
