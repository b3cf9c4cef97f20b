//! A process without descriptors left, and what comes after.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream as Client;
use std::time::Duration;

use mely::Runtime;
use mely_async::{TcpListener, TcpStream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::support::{alone, bounded, eventually, runtime};

/// Takes all descriptors that there are.
fn take_all() -> Vec<File> {
    let mut taken = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        taken.push(file);
    }
    taken
}

fn limit_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let few = Rlimit {
        current: Some(64),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, few).expect("a lower limit");
}

fn survives(rt: Runtime) {
    limit_descriptors();
    bounded(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        let serving = listener.serve(&rt, |mut stream, _| async move {
            stream.write_all(b"in").await.expect("room");
        });
        // It waits: who tries to accept has a descriptor for that long, which others miss.
        rt.wait_idle();
        let mut taken = take_all();
        // One for the client, none for its connection.
        drop(taken.pop());
        let mut client = Client::connect(address).expect("it listens");
        eventually("it has failed and gone on", || serving.failures() >= 2);
        assert_eq!(serving.accepted(), 0);
        drop(taken);
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("it is let in");
        assert_eq!(answer, "in");
        serving.stop();
        serving.wait().expect("no error");
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
    });
}

#[test]
fn a_server_survives_running_out_of_descriptors() {
    alone(
        "descriptors::a_server_survives_running_out_of_descriptors",
        || survives(runtime(2)),
    );
}

/// What it waits for until it tries again asks its color for no room.
#[test]
fn a_server_survives_it_though_colors_have_no_room() {
    alone(
        "descriptors::a_server_survives_it_though_colors_have_no_room",
        || {
            let rt = Runtime::builder().workers(2).color_capacity(0).build();
            survives(rt.expect("a runtime"));
        },
    );
}

#[test]
fn who_accepts_alone_is_told_that_descriptors_ran_out() {
    alone(
        "descriptors::who_accepts_alone_is_told_that_descriptors_ran_out",
        || {
            limit_descriptors();
            bounded(|| {
                let rt = runtime(1);
                let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
                let address = listener.local_addr().expect("an address");
                let mut taken = take_all();
                drop(taken.pop());
                let mut client = Client::connect(address).expect("it listens");
                let accepted = rt.new_color().spawn(async move {
                    let error = listener.accept().await.expect_err("no descriptor is left");
                    drop(taken);
                    // The connection has waited: no edge will tell of it again.
                    let (stream, _) = listener.accept().await.expect("it is there");
                    (error.raw_os_error(), stream)
                });
                let (error, stream) = accepted.wait().expect("it ends");
                assert_eq!(error, Some(rustix::io::Errno::MFILE.raw_os_error()));
                client.write_all(b"x").expect("room");
                let mut stream: TcpStream = stream;
                let read = rt
                    .new_color()
                    .spawn(async move { stream.read(&mut [0; 8]).await });
                assert_eq!(read.wait().expect("it ends").expect("a byte"), 1);
            });
        },
    );
}
