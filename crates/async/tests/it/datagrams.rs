//! UDP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt as _;
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
        let echoed = rt.fresh_color().spawn(async move {
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
                rt.fresh_color().spawn(async move {
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
