//! Reading and writing.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::time::Duration;

use futures::future::{Either, select};
use futures::{AsyncReadExt as _, AsyncWriteExt as _, FutureExt as _};
use mely_async::{OwnedReadHalf, Stream, StreamSocket, TcpStream, UnixStream, sleep};

use crate::support::{colored, pattern, tcp_pair};

/// More than the buffers of a connection hold.
const MUCH: usize = 16 << 20;

async fn echo<S: StreamSocket>(mut stream: Stream<S>) -> io::Result<u64> {
    let (mut bytes, mut sum) = (vec![0; 1000], 0);
    loop {
        match stream.read(&mut bytes).await? {
            0 => return Ok(sum),
            count => {
                stream.write_all(&bytes[..count]).await?;
                sum += count as u64;
            }
        }
    }
}

async fn asks<S: StreamSocket>(mut stream: Stream<S>) -> io::Result<()> {
    for length in [1, 10, 999, 1000, 1001, 5000] {
        let sent = pattern(length);
        stream.write_all(&sent).await?;
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).await?;
        assert!(answer == sent, "{length} bytes come back");
    }
    stream.shutdown().await?;
    assert_eq!(stream.read(&mut [0; 8]).await?, 0);
    Ok(())
}

#[test]
fn tcp_streams_echo() {
    let echoed = colored(|rt| async move {
        let (here, there) = tcp_pair().await?;
        let echoed = rt.new_color().spawn(echo(there));
        asks(here).await?;
        echoed.await.expect("the echo ends")
    });
    assert_eq!(echoed.expect("no error"), 8011);
}

#[test]
fn unix_streams_echo() {
    let echoed = colored(|rt| async move {
        let (here, there) = UnixStream::pair()?;
        let echoed = rt.new_color().spawn(echo(there));
        asks(here).await?;
        echoed.await.expect("the echo ends")
    });
    assert_eq!(echoed.expect("no error"), 8011);
}

#[test]
fn both_ends_may_be_of_one_color() {
    let done = colored(|_| async {
        let (here, there) = tcp_pair().await?;
        let (echoed, asked) = futures::join!(echo(there), asks(here));
        asked.and(echoed)
    });
    assert_eq!(done.expect("no error"), 8011);
}

async fn count_all<S: StreamSocket>(mut half: OwnedReadHalf<S>) -> io::Result<usize> {
    let (mut bytes, mut sum) = (vec![0; 70_000], 0);
    loop {
        match half.read(&mut bytes).await? {
            0 => return Ok(sum),
            count => {
                let right = (sum..).zip(&bytes[..count]);
                assert!(
                    right
                        .into_iter()
                        .all(|(at, byte)| (at % 251) as u8 == *byte)
                );
                sum += count;
            }
        }
    }
}

#[test]
fn who_writes_waits_for_a_peer_that_does_not_read() {
    let (before, counted) = colored(|rt| async move {
        let (here, there) = tcp_pair().await.expect("a pair");
        let (mut wrote, all) = (0, pattern(MUCH));
        // As much as there is room for; then it would block.
        while let Some(count) = here
            .writable()
            .now_or_never()
            .and_then(|_| here.try_write(&all[wrote..]).ok())
        {
            wrote += count;
        }
        let mut here = here;
        let mut write = Box::pin(async move { here.write_all(&all[wrote..]).await.map(|()| here) });
        // Nobody reads: it waits, whatever else happens.
        assert!(futures::poll!(write.as_mut()).is_pending());
        let write = match select(write, Box::pin(sleep(Duration::from_millis(20)))).await {
            Either::Left(_) => panic!("there was no room"),
            Either::Right((_, write)) => write,
        };
        let (reads, _writes) = there.into_split();
        let counted = rt.new_color().spawn(count_all(reads));
        drop(write.await.expect("all is written"));
        (
            wrote,
            counted.await.expect("the reader ends").expect("no error"),
        )
    });
    assert!(before < MUCH, "the peer held it up");
    assert_eq!(counted, MUCH);
}

#[test]
fn halves_live_under_colors_of_their_own() {
    colored(|rt| async move {
        let (here, there) = tcp_pair().await.expect("a pair");
        let (here_reads, mut here_writes) = here.into_split();
        let (there_reads, mut there_writes) = there.into_split();
        let all = pattern(MUCH);
        let writes = {
            let all = all.clone();
            rt.new_color()
                .spawn(async move { here_writes.write_all(&all).await })
        };
        let back = rt
            .new_color()
            .spawn(async move { there_writes.write_all(&all).await });
        let counts = [here_reads, there_reads].map(|half| rt.new_color().spawn(count_all(half)));
        for count in counts {
            assert_eq!(count.await.expect("it ends").expect("no error"), MUCH);
        }
        writes.await.expect("it ends").expect("no error");
        back.await.expect("it ends").expect("no error");
    });
}

#[test]
fn a_dropped_half_that_writes_ends_its_half_only() {
    colored(|_| async {
        let (here, mut there) = tcp_pair().await.expect("a pair");
        let (mut reads, writes) = here.into_split();
        drop(writes);
        assert_eq!(there.read(&mut [0; 8]).await.expect("the end"), 0);
        there
            .write_all(b"still")
            .await
            .expect("the other half is open");
        let mut bytes = [0; 5];
        reads.read_exact(&mut bytes).await.expect("it came");
        assert_eq!(&bytes, b"still");
    });
}

#[test]
fn halves_of_one_stream_can_be_put_together() {
    colored(|_| async {
        let (here, mut there) = tcp_pair().await.expect("a pair");
        let (other, _) = UnixStream::pair().expect("a pair");
        let (reads, writes) = here.into_split();
        let mut here = reads.reunite(writes).expect("of one stream");
        here.write_all(b"whole")
            .await
            .expect("nothing was shut down");
        let mut bytes = [0; 5];
        there.read_exact(&mut bytes).await.expect("it came");
        let (another, _) = UnixStream::pair().expect("a pair");
        let ((reads, _w), (_r, writes)) = (other.into_split(), another.into_split());
        assert!(reads.reunite(writes).is_err());
    });
}

#[test]
fn borrowed_halves_work_side_by_side() {
    colored(|_| async {
        let (mut here, there) = UnixStream::pair().expect("a pair");
        let echoes = echo(there);
        let asks = async move {
            // With the extension of `futures` in scope its method is found first.
            let (mut reads, mut writes) = Stream::split(&mut here);
            let all = pattern(1 << 20);
            let mut back = vec![0; all.len()];
            let (wrote, read) = futures::join!(writes.write_all(&all), reads.read_exact(&mut back));
            wrote.and(read).expect("no error");
            assert!(back == all);
        };
        let (echoed, ()) = futures::join!(echoes, asks);
        assert_eq!(echoed.expect("no error"), 1 << 20);
    });
}

#[test]
fn a_peer_that_resets_is_told() {
    let kind = colored(|_| async {
        let (here, mut there) = tcp_pair().await.expect("a pair");
        let waits = async { there.read(&mut [0; 8]).await };
        // Unread bytes make a close a reset.
        rustix::net::sockopt::set_socket_linger(&here, Some(Duration::ZERO)).expect("an option");
        let (read, ()) = futures::join!(waits, async { drop(here) });
        read.expect_err("the connection was reset").kind()
    });
    assert_eq!(kind, io::ErrorKind::ConnectionReset);
}

#[test]
fn a_half_closed_stream_goes_on_the_other_way() {
    colored(|_| async {
        let (mut here, mut there) = tcp_pair().await.expect("a pair");
        here.write_all(b"question").await.expect("room");
        here.get_ref()
            .shutdown(Shutdown::Write)
            .expect("it is open");
        let mut question = Vec::new();
        there
            .read_to_end(&mut question)
            .await
            .expect("the end comes");
        there
            .write_all(b"answer")
            .await
            .expect("the way back is open");
        there.close().await.expect("it closes");
        let mut answer = Vec::new();
        here.read_to_end(&mut answer).await.expect("the end comes");
        assert_eq!(
            (&question[..], &answer[..]),
            (&b"question"[..], &b"answer"[..])
        );
        here.shutdown().await.expect("twice is no error");
    });
}

#[test]
fn a_read_that_is_dropped_loses_nothing() {
    colored(|_| async {
        let (mut here, mut there) = tcp_pair().await.expect("a pair");
        for round in 0..100_u8 {
            let mut byte = [0; 1];
            let waits = Box::pin(there.read(&mut byte));
            let Either::Right(_) = select(waits, Box::pin(async {})).await else {
                panic!("nothing was written yet");
            };
            here.write_all(&[round]).await.expect("room");
            there.read_exact(&mut byte).await.expect("it is there");
            assert_eq!(byte, [round]);
        }
    });
}

#[test]
fn what_was_peeked_at_is_still_there() {
    colored(|_| async {
        let (mut here, mut there) = tcp_pair().await.expect("a pair");
        let mut bytes = [0; 8];
        assert!(there.peek(&mut bytes).now_or_never().is_none());
        here.write_all(b"look").await.expect("room");
        for _ in 0..3 {
            assert_eq!(there.peek(&mut bytes).await.expect("bytes"), 4);
        }
        assert_eq!(there.read(&mut bytes).await.expect("bytes"), 4);
        assert_eq!(&bytes[..4], b"look");
    });
}

#[test]
fn several_slices_go_in_one_write() {
    colored(|_| async {
        let (mut here, mut there) = tcp_pair().await.expect("a pair");
        let slices = [&b"one"[..], b"", b"two"].map(IoSlice::new);
        assert_eq!(here.write_vectored(&slices).await.expect("room"), 6);
        let mut bytes = [0; 6];
        there.read_exact(&mut bytes).await.expect("bytes");
        assert_eq!(&bytes, b"onetwo");
    });
}

#[test]
fn sockets_of_the_standard_library_come_and_go() {
    colored(|_| async {
        let (mut here, mut there) = tcp_pair().await.expect("a pair");
        here.set_nodelay(true).expect("an option");
        assert!(there.read(&mut [0; 1]).now_or_never().is_none());
        let taken = there.into_std().expect("it is given back");
        there = TcpStream::from_std(taken).expect("and taken again");
        here.write_all(b"x").await.expect("room");
        assert_eq!(there.read(&mut [0; 8]).await.expect("bytes"), 1);
        assert!(here.nodelay().expect("an option"));
        assert_eq!(here.peer_addr().ok(), there.local_addr().ok());
    });
}

#[test]
fn trying_finds_what_has_come_without_waiting() {
    colored(|_| async {
        let (mut here, there) = tcp_pair().await.expect("a pair");
        let mut bytes = [0; 8];
        for watched in [false, true] {
            let would_block = there.try_read(&mut bytes).expect_err("nothing has come");
            assert_eq!(would_block.kind(), io::ErrorKind::WouldBlock);
            if watched {
                assert!(there.readable().now_or_never().is_none());
            }
            here.write_all(b"xy").await.expect("room");
            if watched {
                there.readable().await.expect("bytes");
            }
            let mut tried = there.try_read(&mut bytes);
            // Loopback hands bytes over at once, or soon.
            for _ in 0..1000 {
                if tried.is_ok() {
                    break;
                }
                sleep(Duration::from_millis(1)).await.expect("a timer");
                tried = there.try_read(&mut bytes);
            }
            assert_eq!(tried.expect("bytes"), 2);
        }
    });
}

#[test]
fn a_stream_that_is_always_ready_lets_others_run() {
    let turns = colored(|rt| async move {
        let (mut here, mut there) = UnixStream::pair().expect("a pair");
        let color = mely::Color::current().expect("a color");
        let busy = color.spawn(async move {
            let mut byte = [0; 1];
            // Each write makes the next read ready: it never waits.
            for _ in 0..1000 {
                here.write_all(b"x").await.expect("room");
                there.read_exact(&mut byte).await.expect("it is there");
            }
        });
        let other = color.spawn(async {
            let mut turns = 0;
            loop {
                turns += 1;
                let mut yielded = false;
                futures::future::poll_fn(|cx| {
                    if std::mem::replace(&mut yielded, true) {
                        return std::task::Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    std::task::Poll::Pending
                })
                .await;
                if turns >= 10 {
                    return turns;
                }
            }
        });
        drop(rt);
        let first = select(busy, other).await;
        matches!(first, Either::Right(_))
    });
    assert!(
        turns,
        "ten turns of the other came before a thousand reads ended"
    );
}
