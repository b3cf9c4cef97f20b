//! A real documentation tree of thousands of files, through curl and through a browser.

use crate::process::Web;
use std::fmt::Write as _;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files compared unless `MELY_STRESS=long` asks for all.
const FILES_MAX: usize = 4000;

/// The Rust toolchain's own documentation, or else what the system has.
fn tree() -> Option<PathBuf> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = sysroot.ok().and_then(|output| {
        let path = String::from_utf8(output.stdout).ok()?;
        Some(Path::new(path.trim()).join("share/doc/rust/html"))
    });
    let candidates = sysroot.into_iter().chain([PathBuf::from("/usr/share/doc")]);
    candidates
        .into_iter()
        .find(|path| path.join("index.html").exists() || path.is_dir())
}

/// The regular files below `root`, without those that begin with a dot.
fn files(root: &Path, files_max: usize) -> Vec<PathBuf> {
    let (mut found, mut directories) = (Vec::new(), vec![root.to_owned()]);
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let hidden = entry.file_name().as_bytes().starts_with(b".");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !hidden => directories.push(entry.path()),
                Ok(kind) if kind.is_file() && !hidden => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    // From everywhere in the tree, not its first directories.
    let step = found.len().div_ceil(files_max).max(1);
    found.into_iter().step_by(step).collect()
}

fn encoded(path: &Path) -> String {
    let mut url = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                url.push(char::from(*byte));
            }
            other => write!(url, "%{other:02X}").unwrap(),
        }
    }
    url
}

fn is_installed(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: {program} is not installed (`cargo xtask packages` installs it)");
    }
    found
}

/// Fetches each file to the same path below `to`, over a few connections that are kept.
fn fetch(address: &str, root: &Path, files: &[PathBuf], to: &Path) {
    let mut config = String::new();
    for (at, file) in files.iter().enumerate() {
        let path = encoded(file.strip_prefix(root).unwrap());
        writeln!(config, "url = \"http://{address}/{path}\"").unwrap();
        writeln!(config, "output = \"{}\"", to.join(at.to_string()).display()).unwrap();
    }
    let mut curl = Command::new("curl")
        .args([
            "--parallel",
            "--parallel-max",
            "16",
            "--fail",
            "--no-progress-meter",
        ])
        .args(["--noproxy", "*", "--config", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = curl.stdin.take().unwrap();
    input.write_all(config.as_bytes()).unwrap();
    drop(input);
    assert!(curl.wait().unwrap().success());
}

#[test]
fn docs_tree_is_served_byte_for_byte() {
    let (Some(root), true) = (tree(), is_installed("curl")) else {
        return;
    };
    let is_long = std::env::var("MELY_STRESS").is_ok_and(|value| value == "long");
    let files = files(&root, if is_long { usize::MAX } else { FILES_MAX });
    let to = tempfile::tempdir().unwrap();
    // Small enough that some files are streamed and some pushed out.
    let web = Web::start(
        &root,
        &[
            "--quiet",
            "--cache-file-bytes",
            "64K",
            "--cache-bytes",
            "16M",
        ],
    );
    fetch(&web.address, &root, &files, to.path());
    for (at, file) in files.iter().enumerate() {
        let served = std::fs::read(to.path().join(at.to_string())).unwrap();
        assert!(
            served == std::fs::read(file).unwrap(),
            "{} differs",
            file.display()
        );
    }
    eprintln!("{} files of {} are the same", files.len(), root.display());
}

/// The page that the browser opens: the index of the tree, or one of our own.
fn page(root: &Path) -> Option<(PathBuf, String)> {
    let html = std::fs::read_to_string(root.join("index.html")).ok()?;
    let title = html.split_once("<title>")?.1.split_once("</title>")?.0;
    Some((root.to_owned(), title.trim().to_owned()))
}

#[test]
fn docs_tree_is_rendered_by_a_browser() {
    if !is_installed("chromium") {
        return;
    }
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../site");
    let found = tree().and_then(|root| page(&root));
    let (root, title) = found.or_else(|| page(&sample)).unwrap();
    let web = Web::start(&root, &["--quiet"]);
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--no-proxy-server"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--dump-dom", &format!("http://{}/", web.address)])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(dom.contains(&title), "no {title:?} in {dom}\n{said}");
    eprintln!("rendered {title:?} of {}", root.display());
}
