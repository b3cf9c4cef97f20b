//! Servers whose connections have colors of their own.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpStream as Client;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mely::Color;
use mely_async::{ServeOptions, Stop, TcpListener, TcpStream, UnixListener, sleep};

use crate::support::{bounded, eventually, runtime, silent_panic};

fn listener() -> (TcpListener, std::net::SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

async fn echo(mut stream: TcpStream) {
    let mut bytes = [0; 512];
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        if stream.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

fn ask(client: &mut Client, byte: u8) {
    client.write_all(&[byte]).expect("room");
    let mut answer = [0];
    client.read_exact(&mut answer).expect("an answer");
    assert_eq!(answer, [byte]);
}

#[test]
fn each_connection_has_a_color_of_its_own() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let colors = Arc::new(Mutex::new(HashSet::new()));
        let seen = Arc::clone(&colors);
        let serving = listener.serve(&rt, move |stream, _| {
            let seen = Arc::clone(&seen);
            async move {
                let color = Color::current().expect("a color");
                seen.lock().expect("no panic").insert(color.id());
                echo(stream).await;
            }
        });
        let mut clients: Vec<_> = (0..200)
            .map(|_| Client::connect(address).expect("it listens"))
            .collect();
        for round in 0..3 {
            clients.iter_mut().for_each(|client| ask(client, round));
        }
        assert_eq!(serving.connections(), 200);
        assert_eq!((serving.accepted(), serving.failures()), (200, 0));
        assert_eq!(colors.lock().expect("no panic").len(), 200);
        drop(clients);
        eventually("all leave", || serving.connections() == 0);
        serving.stop();
        serving.wait().expect("no error");
    });
}

#[test]
fn no_more_connections_than_there_may_be() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let options = ServeOptions::new().max_connections(2);
        let serving = listener.serve_with(&rt, options, |stream, _| echo(stream));
        let mut inside = [(); 2].map(|()| Client::connect(address).expect("it listens"));
        inside.iter_mut().for_each(|client| ask(client, 1));
        // It waits in the system's queue.
        let mut third = Client::connect(address).expect("it listens");
        third.write_all(b"3").expect("room");
        third
            .set_read_timeout(Some(Duration::from_millis(50)))
            .expect("an option");
        assert!(third.read(&mut [0]).is_err(), "nobody answers yet");
        assert_eq!((serving.connections(), serving.accepted()), (2, 2));
        third.set_read_timeout(None).expect("an option");
        drop(inside);
        let mut answer = [0];
        third.read_exact(&mut answer).expect("it is let in");
        assert_eq!(&answer, b"3");
        drop(third);
        serving.stop();
        serving.wait().expect("no error");
    });
}

#[test]
fn a_server_that_stops_lets_its_connections_end() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let stop = Stop::new();
        let (options, wish) = (ServeOptions::new().stop_by(&stop), stop.clone());
        let serving = listener.serve_with(&rt, options, move |mut stream, _| {
            let stopped = wish.stopped();
            async move {
                stream.write_all(b"?").await.expect("room");
                stopped.await;
                stream.write_all(b"bye").await.expect("room");
            }
        });
        let mut clients = [(); 20].map(|()| Client::connect(address).expect("it listens"));
        for client in &mut clients {
            client.read_exact(&mut [0]).expect("it is inside");
        }
        serving.stop();
        assert!(stop.is_stopped());
        for mut client in clients {
            let mut last = String::new();
            client.read_to_string(&mut last).expect("the end");
            assert_eq!(last, "bye");
        }
        serving.wait().expect("no error");
        assert!(Client::connect(address).is_err(), "nobody listens");
    });
}

#[test]
fn a_connection_that_panics_leaves() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let options = ServeOptions::new().max_connections(1);
        let serving = listener.serve_with(&rt, options, |mut stream, _| async move {
            let _ = stream.read(&mut [0]).await;
            silent_panic();
        });
        for _ in 0..20 {
            let mut client = Client::connect(address).expect("it listens");
            client.write_all(b"x").expect("room");
            // The panic ends the connection, and the next one is let in.
            let _ = client.read(&mut [0]);
        }
        eventually("all leave", || {
            serving.accepted() == 20 && serving.connections() == 0
        });
        serving.stop();
        serving.wait().expect("no error");
    });
}

/// What makes the futures is the program's, too: where it panics that connection is lost, and
/// the panic counts as one of an event.
#[test]
fn a_connection_that_is_not_begun_for_a_panic_is_closed() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let mut count = 0;
        let serving = listener.serve(&rt, move |stream, _| {
            count += 1;
            if count % 2 == 0 {
                silent_panic();
            }
            echo(stream)
        });
        for byte in 0..5 {
            ask(&mut Client::connect(address).expect("it listens"), byte);
            let mut lost = Client::connect(address).expect("it listens");
            assert_eq!(lost.read(&mut [0]).expect("the end"), 0);
        }
        eventually("all leave", || serving.connections() == 0);
        eventually("all are counted", || rt.metrics().total(|w| w.panics) == 5);
        assert_eq!(serving.accepted(), 10);
        serving.stop();
        serving.wait().expect("no error");
    });
}

/// A server asks no color for room.
#[test]
fn a_server_serves_where_colors_have_no_room() {
    bounded(|| {
        let rt = mely::Runtime::builder()
            .workers(1)
            .color_capacity(0)
            .build();
        let rt = rt.expect("a runtime");
        let (listener, address) = listener();
        let serving = listener.serve(&rt, |stream, _| {
            mely_async::timeout(Duration::from_secs(3600), echo(stream))
        });
        for byte in 0..3 {
            ask(&mut Client::connect(address).expect("it listens"), byte);
        }
        serving.stop();
        serving.wait().expect("no error");
    });
}

#[test]
fn unix_connections_are_served_too() {
    bounded(|| {
        let rt = runtime(1);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a listener");
        let serving = listener.serve(&rt, |mut stream, _| async move {
            stream.write_all(b"served").await.expect("room");
        });
        let mut client = std::os::unix::net::UnixStream::connect(&path).expect("it listens");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("the end");
        assert_eq!(answer, "served");
        serving.stop();
        serving.wait().expect("no error");
    });
}

#[test]
fn a_listener_that_breaks_ends_its_server() {
    bounded(|| {
        let rt = runtime(1);
        let (listener, _) = listener();
        let other = listener.get_ref().try_clone().expect("a descriptor");
        let serving = listener.serve(&rt, |_, _| async {});
        let broken = rustix::net::shutdown(&other, rustix::net::Shutdown::Both);
        broken.expect("it is shut down");
        assert!(serving.wait().is_err());
    });
}

#[test]
fn a_server_ends_with_its_runtime() {
    bounded(|| {
        let rt = runtime(1);
        let (listener, address) = listener();
        let serving = listener.serve(&rt, |_stream, _| async {
            let _ = sleep(Duration::from_secs(3600)).await;
        });
        let mut client = Client::connect(address).expect("it listens");
        eventually("it is inside", || serving.connections() == 1);
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        assert!(serving.wait().is_err(), "it did not end by itself");
        assert_eq!(client.read(&mut [0]).expect("the end"), 0);
        assert!(Client::connect(address).is_err(), "nobody listens");
    });
}
