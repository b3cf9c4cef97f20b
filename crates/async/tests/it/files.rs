//! Files, read and written beside the workers.

use std::ffi::OsString;
use std::future::poll_fn;
use std::io::{self, Read as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use futures::FutureExt as _;
use mely_async::fs::{self, CHUNK_MAX, File};
use mely_async::{BlockingOptions, BlockingPool, spawn_blocking};

use crate::support::{alone, colored, eventually, pattern, runtime};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

async fn read_and_write(path: PathBuf) -> io::Result<File> {
    let options = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .clone();
    File::open_with(options, path).await
}

#[test]
fn files_are_read_and_written_whole() {
    let folder = Folder::new();
    let path = folder.path("file");
    colored(move |_| async move {
        // Nothing, less than a step of reading, one, and some and a bit.
        for length in [0, 1000, 1 << 20, (3 << 20) + 17] {
            let bytes = pattern(length);
            fs::write(&path, bytes.clone())
                .await
                .expect("it is written");
            assert!(fs::read(&path).await.expect("it is read") == bytes);
            assert_eq!(
                fs::metadata(&path).await.expect("it is there").len(),
                length as u64
            );
        }
        fs::write(&path, [0xff, 0xfe]).await.expect("it is written");
        let error = fs::read_to_string(&path).await.expect_err("it is no text");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let error = fs::read(path.with_extension("none"))
            .await
            .expect_err("it is not there");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        // A file that says it is empty.
        let status = fs::read_to_string("/proc/self/status")
            .await
            .expect("it is there");
        assert!(status.contains("Name:"));
    });
}

#[test]
fn paths_are_made_found_and_removed() {
    let folder = Folder::new();
    let (path, other) = (folder.path("a/b"), folder.path("c"));
    colored(move |_| async move {
        fs::create_dir_all(&path).await.expect("it is made");
        let error = fs::create_dir(&path).await.expect_err("it is there");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let file = path.join("file");
        fs::write(&file, "text").await.expect("it is written");
        assert_eq!(fs::copy(&file, &other).await.expect("it is copied"), 4);
        fs::rename(&other, path.join("file"))
            .await
            .expect("it is renamed");
        assert!(!fs::exists(&other).await.expect("no error"));
        assert!(
            fs::canonicalize(&file)
                .await
                .expect("it is there")
                .is_absolute()
        );
        assert!(
            fs::symlink_metadata(&file)
                .await
                .expect("it is there")
                .is_file()
        );
        fs::remove_dir(&path).await.expect_err("it is not empty");
        fs::remove_file(&file).await.expect("it is removed");
        fs::remove_dir(&path).await.expect("it is empty");
        fs::write(&other, "text").await.expect("it is written");
        let parent = path.parent().expect("it has one").to_owned();
        fs::remove_dir_all(&parent).await.expect("it is removed");
        assert!(!fs::exists(parent).await.expect("no error"));
    });
}

#[test]
fn directories_of_any_size_are_read() {
    let folder = Folder::new();
    // None, some, as many as are read at once, and more.
    for count in [0_usize, 3, 256, 700] {
        let path = folder.path(&count.to_string());
        std::fs::create_dir(&path).expect("a folder");
        for number in 0..count {
            std::fs::write(path.join(number.to_string()), "").expect("a file");
        }
        let mut names = colored(|_| async move {
            let mut entries = fs::read_dir(&path).await.expect("it is there");
            let mut names = Vec::new();
            loop {
                // Now and then nobody waits for it, and nothing is lost by that.
                if names.len() % 100 == 1
                    && let Some(next) = entries.next().now_or_never()
                {
                    let Some(entry) = next.expect("no error") else {
                        break;
                    };
                    names.push(entry.file_name());
                    continue;
                }
                let Some(entry) = entries.next().await.expect("no error") else {
                    break;
                };
                assert!(entry.path().starts_with(&path));
                names.push(entry.file_name());
                if names.len() == 1 {
                    assert!(entry.file_type().await.expect("it is there").is_file());
                    assert_eq!(entry.metadata().await.expect("it is there").len(), 0);
                }
            }
            assert!(
                entries.next().await.expect("no error").is_none(),
                "it is over"
            );
            names
        });
        names.sort_unstable();
        let name = |number: usize| OsString::from(number.to_string());
        let mut expected: Vec<_> = (0..count).map(name).collect();
        expected.sort_unstable();
        assert!(names == expected, "{count}");
    }
}

#[test]
fn a_file_is_written_sought_and_read() {
    let folder = Folder::new();
    let path = folder.path("file");
    colored(move |_| async move {
        let mut file = read_and_write(path.clone()).await.expect("a file");
        let bytes = pattern(3 * CHUNK_MAX + 5);
        file.write_all(&bytes).await.expect("it is written");
        assert!(
            std::fs::read(&path).expect("it is there") == bytes,
            "it is with the system"
        );
        assert_eq!(file.seek(SeekFrom::Start(0)).await.expect("a place"), 0);
        let mut read = vec![0; bytes.len()];
        file.read_exact(&mut read).await.expect("they are there");
        assert!(read == bytes);
        assert_eq!(file.read(&mut read).await.expect("the end"), 0);
        let error = file.read_exact(&mut [0; 1]).await.expect_err("the end");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let place = file.seek(SeekFrom::End(-3)).await.expect("a place");
        assert_eq!(place, bytes.len() as u64 - 3);
        file.seek(SeekFrom::Start(1)).await.expect("a place");
        file.seek(SeekFrom::Current(-2))
            .await
            .expect_err("before the beginning");
        file.set_len(2).await.expect("it is cut off");
        file.sync_all().await.expect("it is on the disk");
        assert_eq!(file.metadata().await.expect("it is there").len(), 2);
        let mut rest = [0; 10];
        assert_eq!(
            file.read(&mut rest).await.expect("the rest"),
            1,
            "it is where it was"
        );
        let mut file = file.into_std().await.expect("it is its own");
        file.write_all(b"x").expect("it is written");
        assert_eq!(std::fs::read(&path).expect("it is there"), [0, 1, b'x']);
    });
}

/// Reads, writes and seeks that are dropped, at whatever point: the place in the file is
/// that of what was taken.
#[test]
fn a_read_that_is_dropped_loses_nothing() {
    let folder = Folder::new();
    let path = folder.path("file");
    std::fs::write(&path, pattern(1000)).expect("a file");
    colored(move |_| async move {
        let mut file = read_and_write_on(path.clone()).await.expect("a file");
        let mut got = Vec::new();
        while got.len() < 500 {
            let mut large = [0; 100];
            let first = file.read(&mut large).now_or_never();
            if let Some(count) = first {
                got.extend_from_slice(&large[..count.expect("no error")]);
            }
            // What comes is of the large one, and is taken by the small one.
            let mut small = [0; 7];
            let count = file.read(&mut small).await.expect("no error");
            got.extend_from_slice(&small[..count]);
        }
        assert!(got == pattern(1000)[..got.len()]);
        let place = file.seek(SeekFrom::Current(0)).await.expect("a place");
        assert_eq!(place, got.len() as u64);
        // A write goes where the reads have come to, too.
        let ahead =
            |read: Option<io::Result<usize>>| read.map_or(0, |count| count.expect("no error"));
        let mut at = got.len() + ahead(file.read(&mut [0; 100]).now_or_never()) + 7;
        let mut small = [0; 7];
        file.read_exact(&mut small).await.expect("they are there");
        file.write_all(b"HERE").await.expect("it is written");
        assert_eq!(
            &std::fs::read(&path).expect("it is there")[at..at + 4],
            b"HERE"
        );
        // As does what is done with the file itself.
        at += ahead(file.read(&mut [0; 100]).now_or_never());
        file.read_exact(&mut small).await.expect("they are there");
        let place = |mut file: &std::fs::File| io::Seek::stream_position(&mut file);
        let place = file
            .with_std(move |file| place(file))
            .await
            .expect("a place");
        assert_eq!(place, at as u64 + 11);
    });
}

async fn read_and_write_on(path: PathBuf) -> io::Result<File> {
    let options = std::fs::OpenOptions::new().read(true).write(true).clone();
    File::open_with(options, path).await
}

#[test]
fn what_was_written_is_written_though_nobody_waits() {
    let test = "files::what_was_written_is_written_though_nobody_waits";
    alone(test, || {
        let folder = Folder::new();
        let paths = ["one", "two"].map(|name| folder.path(name));
        let (rt, there) = (runtime(1), paths.clone());
        let opened = rt.new_color().spawn(async move {
            let [one, two] = there.map(File::create);
            [one.await.expect("a file"), two.await.expect("a file")]
        });
        let mut files = opened.wait().expect("it ends");
        // The only thread is held, and there is room for one to wait.
        let pool = BlockingPool::shared();
        pool.set_options(BlockingOptions::new().threads_max(1).queue_max(1));
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let held = spawn_blocking(move || ended.recv().is_err());
        eventually("it is held", || pool.queued() == 0);
        let writes = rt.new_color().spawn(async move {
            for file in &mut files {
                // As futures-io has it: told as done, and on its way.
                let count = futures::AsyncWriteExt::write(file, b"text").await;
                assert_eq!(count.expect("no error"), 4);
            }
            assert_eq!(BlockingPool::shared().queued(), 1);
            let refused = BlockingPool::shared().try_spawn(|| ());
            assert!(refused.is_err(), "the other one waits for room");
        });
        writes.wait().expect("it ends, and the files with it");
        drop((rt, end));
        for path in paths {
            let is_written = || std::fs::read(&path).expect("it is there") == b"text";
            eventually("it is written", is_written);
        }
        drop(held);
    });
}

#[test]
fn an_error_of_a_write_is_told_by_the_next_operation() {
    colored(|_| async {
        // It is open to read alone.
        let mut file = File::from_std(tempfile::tempfile().expect("a file"));
        file.write_all(b"fine").await.expect("it is written");
        let null = std::fs::File::open("/dev/null").expect("it is there");
        let mut file = File::from_std(null);
        let count = poll_fn(|cx| file.poll_write(cx, b"refused")).await;
        assert_eq!(count.expect("it is on its way"), 7);
        let error = poll_fn(|cx| file.poll_flush(cx)).await;
        error.expect_err("it was refused");
        let again = poll_fn(|cx| file.poll_flush(cx)).await;
        again.expect("it was told");
        file.write_all(b"refused").await.expect_err("at once");
        assert_eq!(file.write(b"").await.expect("nothing to do"), 0);
    });
}

#[test]
fn pipes_are_read_as_far_as_they_go() {
    colored(|_| async {
        let (mut here, there) = std::io::pipe().expect("a pipe");
        let mut there = File::from_std(std::fs::File::from(OwnedFd::from(there)));
        there.write_all(b"some").await.expect("there is room");
        let mut bytes = [0; 4];
        here.read_exact(&mut bytes).expect("they are there");
        assert_eq!(&bytes, b"some");
        let mut here = File::from_std(std::fs::File::from(OwnedFd::from(here)));
        there.write_all(b"more").await.expect("there is room");
        let mut bytes = [0; 100];
        assert_eq!(
            here.read(&mut bytes).await.expect("some"),
            4,
            "and waits for no more"
        );
        let error = here
            .seek(SeekFrom::Start(0))
            .await
            .expect_err("it has no places");
        assert_eq!(error.kind(), io::ErrorKind::NotSeekable);
        drop(there);
        assert_eq!(here.read(&mut bytes).await.expect("the end"), 0);
    });
}

#[test]
fn files_have_the_traits_of_others() {
    let folder = Folder::new();
    let [one, two] = ["one", "two"].map(|name| folder.path(name));
    let bytes = pattern(CHUNK_MAX + 77);
    std::fs::write(&one, &bytes).expect("a file");
    colored(move |_| async move {
        {
            use tokio::io::{AsyncReadExt as _, AsyncSeekExt, AsyncWriteExt as _};
            let mut from = File::open(&one).await.expect("a file");
            let mut to = read_and_write(two.clone()).await.expect("a file");
            let copied = tokio::io::copy(&mut from, &mut to).await;
            assert_eq!(copied.expect("no error"), bytes.len() as u64);
            to.shutdown().await.expect("no error");
            let place = AsyncSeekExt::seek(&mut to, SeekFrom::Start(7)).await;
            assert_eq!(place.expect("a place"), 7);
            let place = AsyncSeekExt::stream_position(&mut to).await;
            assert_eq!(place.expect("a place"), 7);
            let mut rest = Vec::new();
            to.read_to_end(&mut rest).await.expect("no error");
            assert!(rest == bytes[7..]);
        }
        {
            use futures::{AsyncBufReadExt as _, AsyncReadExt as _};
            fs::write(&one, "a line\nand another\n")
                .await
                .expect("it is written");
            let mut file = File::open(&one).await.expect("a file");
            let mut lines = futures::io::BufReader::new(&mut file).lines();
            let first = futures::StreamExt::next(&mut lines).await;
            assert_eq!(first.expect("a line").expect("no error"), "a line");
            let place = futures::AsyncSeekExt::seek(&mut file, SeekFrom::Start(7)).await;
            assert_eq!(place.expect("a place"), 7);
            let mut rest = String::new();
            file.read_to_string(&mut rest).await.expect("no error");
            assert_eq!(rest, "and another\n");
        }
    });
}
