//! Lines and frames come from Tokio's codecs, buffers from Tokio's and from `futures`.

use bytes::Bytes;
use futures::{SinkExt, StreamExt as _};
use mely_async::UnixStream;
use tokio_util::codec::{Framed, FramedRead, FramedWrite, LengthDelimitedCodec, LinesCodec};

use crate::support::{colored, pattern, tcp_pair};

#[test]
fn lines_go_to_and_fro() {
    colored(|rt| async move {
        let (here, there) = tcp_pair().await.expect("a pair");
        let echo = rt.new_color().spawn(async move {
            let mut lines = Framed::new(there, LinesCodec::new_with_max_length(100));
            while let Some(line) = lines.next().await {
                let answer = match line {
                    Ok(line) => format!("{line}!"),
                    Err(error) => error.to_string(),
                };
                lines.send(answer).await.expect("room");
            }
        });
        let mut lines = Framed::new(here, LinesCodec::new());
        for number in 0..100 {
            lines.send(format!("line {number}")).await.expect("room");
        }
        for number in 0..100 {
            let line = lines.next().await.expect("a line").expect("no error");
            assert_eq!(line, format!("line {number}!"));
        }
        lines.send("x".repeat(1000)).await.expect("room");
        let line = lines.next().await.expect("a line").expect("no error");
        assert!(line.contains("max line length"), "{line}");
        SinkExt::<String>::close(&mut lines)
            .await
            .expect("it closes");
        assert!(lines.next().await.is_none());
        echo.await.expect("it ends");
    });
}

#[test]
fn frames_of_any_length_go_through_halves() {
    colored(|rt| async move {
        let (here, there) = UnixStream::pair().expect("a pair");
        let (reads, _writes) = there.into_split();
        let (_reads, writes) = here.into_split();
        let lengths = [0, 1, 100, 8191, 8192, 8193, 300_000, 1 << 20, 3];
        let sends = rt.new_color().spawn(async move {
            let mut frames = FramedWrite::new(writes, LengthDelimitedCodec::new());
            for length in lengths {
                frames.send(Bytes::from(pattern(length))).await?;
            }
            Ok::<_, std::io::Error>(())
        });
        let mut frames = FramedRead::new(reads, LengthDelimitedCodec::new());
        for length in lengths {
            let frame = frames.next().await.expect("a frame").expect("no error");
            assert!(frame == pattern(length), "{length}");
        }
        sends.await.expect("it ends").expect("no error");
        assert!(frames.next().await.is_none());
    });
}

#[test]
fn tokios_buffers_read_lines() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt, BufReader};
    colored(|_| async {
        let (mut here, mut there) = tcp_pair().await.expect("a pair");
        AsyncWriteExt::write_all(&mut here, b"one\ntwo\nthree")
            .await
            .expect("room");
        AsyncWriteExt::shutdown(&mut here).await.expect("it closes");
        let (reads, _) = there.split();
        let mut lines = BufReader::new(reads).lines();
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await.expect("no error") {
            all.push(line);
        }
        assert_eq!(all, ["one", "two", "three"]);
    });
}

#[test]
fn those_of_futures_do_too() {
    use futures::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    colored(|_| async {
        let (mut here, mut there) = tcp_pair().await.expect("a pair");
        here.write_all(b"one\ntwo\nthree").await.expect("room");
        here.close().await.expect("it closes");
        let (reads, _) = there.split();
        let lines: Vec<_> = BufReader::new(reads).lines().collect().await;
        let lines: Vec<_> = lines
            .into_iter()
            .map(|line| line.expect("no error"))
            .collect();
        assert_eq!(lines, ["one", "two", "three"]);
    });
}

#[test]
fn much_is_copied_both_ways_at_once() {
    colored(|rt| async move {
        let (mut here, mut there) = tcp_pair().await.expect("a pair");
        let (mut far, mut end) = UnixStream::pair().expect("a pair");
        let proxy = rt
            .new_color()
            .spawn(async move { tokio::io::copy_bidirectional(&mut there, &mut far).await });
        let echo = rt.new_color().spawn(async move {
            let (mut reads, mut writes) = end.split();
            tokio::io::copy(&mut reads, &mut writes).await?;
            writes.shutdown().await
        });
        let all = pattern(4 << 20);
        let mut back = Vec::new();
        let (mut reads, mut writes) = here.split();
        let send = async {
            writes.write_all(&all).await?;
            writes.shutdown().await
        };
        let read = tokio::io::AsyncReadExt::read_to_end(&mut reads, &mut back);
        let (sent, read) = futures::join!(send, read);
        sent.expect("no error");
        assert_eq!(read.expect("no error"), all.len());
        assert!(back == all);
        let copied = proxy.await.expect("it ends").expect("no error");
        assert_eq!(copied, (all.len() as u64, all.len() as u64));
        echo.await.expect("it ends").expect("no error");
    });
}
