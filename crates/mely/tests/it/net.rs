//! Connections over loopback and Unix sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mely::net::{Nonblocking, TcpListener, UnixListener, UnixStream};
use mely::{Colored, Context, Handle, Handler, ReactorKind, Runtime};

use crate::support::{LIMIT, Stress, bounded, eventually, settle};

static ACCEPT: Handler = Handler::new("net::Accept");
static ECHO: Handler = Handler::new("net::Echo");

/// A connection that sends back what it gets, and ends when its peer does.
pub(crate) struct Echo<S> {
    stream: Option<Nonblocking<S>>,
    out: Vec<u8>,
    ended: bool,
    _alive: Arc<()>,
}

impl<S> Echo<S>
where
    S: AsFd + Send + Sync + 'static,
    for<'a> &'a S: Read + Write,
{
    fn begin(handle: &Handle, stream: Nonblocking<S>, alive: Arc<()>) {
        let connection = handle.colored(Self {
            stream: None,
            out: Vec::new(),
            ended: false,
            _alive: alive,
        });
        connection.post_or_shed(|this, cx| {
            let mut stream = stream;
            let watched = stream.watch(&cx.colored(), &ECHO, |this, cx, _| this.ready(cx));
            this.stream = watched.ok().map(|()| stream);
        });
    }

    fn ready(&mut self, _cx: &mut Context<'_, Self>) {
        match self.exchange() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            _ => self.stream = None,
        }
    }

    /// Reads and writes until that would block, or all is done.
    fn exchange(&mut self) -> std::io::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        // Odd and small, so that messages are cut anywhere.
        let mut bytes = [0; 1021];
        loop {
            while !self.out.is_empty() {
                let count = stream.write(&self.out)?;
                self.out.drain(..count);
            }
            if self.ended {
                return Ok(());
            }
            let count = stream.read(&mut bytes)?;
            self.ended = count == 0;
            self.out.extend_from_slice(&bytes[..count]);
        }
    }
}

/// Accepts what waits; once more after a while if something was missing for that,
/// since no edge will tell.
fn accept_all(
    slot: &mut Option<TcpListener>,
    alive: &Arc<()>,
    cx: &mut Context<'_, Option<TcpListener>>,
) {
    while let Some(listener) = slot {
        match listener.accept() {
            Ok((stream, peer)) => {
                assert!(peer.ip().is_loopback());
                Echo::begin(&cx.handle(), stream, Arc::clone(alive));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(_) => {
                let (alive, pause) = (Arc::clone(alive), Duration::from_millis(1));
                let again = move |slot: &mut _, cx: &mut Context<'_, _>| {
                    accept_all(slot, &alive, cx);
                };
                drop(cx.colored().post_after(pause, again));
                return;
            }
        }
    }
}

/// A listener whose connections echo; `alive` counts them.
pub(crate) struct Echoes {
    pub(crate) listening: Colored<Option<TcpListener>>,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) alive: Arc<()>,
}

impl Echoes {
    pub(crate) fn on(rt: &Handle) -> Self {
        let mut listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.get_ref().local_addr().expect("it is bound");
        let (listening, alive) = (rt.colored(None), Arc::new(()));
        let given = Arc::clone(&alive);
        listener
            .watch(&listening, &ACCEPT, move |listener, cx, _| {
                accept_all(listener, &given, cx);
            })
            .expect("a watch");
        listening.blocking_with(move |slot| *slot = Some(listener));
        Self {
            listening,
            address,
            alive,
        }
    }

    pub(crate) fn connect(&self) -> std::net::TcpStream {
        let stream = std::net::TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(LIMIT / 2)).expect("a timeout");
        stream
            .set_write_timeout(Some(LIMIT / 2))
            .expect("a timeout");
        stream
    }

    /// Ends the listener and waits until every connection has gone.
    pub(crate) fn end(self) {
        self.listening.blocking_with(|slot| *slot = None);
        // One here and one in the watch, which its last event may still hold.
        eventually("connections end", || Arc::strong_count(&self.alive) <= 2);
    }
}

pub(crate) fn runtime(workers: usize, kind: ReactorKind) -> Runtime {
    let builder = Runtime::builder().workers(workers).reactor(kind);
    builder.build().expect("a runtime")
}

pub(crate) const KINDS: [ReactorKind; 2] = [ReactorKind::PerWorker, ReactorKind::Single];

fn talk<S: Read + Write>(stream: &mut S, rounds: usize, seed: u8) {
    for round in 0..rounds {
        let length = 1 + (round * 577 + usize::from(seed)) % 5_000;
        let sent: Vec<u8> = (0..length).map(|at| (at % 251) as u8 ^ seed).collect();
        stream.write_all(&sent).expect("it takes bytes");
        let mut got = vec![0; length];
        stream.read_exact(&mut got).expect("it answers");
        assert!(got == sent, "round {round} came back changed");
    }
}

#[test]
fn many_tcp_connections_echo() {
    for kind in KINDS {
        for workers in [1, 2, 8] {
            bounded("tcp echo", move || {
                let rt = runtime(workers, kind);
                let echoes = Echoes::on(&rt);
                let connections = Stress::get().pick(4, 12, 100);
                thread::scope(|scope| {
                    for seed in 0..4 {
                        let echoes = &echoes;
                        scope.spawn(move || {
                            let mut all: Vec<_> =
                                (0..connections).map(|_| echoes.connect()).collect();
                            for stream in &mut all {
                                talk(stream, 5, seed);
                            }
                            for stream in &mut all {
                                talk(stream, 5, seed);
                            }
                        });
                    }
                });
                echoes.end();
                settle(&rt);
                rt.shutdown(LIMIT).expect("nothing is left");
            });
        }
    }
}

#[test]
fn many_unix_connections_echo() {
    for kind in KINDS {
        bounded("unix echo", move || {
            let rt = runtime(2, kind);
            let path = format!("mely-net-{}-{kind:?}", std::process::id());
            let path = std::env::temp_dir().join(path);
            drop(std::fs::remove_file(&path));
            let mut listener = UnixListener::bind(&path).expect("a free path");
            assert!(UnixListener::bind(&path).is_err(), "it exists");
            let (listening, alive) = (rt.colored(None::<UnixListener>), Arc::new(()));
            let given = Arc::clone(&alive);
            listener
                .watch(&listening, &ACCEPT, move |listener, cx, _| {
                    while let Some(Ok(stream)) = listener.as_ref().map(UnixListener::accept) {
                        Echo::begin(&cx.handle(), stream, Arc::clone(&given));
                    }
                })
                .expect("a watch");
            listening.blocking_with(move |slot| *slot = Some(listener));
            thread::scope(|scope| {
                for seed in 0..8 {
                    let path = &path;
                    scope.spawn(move || {
                        let mut stream = std::os::unix::net::UnixStream::connect(path);
                        talk(stream.as_mut().expect("it listens"), 20, seed);
                    });
                }
            });
            listening.blocking_with(|slot| *slot = None);
            eventually("connections end", || Arc::strong_count(&alive) <= 2);
            std::fs::remove_file(&path).expect("it was made");
        });
    }
}

#[test]
fn a_pair_of_streams_in_two_colors_talk() {
    bounded("pair", || {
        let rt = runtime(2, ReactorKind::PerWorker);
        let (a, mut b) = UnixStream::pair().expect("a pair");
        let alive = Arc::new(());
        Echo::begin(&rt, a, Arc::clone(&alive));
        let got = rt.colored((None::<UnixStream>, Vec::new()));
        b.watch(&got, &ECHO, |(stream, got): &mut (_, Vec<u8>), _, _| {
            let Some(stream): &mut Option<UnixStream> = stream else {
                return;
            };
            let mut bytes = [0; 7];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                got.extend_from_slice(&bytes[..count]);
            }
        })
        .expect("a watch");
        got.blocking_with(move |(slot, _)| {
            b.write_all(b"to and fro").expect("there is room");
            *slot = Some(b);
        });
        eventually("it comes back", || {
            got.blocking_with(|(_, got)| got == b"to and fro")
        });
        got.blocking_with(|(stream, _)| *stream = None);
        eventually("the other end goes", || Arc::strong_count(&alive) == 1);
    });
}

#[test]
fn a_peer_that_reads_nothing_and_then_everything_gets_it_all() {
    for kind in KINDS {
        bounded("slow reader", move || {
            let rt = runtime(2, kind);
            let echoes = Echoes::on(&rt);
            let length = Stress::get().pick(1 << 20, 8 << 20, 64 << 20);
            let mut stream = echoes.connect();
            let mut writer = stream.try_clone().expect("a second descriptor");
            let sent = thread::spawn(move || {
                // Both directions fill up before anybody reads.
                let bytes: Vec<u8> = (0..length).map(|at| (at % 253) as u8).collect();
                writer.write_all(&bytes).expect("it takes bytes");
                writer.shutdown(Shutdown::Write).expect("it is open");
            });
            let mut first = [0; 1];
            stream.read_exact(&mut first).expect("it answers");
            eventually("the server has read what it can", || {
                let before = rt.metrics().events.run;
                thread::yield_now();
                rt.metrics().events.run == before
            });
            let mut got = Vec::from(first);
            stream.read_to_end(&mut got).expect("it answers to the end");
            sent.join().expect("all is sent");
            assert_eq!(got.len(), length);
            assert!(got.iter().enumerate().all(|(at, &b)| b == (at % 253) as u8));
            drop(stream);
            echoes.end();
        });
    }
}

#[test]
fn single_bytes_arrive() {
    for kind in KINDS {
        bounded("single bytes", move || {
            let rt = runtime(2, kind);
            let echoes = Echoes::on(&rt);
            let mut stream = echoes.connect();
            stream.set_nodelay(true).expect("an option");
            let mut got = [0];
            for n in 0..=255 {
                stream.write_all(&[n]).expect("it takes bytes");
                stream.read_exact(&mut got).expect("it answers");
                assert_eq!(got, [n]);
            }
            drop(stream);
            echoes.end();
        });
    }
}

#[test]
fn a_half_closed_connection_still_answers() {
    for kind in KINDS {
        bounded("half close", move || {
            let rt = runtime(2, kind);
            let echoes = Echoes::on(&rt);
            for _ in 0..20 {
                let mut stream = echoes.connect();
                stream.write_all(b"the last word").expect("it takes bytes");
                stream.shutdown(Shutdown::Write).expect("it is open");
                let mut got = Vec::new();
                stream.read_to_end(&mut got).expect("it answers to the end");
                assert_eq!(got, b"the last word");
            }
            echoes.end();
        });
    }
}

#[test]
fn connections_go_on_when_their_color_moves() {
    bounded("moved", || {
        let rt = runtime(4, ReactorKind::PerWorker);
        let echoes = Echoes::on(&rt);
        let mut streams: Vec<_> = (0..8).map(|_| echoes.connect()).collect();
        let rounds = Stress::get().pick(10, 60, 1_000);
        for round in 0..rounds {
            // Load on one core, so that its colors are stolen.
            for _ in 0..40 {
                let busy = rt.color_options().start_on(round % 4).new_color();
                busy.expect("a worker").post_or_shed(|_, _| {
                    (0..20_000).for_each(|_| std::hint::spin_loop());
                });
            }
            for stream in &mut streams {
                stream.write_all(&[7; 600]).expect("it takes bytes");
            }
            for stream in &mut streams {
                let mut got = [0; 600];
                stream.read_exact(&mut got).expect("it answers");
                assert_eq!(got, [7; 600]);
            }
        }
        drop(streams);
        echoes.end();
    });
}
