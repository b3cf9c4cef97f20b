//! Sockets of futures whose colors are stopped.
use std::io::Read;
use std::net::{TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Duration;

use mely::{OnPanic, Pending, Runtime};
use mely_async::{TcpStream, UdpSocket};

fn pair() -> (StdStream, StdStream) {
    let l = StdListener::bind("127.0.0.1:0").unwrap();
    let a = StdStream::connect(l.local_addr().unwrap()).unwrap();
    (a, l.accept().unwrap().0)
}

struct D(Arc<AtomicBool>);
impl Drop for D {
    fn drop(&mut self) {
        self.0.store(true, SeqCst)
    }
}

/// A connection whose color is stopped: the peer hangs up, and nobody closes the socket.
#[test]
fn stopped_connection_is_never_closed() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let group = rt.group();
    let (mut peer, ours) = pair();
    let session = group.colored(String::new());
    let gone = Arc::new(AtomicBool::new(false));
    let d = D(gone.clone());
    let reply = session.spawn(async move {
        let _d = d;
        let mut s = TcpStream::from_std(ours).unwrap();
        let mut b = [0; 16];
        while let Ok(1..) = s.read(&mut b).await {}
    });
    std::thread::sleep(Duration::from_millis(100));
    group.stop(Pending::Drop);
    group.wait().unwrap();
    drop(session);
    // Wake-ups: the peer writes, and half-closes.
    use std::io::Write;
    peer.write_all(b"hello").unwrap();
    peer.shutdown(std::net::Shutdown::Write).unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let eof = peer.read(&mut [0; 4]);
    let answered = reply.wait_timeout(Duration::from_millis(100)).is_ok();
    assert!(
        matches!(eof, Ok(0) | Err(_)) && gone.load(SeqCst) && answered,
        "peer read {eof:?}, future dropped {}, answered {answered}",
        gone.load(SeqCst)
    );
}

/// The same for a color that a panic poisoned.
#[test]
fn poisoned_connection_is_never_closed() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let (mut peer, ours) = pair();
    let session = rt
        .color_options()
        .on_panic(OnPanic::PoisonColor)
        .colored(0)
        .unwrap();
    let gone = Arc::new(AtomicBool::new(false));
    let d = D(gone.clone());
    let reply = session.spawn(async move {
        let _d = d;
        let mut s = TcpStream::from_std(ours).unwrap();
        let mut b = [0; 16];
        while let Ok(1..) = s.read(&mut b).await {}
    });
    std::thread::sleep(Duration::from_millis(100));
    let _ = session.try_with(|_| -> () { std::panic::resume_unwind(Box::new("odd")) });
    drop(session);
    use std::io::Write;
    peer.write_all(b"hello").unwrap();
    peer.shutdown(std::net::Shutdown::Write).unwrap();
    let answered = reply.wait_timeout(Duration::from_secs(2)).is_ok();
    assert!(
        gone.load(SeqCst) && answered,
        "future dropped {}, answered {answered}",
        gone.load(SeqCst)
    );
}

/// Two colors wait for one socket; the one that has the watch is stopped.
#[test]
fn the_other_half_hangs() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    let to = socket.local_addr().unwrap();
    let (a, b) = (rt.fresh_color(), rt.fresh_color());
    let s = socket.clone();
    let _first = a.spawn(async move {
        let mut x = [0; 4];
        s.recv_from(&mut x).await.map(|_| ())
    });
    std::thread::sleep(Duration::from_millis(50));
    let s = socket.clone();
    let second = b.spawn(async move {
        let mut x = [0; 4];
        s.recv_from(&mut x).await.map(|_| x)
    });
    std::thread::sleep(Duration::from_millis(50));
    a.stop(Pending::Drop);
    let out = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..5 {
        out.send_to(b"abcd", to).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    let got = second.wait_timeout(Duration::from_secs(2));
    assert!(
        got.is_ok(),
        "five datagrams wait, and nobody tells the color that was not stopped"
    );
}
