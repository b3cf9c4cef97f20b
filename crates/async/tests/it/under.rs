//! Connections under colors that the program chooses, and the wait for the end of a server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream as Client};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use mely::{CallError, Colored, OnPanic, Pending, TaskState};
use mely_async::{ServeOptions, TcpListener, TcpStream};

use crate::support::{bounded, eventually, runtime, silent_panic};

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn told(address: SocketAddr) -> String {
    let mut client = Client::connect(address).expect("it listens");
    let mut told = String::new();
    // Who is closed with something unread may find a reset.
    let _ = client.write_all(b"?");
    let _ = client.read_to_string(&mut told);
    told
}

/// Tells the how-manieth of its room a connection is.
async fn visit(mut room: TaskState<u32>, mut stream: TcpStream) -> std::io::Result<()> {
    stream.read_exact(&mut [0; 1]).await?;
    let number = room.with(|visits| {
        *visits += 1;
        *visits
    });
    stream.write_all(number.to_string().as_bytes()).await
}

#[test]
fn connections_share_the_state_of_the_color_that_is_chosen_for_them() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let rooms = [rt.colored(0), rt.colored(0)];
        let mut next = rooms.clone().into_iter().cycle();
        let serving = listener.serve_under(
            &rt,
            move |stream, peer| {
                assert_eq!(stream.peer_addr().ok().as_ref(), Some(peer));
                next.next().expect("a cycle")
            },
            |room, stream, _| visit(room, stream),
        );
        let clients = [(); 40].map(|()| std::thread::spawn(move || told(address)));
        let told = clients.map(|client| client.join().expect("no panic"));
        let mut numbers: Vec<u32> = told
            .iter()
            .map(|told| told.parse().expect("a number"))
            .collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq((2..42).map(|twice| twice / 2)));
        assert!(
            rooms
                .iter()
                .all(|room| room.blocking_with(|visits| *visits) == 20)
        );
        eventually("all leave", || serving.connections() == 0);
        serving.stop();
        serving.wait().expect("no error");
    });
}

fn poison(room: &Colored<u32>) {
    let panicked = room.try_blocking_with(|_| -> () { silent_panic() });
    assert!(panicked.is_err());
}

#[test]
fn a_connection_for_a_color_that_takes_no_more_is_closed_and_the_others_go_on() {
    bounded(|| {
        let rt = runtime(2);
        let ends: [fn(&Colored<u32>); 2] = [|room| room.stop(Pending::Drop), poison];
        for end in ends {
            let (listener, address) = listener();
            let options = rt.color_options().on_panic(OnPanic::PoisonColor);
            let lost = options.new_color().expect("a color").attach(0);
            end(&lost);
            let mut rooms = [lost, rt.colored(0)].into_iter().cycle();
            let serving = listener.serve_under_with(
                &rt,
                ServeOptions::new().max_connections(1),
                move |_, _| rooms.next().expect("a cycle"),
                |room, stream, _| visit(room, stream),
            );
            for visit in 1..10 {
                assert_eq!(told(address), "");
                assert_eq!(told(address), visit.to_string());
            }
            serving.stop();
            serving.wait().expect("no error");
        }
    });
}

#[test]
fn connections_end_with_a_color_that_is_stopped_under_them() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let room = rt.colored(0);
        let own = room.clone();
        let serving = listener.serve_under(
            &rt,
            move |_, _| own.clone(),
            |room, stream, _| visit(room, stream),
        );
        let mut clients = [(); 10].map(|()| Client::connect(address).expect("it listens"));
        eventually("all are inside", || serving.connections() == 10);
        room.stop(Pending::Drop);
        for client in &mut clients {
            assert_eq!(client.read(&mut [0]).expect("the end"), 0);
        }
        eventually("all leave", || serving.connections() == 0);
        serving.stop();
        serving.wait().expect("no error");
    });
}

/// A connection asks the color that is chosen for it for no room.
#[test]
fn connections_are_served_under_a_color_that_is_flooded() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let options = rt.color_options().capacity(2);
        let room = options.colored(0).expect("no home was chosen");
        let (goes_on, waits) = mpsc::channel::<()>();
        let (begins, begun) = mpsc::channel();
        room.post_or_shed(move |_, _| {
            _ = begins.send(());
            _ = waits.recv();
        });
        begun.recv().expect("it is held");
        while room.post(|_, _| ()).is_ok() {}
        let own = room.clone();
        let serving = listener.serve_under(
            &rt,
            move |_, _| own.clone(),
            |room, stream, _| visit(room, stream),
        );
        let visitor = move || told(address);
        let early = [(); 2].map(|()| thread::spawn(visitor));
        // Two are let in one after the other: the first was begun while there was no room.
        eventually("they are let in", || serving.accepted() == 2);
        let ends = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&ends);
        let floods = thread::spawn(move || {
            while !ended.load(Relaxed) {
                room.post_or_shed(|_, _| ());
            }
        });
        drop(goes_on);
        let mut numbers = early.map(|visitor| visitor.join().expect("no panic"));
        numbers.sort_unstable();
        assert_eq!(numbers, ["1", "2"]);
        for visit in 3..10 {
            assert_eq!(told(address), visit.to_string());
        }
        ends.store(true, Relaxed);
        floods.join().expect("no panic");
        serving.stop();
        serving.wait().expect("no error");
    });
}

#[test]
fn the_state_is_lent_to_the_task_and_to_nobody_else() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let room = rt.colored(0);
        let serving = listener.serve_under(
            &rt,
            move |_, _| room.clone(),
            |mut room, stream, _| {
                let lent = room.try_with(|_| ());
                assert_eq!(lent, Err(CallError::OutsideTask));
                visit(room, stream)
            },
        );
        assert_eq!(told(address), "1");
        serving.stop();
        serving.wait().expect("no error");
    });
}

/// Neither does the server end, nor is the room poisoned, where a future is not made.
#[test]
fn who_panics_where_a_color_is_chosen_loses_that_connection() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let rooms = rt.colored(0_u32);
        let (mut chosen, mut made) = (0, 0);
        let serving = listener.serve_under(
            &rt,
            move |_, _| {
                chosen += 1;
                if chosen == 1 {
                    silent_panic();
                }
                rooms.clone()
            },
            move |room, stream, _| {
                made += 1;
                if made == 1 {
                    silent_panic();
                }
                visit(room, stream)
            },
        );
        let all = [(); 4].map(|()| told(address));
        assert_eq!(all, ["", "", "1", "2"]);
        serving.stop();
        serving.wait().expect("no error");
    });
}

#[test]
fn the_end_of_a_server_is_waited_for_no_longer_than_asked() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let serving = listener.serve(&rt, |mut stream, _| async move {
            stream.read(&mut [0; 1]).await
        });
        let client = Client::connect(address).expect("it listens");
        eventually("it is inside", || serving.connections() == 1);
        let serving = serving.wait_timeout(Duration::ZERO).expect_err("it serves");
        serving.stop();
        let serving = serving.wait_timeout(Duration::from_millis(1));
        let serving = serving.expect_err("a connection stays");
        assert_eq!((serving.connections(), serving.accepted()), (1, 1));
        drop(client);
        let ended = serving.wait_timeout(Duration::MAX).expect("it ends");
        ended.expect("no error");
        // Inside of an event it does not block.
        let serving = self::listener().0.serve(&rt, |_, _| async {});
        let inside = rt
            .new_color()
            .call(|(), _| serving.wait_timeout(Duration::MAX));
        let waited = inside.wait().expect("no panic").expect("it is an answer");
        assert!(waited.is_err());
    });
}
