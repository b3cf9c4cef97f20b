//! Listening, connecting, looking up.

use std::io;
use std::sync::Arc;

use futures::future::join_all;
use mely_async::{TcpListener, TcpStream, UnixListener, UnixStream, lookup_host};

use crate::support::{colored, tcp_pair};

#[test]
fn many_may_accept_from_one_listener() {
    colored(|rt| async move {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").expect("a listener"));
        let address = listener.local_addr().expect("an address");
        let accepts: Vec<_> = (0..20)
            .map(|_| {
                let listener = Arc::clone(&listener);
                rt.new_color()
                    .spawn(async move { listener.accept().await.map(|(_, peer)| peer) })
            })
            .collect();
        let clients = join_all((0..20).map(|_| TcpStream::connect(address))).await;
        let mut ours: Vec<_> = clients
            .iter()
            .map(|client| {
                client
                    .as_ref()
                    .expect("connected")
                    .local_addr()
                    .expect("bound")
            })
            .collect();
        let mut theirs = Vec::new();
        for accept in accepts {
            theirs.push(accept.await.expect("it ends").expect("a connection"));
        }
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs);
    });
}

#[test]
fn nobody_listening_is_told() {
    let kind = colored(|_| async {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        TcpStream::connect(address)
            .await
            .expect_err("nobody listens")
            .kind()
    });
    assert_eq!(kind, io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_dropped_listener_frees_its_address_at_once() {
    colored(|_| async {
        let mut listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        for _ in 0..20 {
            let waits = Box::pin(listener.accept());
            assert!(futures::poll!(waits).is_pending());
            drop(listener);
            listener = TcpListener::bind(address).expect("the address is free");
        }
    });
}

#[test]
fn names_are_looked_up() {
    colored(|_| async {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let (stream, accepted) = futures::join!(
            TcpStream::connect_host(format!("localhost:{port}")),
            listener.accept()
        );
        assert!(stream.is_ok() && accepted.is_ok());
        let error = lookup_host("no port").await.expect_err("there is no port");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    });
}

#[test]
fn unix_listeners_listen_on_a_path() {
    colored(|_| async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a listener");
        let (stream, accepted) = futures::join!(UnixStream::connect(&path), listener.accept());
        let (mut here, (mut there, _)) = (stream.expect("a stream"), accepted.expect("a peer"));
        here.write_all(b"unix").await.expect("room");
        let mut bytes = [0; 4];
        there.read_exact(&mut bytes).await.expect("bytes");
        assert_eq!(&bytes, b"unix");
        let address = here.peer_addr().expect("an address");
        assert_eq!(address.as_pathname(), Some(path.as_path()));
        let error = UnixStream::connect(folder.path().join("none")).await;
        assert_eq!(
            error.expect_err("no socket").kind(),
            io::ErrorKind::NotFound
        );
    });
}

#[test]
fn who_connects_to_a_full_unix_listener_waits_for_room() {
    colored(|rt| async move {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("a listener");
        // Room for two.
        rustix::net::listen(&listener, 1).expect("a listener");
        let connects: Vec<_> = (0..10)
            .map(|_| rt.new_color().spawn(UnixStream::connect(path.clone())))
            .collect();
        let listener = UnixListener::from_std(listener).expect("a listener");
        let mut peers = Vec::new();
        for _ in 0..10 {
            peers.push(listener.accept().await.expect("a connection"));
        }
        for connect in connects {
            connect.await.expect("it ends").expect("a connection");
        }
    });
}

#[test]
fn a_connection_can_be_given_to_the_standard_library() {
    colored(|_| async {
        let (here, there) = tcp_pair().await.expect("a pair");
        let (here, there) = (here.into_std().expect("a socket"), there.into_std());
        assert_eq!(
            here.peer_addr().ok(),
            there.expect("a socket").local_addr().ok()
        );
    });
}
