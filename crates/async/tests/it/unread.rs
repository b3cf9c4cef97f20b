//! What a dropped read has read ahead, where the file does not go back over it.

use std::io::{self, Read as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use futures::FutureExt as _;
use mely_async::fs::File;

use crate::support::{bounded, runtime};

/// Begins a read and drops it; whether it was under way then.
fn drops_a_read(file: &mut File) -> bool {
    file.read(&mut [0; 5]).now_or_never().is_none()
}

fn file_of(descriptor: impl Into<OwnedFd>) -> File {
    File::from_std(std::fs::File::from(descriptor.into()))
}

fn run<F: Future<Output = ()> + Send + 'static>(future: F) {
    bounded(|| {
        let rt = runtime(1);
        assert_eq!(rt.new_color().spawn(future).wait(), Ok(()));
    });
}

#[test]
fn it_is_kept_where_a_seek_fails() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("digits");
        std::fs::write(&path, b"0123456789").expect("it is written");
        let mut file = loop {
            let mut file = File::open(&path).await.expect("it is there");
            if drops_a_read(&mut file) {
                break file;
            }
        };
        let refused = file.seek(SeekFrom::Current(-1000)).await;
        assert!(refused.is_err(), "there is nothing before the first byte");
        let mut bytes = [0; 4];
        file.read_exact(&mut bytes).await.expect("they are there");
        assert_eq!(&bytes, b"0123");
        assert_eq!(file.seek(SeekFrom::Current(1)).await.expect("a place"), 5);
        file.read_exact(&mut bytes).await.expect("they are there");
        assert_eq!(&bytes, b"5678");
    });
}

#[test]
fn it_is_kept_where_there_is_no_position() {
    run(async {
        let (there, mut here) = io::pipe().expect("a pipe");
        let mut there = file_of(there);
        let mut bytes = [0; 5];
        assert!(drops_a_read(&mut there), "there is nothing yet");
        here.write_all(b"hello").expect("there is room");
        let looked = there.with_std(|file| file.metadata().map(drop)).await;
        looked.expect("it needs no position");
        there.read_exact(&mut bytes).await.expect("they are there");
        assert_eq!(&bytes, b"hello");
        // Who takes the file itself is told that bytes would be lost.
        assert!(drops_a_read(&mut there), "there is nothing yet");
        here.write_all(b"again").expect("there is room");
        let error = there.into_std().await.expect_err("they cannot go back");
        assert_eq!(error.kind(), io::ErrorKind::NotSeekable);
    });
}

#[test]
fn it_is_kept_where_one_writes_what_has_no_position() {
    run(async {
        let (here, mut peer) = UnixStream::pair().expect("a pair");
        let mut here = file_of(here);
        assert!(drops_a_read(&mut here), "there is nothing yet");
        peer.write_all(b"hello").expect("there is room");
        here.write_all(b"x").await.expect("there is room");
        here.write_all(b"y").await.expect("there is room");
        let mut bytes = [0; 5];
        here.read_exact(&mut bytes).await.expect("they are there");
        assert_eq!(&bytes, b"hello");
        let mut written = [0; 2];
        peer.read_exact(&mut written).expect("they are there");
        assert_eq!(&written, b"xy");
    });
}
