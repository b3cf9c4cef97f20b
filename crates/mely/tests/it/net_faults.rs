//! What goes wrong in a network, and what must go on.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream as Plain};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use mely::net::{TcpListener, TcpStream, UnixStream, Watch};
use mely::{Handler, ReactorKind, Runtime};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::net::{Echoes, KINDS, runtime};
use crate::support::{Gate, OpenOnDrop, Stress, alone, bounded, eventually, settle};

static READY: Handler = Handler::new("net_faults::Ready");
/// Said to be so long that descriptors are looked at right after.
static BUSY: Handler = Handler::new("net_faults::Busy").cost_cycles(100_000_000);

#[test]
fn resets_end_their_connection_only() {
    for kind in KINDS {
        bounded("resets", move || {
            let rt = runtime(2, kind);
            let echoes = Echoes::on(&rt);
            let mut steady = echoes.connect();
            for round in 0..30 {
                let mut stream = echoes.connect();
                stream.write_all(&[1; 5_000]).expect("it takes bytes");
                if round % 2 == 0 {
                    // Half of what is unread is left, so that closing resets.
                    stream.read_exact(&mut [0; 2_500]).expect("it answers");
                }
                let linger = Some(Duration::ZERO);
                rustix::net::sockopt::set_socket_linger(&stream, linger).expect("an option");
                drop(stream);
                steady.write_all(&[2; 100]).expect("it takes bytes");
                let mut got = [0; 100];
                steady.read_exact(&mut got).expect("it answers");
                assert_eq!(got, [2; 100]);
            }
            drop(steady);
            echoes.end();
        });
    }
}

#[test]
fn a_flood_of_connections_is_accepted() {
    for kind in KINDS {
        bounded("flood", move || {
            let rt = runtime(2, kind);
            let echoes = Echoes::on(&rt);
            let each = Stress::get().pick(10, 60, 200);
            thread::scope(|scope| {
                for _ in 0..4 {
                    let echoes = &echoes;
                    scope.spawn(move || {
                        let mut all: Vec<_> = (0..each).map(|_| echoes.connect()).collect();
                        for stream in &mut all {
                            stream.write_all(b"?").expect("it takes bytes");
                        }
                        for stream in &mut all {
                            stream.read_exact(&mut [0]).expect("it answers");
                        }
                    });
                }
            });
            echoes.end();
        });
    }
}

#[test]
fn what_is_refused_is_an_error_value() {
    bounded("errors", || {
        let taken = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = taken.get_ref().local_addr().expect("it is bound");
        let again = TcpListener::bind(address).map(drop).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AddrInUse);
        let nothing_waits = taken.accept().map(drop).unwrap_err();
        assert_eq!(nothing_waits.kind(), ErrorKind::WouldBlock);
        // A regular file cannot be watched.
        let rt = runtime(1, ReactorKind::PerWorker);
        let file = std::fs::File::open("/proc/self/exe").expect("a file");
        let watch = Watch::new(Arc::new(file), &rt.new_color(), &READY, |(), _, _| ());
        assert!(watch.is_err());
    });
}

#[test]
fn connecting_is_told_by_readiness() {
    bounded("connect", || {
        let rt = runtime(2, ReactorKind::PerWorker);
        let echoes = Echoes::on(&rt);
        let refused: SocketAddr = {
            let free = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
            free.local_addr().expect("it is bound")
        };
        for (address, comes) in [(echoes.address, true), (refused, false)] {
            let told = Gate::default();
            let state = rt.colored((None::<TcpStream>, told.clone(), None));
            let mut stream = TcpStream::connect(address).expect("it begins");
            stream
                .watch(&state, &READY, |(stream, told, error), _, ready| {
                    if let Some(stream) = stream.as_ref().filter(|_| ready.writable) {
                        *error = Some(stream.get_ref().take_error().ok().flatten().is_none());
                        told.arrive();
                    }
                })
                .expect("a watch");
            // The edge may come before the stream is in its place: look by hand too.
            state.blocking_with(move |(slot, told, error)| {
                let failed = stream.get_ref().take_error().ok().flatten();
                if failed.is_some() || stream.get_ref().peer_addr().is_ok() {
                    *error = Some(failed.is_none());
                    told.arrive();
                }
                *slot = Some(stream);
            });
            told.pass("it is told");
            let connected = state.blocking_with(|(_, _, error)| *error);
            if comes {
                assert_eq!(connected, Some(true));
            }
            state.blocking_with(|(slot, _, _)| *slot = None);
        }
        echoes.end();
    });
}

#[test]
fn a_watch_that_is_dropped_is_told_nothing_more() {
    for kind in KINDS {
        bounded("dropped watch", move || {
            for _ in 0..50 {
                let rt = runtime(1, kind);
                let (mut ours, mut theirs) = UnixStream::pair().expect("a pair");
                let told = rt.colored(0);
                let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
                ours.watch(&told, &READY, |told, _, _| *told += 1)
                    .expect("a watch");
                // A fresh socket is writable: let that edge pass first.
                eventually("the first edge is told", || told.blocking_with(|n| *n) > 0);
                settle(&rt);
                let before = told.blocking_with(|n| *n);
                let (begin, wait) = (begun.clone(), release.0.clone());
                told.post_or_shed(move |_, _| {
                    begin.arrive();
                    wait.pass("the watch is dropped");
                });
                begun.pass("the color is busy");
                theirs.write_all(b"edge").expect("there is room");
                ours.unwatch();
                drop(release);
                settle(&rt);
                assert_eq!(told.blocking_with(|n| *n), before);
                // The descriptor is open still, and may be watched anew.
                ours.watch(&told, &READY, |told, _, _| *told += 100)
                    .expect("a watch");
                eventually("the new watch is told", || {
                    told.blocking_with(|n| *n) >= before + 100
                });
                drop((ours, theirs));
            }
        });
    }
}

#[test]
fn dropping_watches_races_with_readiness() {
    for kind in KINDS {
        bounded("races", move || {
            let rt = runtime(3, kind);
            let told = Arc::new(AtomicU64::new(0));
            let rounds = Stress::get().pick(50, 400, 5_000);
            let pairs = (0..rounds).map(|_| {
                let (mut ours, theirs) = UnixStream::pair().expect("a pair");
                let color = rt.new_color();
                let seen = Arc::clone(&told);
                let ready = move |_: &mut (), _: &mut mely::Context<'_>, _| {
                    seen.fetch_add(1, Relaxed);
                };
                ours.watch(&color, &READY, ready).expect("a watch");
                (ours, theirs)
            });
            for (ours, mut theirs) in pairs {
                let writer = thread::spawn(move || drop(theirs.write_all(b"x")));
                drop(ours);
                writer.join().expect("it ends");
            }
            settle(&rt);
            // Nothing refers to the closure any more.
            eventually("watches end", || Arc::strong_count(&told) == 1);
        });
    }
}

/// A color that is full when its descriptor becomes ready must hear of it once it
/// has room: an edge comes only once.
#[test]
fn readiness_is_not_lost_to_a_full_color() {
    for kind in KINDS {
        bounded("full color", move || {
            let rt = runtime(1, kind);
            let (begun, release) = (Gate::default(), OpenOnDrop(Gate::default()));
            let color = rt.color_options().capacity(1).colored(None::<UnixStream>);
            let color = color.expect("no home was asked for");
            let (mut ours, mut theirs) = UnixStream::pair().expect("a pair");
            let (got, edges) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
            let (bytes_got, told) = (Arc::clone(&got), Arc::clone(&edges));
            ours.watch(&color, &READY, move |slot, _, _| {
                told.fetch_add(1, Relaxed);
                let mut bytes = [0; 16];
                while let Some(Ok(count @ 1..)) = slot.as_mut().map(|s| s.read(&mut bytes)) {
                    bytes_got.fetch_add(count as u64, Relaxed);
                }
            })
            .expect("a watch");
            eventually("the first edge is told", || edges.load(Relaxed) > 0);
            settle(&rt);
            let (begin, wait) = (begun.clone(), release.0.clone());
            let busy = rt.new_color();
            color.blocking_with(move |slot| *slot = Some(ours));
            busy.with_handler(&BUSY).post_or_shed(move |_, _| {
                begin.arrive();
                wait.pass("the color is full");
            });
            begun.pass("the worker is busy");
            assert!(color.post(|_, _| ()).is_ok());
            theirs.write_all(b"a request").expect("there is room");
            drop(release);
            eventually("the request is read", || got.load(Relaxed) == 9);
            color.blocking_with(|slot| *slot = None);
        });
    }
}

#[test]
fn a_watch_outlives_its_runtime() {
    for kind in KINDS {
        bounded("late watch", move || {
            let rt = runtime(2, kind);
            let (mut ours, mut theirs) = UnixStream::pair().expect("a pair");
            let color = rt.new_color();
            ours.watch(&color, &READY, |_, _, _| ()).expect("a watch");
            settle(&rt);
            drop(rt);
            theirs.write_all(b"to nobody").expect("there is room");
            let mut got = [0; 9];
            ours.read_exact(&mut got).expect("the descriptor is open");
            ours.unwatch();
            drop(ours.watch(&color, &READY, |_, _, _| ()));
        });
    }
}

/// Lowers the limit of descriptors so that `spare` can be opened.
fn leave_descriptors(spare: u64) {
    let open = std::fs::read_dir("/proc/self/fd").expect("/proc").count() as u64;
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(open + spare);
    setrlimit(Resource::Nofile, limit).expect("a limit may be lowered");
}

#[test]
fn a_runtime_without_descriptors_is_an_error_value() {
    alone(
        "net_faults::a_runtime_without_descriptors_is_an_error_value",
        || {
            bounded("no descriptors", || {
                for spare in 0..6 {
                    leave_descriptors(spare);
                    let built = Runtime::builder().workers(4).build();
                    let error = built.map(drop).unwrap_err();
                    assert!(matches!(error, mely::BuildError::Io { .. }), "{error}");
                }
            });
        },
    );
}

#[test]
fn a_server_without_descriptors_goes_on_when_there_are_some() {
    alone(
        "net_faults::a_server_without_descriptors_goes_on_when_there_are_some",
        || {
            bounded("EMFILE", || {
                let rt = runtime(2, ReactorKind::PerWorker);
                let echoes = Echoes::on(&rt);
                let mut first = echoes.connect();
                first.write_all(b"1").expect("it takes bytes");
                first.read_exact(&mut [0]).expect("it answers");
                leave_descriptors(12);
                let mut clients = Vec::new();
                // Each takes one here and one there, until accepting fails.
                while let Ok(client) = Plain::connect(echoes.address) {
                    clients.push(client);
                }
                assert!(!clients.is_empty());
                // The server still answers those it has, and accepts again later.
                first.write_all(b"2").expect("it takes bytes");
                first.read_exact(&mut [0]).expect("it answers");
                clients.clear();
                eventually("connections end", || Arc::strong_count(&echoes.alive) <= 3);
                let mut late = echoes.connect();
                late.write_all(b"3").expect("it takes bytes");
                late.read_exact(&mut [0]).expect("it answers");
                drop((first, late));
                echoes.end();
            });
        },
    );
}
