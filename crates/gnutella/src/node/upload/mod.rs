//! Files that are sent over HTTP (Gnutella 0.6 draft, sections 4.1 and 4.3; HUGE 0.94, section 6).

mod head;

use super::here::Here;
use super::meet::{part, read_more};
use crate::download::FileTarget;
use crate::files::SharedFile;
use head::Head;
use mely_async::{TcpStream, spawn_blocking, timeout};
use mely_http::{
    Framing, Limits, Method, Parsed, RangeOutcome, Request, RequestHead, RequestParser, byte_range,
};
use std::fs::File;
use std::io;
use std::net::SocketAddrV4;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// How much of a file is read at a time.
const CHUNK_BYTES: u64 = 64 * 1024;

/// What a request is answered with.
enum Answer {
    /// A part of a file, or all of it.
    File {
        index: u32,
        range: Range<u64>,
        is_part: bool,
    },
    NotFound,
    /// Nothing of the range is there.
    OutOfRange {
        bytes: u64,
    },
    /// The status of a request that is refused.
    Refused(u16, &'static str),
}

/// Serves requests, one after the other, until one side ends it.
pub(super) async fn serve(here: &Here, stream: &mut TcpStream, bytes: Vec<u8>) {
    // What ends it is the peer's affair, or was told to it.
    let _ = requests(here, stream, bytes).await;
    part(here, stream).await;
}

/// Connects to whom a push comes from, and serves requests there.
pub(super) async fn push(here: &Here, index: u32, to: SocketAddrV4) -> io::Result<()> {
    let setting = &here.setting;
    let policy = crate::AddressPolicy {
        allow_private: setting.options.is_private(),
        own: Vec::new(),
    };
    let (Some(_place), Some(file)) = (setting.pushes.take(), setting.share.index().get(index))
    else {
        return Ok(());
    };
    // Anybody may ask to be connected to, and tell any address.
    if !policy.accepts(to) {
        return Ok(());
    }
    let connecting = TcpStream::connect(to.into());
    let mut stream = timeout(setting.options.node.connect_time, connecting).await??;
    setting.counts.pushes.add(1);
    let (servent, name) = (setting.servent, file.name());
    let giv = format!("GIV {index}:{servent}/{name}\n\n");
    stream.write_all(giv.as_bytes()).await?;
    serve(here, &mut stream, Vec::new()).await;
    Ok(())
}

async fn requests(here: &Here, stream: &mut TcpStream, mut bytes: Vec<u8>) -> io::Result<()> {
    let limits = Limits {
        max_head_bytes: here.setting.options.protocol.max_handshake_bytes,
        ..Limits::default()
    };
    let idle_time = here.setting.options.node.upload_idle_time;
    loop {
        // All of a head in the time of one silence: who sends a byte now and then is not waited for.
        let parsed = timeout(idle_time, request_head(stream, &mut bytes, &limits)).await??;
        let (consumed, head) = match parsed {
            Ok(parsed) => parsed,
            Err(status) => {
                let head = Head::refused(status, "Bad Request", false);
                return timeout(idle_time, stream.write_all(head.bytes())).await?;
            }
        };
        let request = head.view(&bytes);
        let answer = answer(here, &request);
        let has_body = head.framing() != Framing::Empty;
        let goes_on = request.keep_alive() && !has_body;
        let with_body = request.method() != Method::Head;
        bytes.drain(..consumed);
        send(here, stream, answer, goes_on, with_body).await?;
        if !goes_on {
            return Ok(());
        }
    }
}

/// Reads until a head is whole: how long it is, or the status of what is none.
async fn request_head(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    limits: &Limits,
) -> io::Result<Result<(usize, RequestHead), u16>> {
    let mut parser = RequestParser::new();
    loop {
        match parser.parse(bytes, limits) {
            Ok(Parsed::Request { consumed, head }) => return Ok(Ok((consumed, head))),
            Ok(Parsed::Incomplete) => read_more(stream, bytes).await?,
            Err(error) => return Ok(Err(error.status.code())),
        }
    }
}

/// Decides what a request is answered with.
fn answer(here: &Here, request: &Request<'_>) -> Answer {
    if let Some(status) = request.refusal() {
        return Answer::Refused(status.code(), "Refused");
    }
    if !matches!(request.method(), Method::Get | Method::Head) {
        return Answer::Refused(405, "Method Not Allowed");
    }
    let Some(file) = wanted(here, request) else {
        return Answer::NotFound;
    };
    let whole = 0..file.bytes();
    let outcome = request.range().map(|range| byte_range(range, file.bytes()));
    let (range, is_part) = match outcome {
        None | Some(RangeOutcome::Whole) => (whole, false),
        Some(RangeOutcome::Part(part)) => (part, true),
        Some(RangeOutcome::Unsatisfiable) => {
            return Answer::OutOfRange {
                bytes: file.bytes(),
            };
        }
    };
    let index = file.index();
    Answer::File {
        index,
        range,
        is_part,
    }
}

/// The file that a request asks for. A number comes with its name, to be sure.
fn wanted<'a>(here: &'a Here, request: &Request<'_>) -> Option<&'a SharedFile> {
    let path = std::str::from_utf8(request.path()).ok()?;
    let target = match request.query() {
        Some(query) => format!("{path}?{}", std::str::from_utf8(query).ok()?),
        None => path.to_owned(),
    };
    let files = here.setting.share.index();
    match FileTarget::parse(&target, &here.setting.options.protocol).ok()? {
        FileTarget::Index { index, name } => files.get(index).filter(|file| file.name() == name),
        FileTarget::Content(sha1) => files.with_sha1(sha1),
    }
}

async fn send(
    here: &Here,
    stream: &mut TcpStream,
    answer: Answer,
    goes_on: bool,
    with_body: bool,
) -> io::Result<()> {
    let idle_time = here.setting.options.node.upload_idle_time;
    let (index, range, is_part) = match answer {
        Answer::File {
            index,
            range,
            is_part,
        } => (index, range, is_part),
        refused => {
            let head = match refused {
                Answer::OutOfRange { bytes } => Head::out_of_range(bytes, goes_on),
                Answer::Refused(code, reason) => Head::refused(code, reason, goes_on),
                _ => Head::refused(404, "Not Found", goes_on),
            };
            return timeout(idle_time, stream.write_all(head.bytes())).await?;
        }
    };
    let setting = &here.setting;
    let place = with_body.then(|| setting.uploads.take());
    let opened = {
        let setting = Arc::clone(setting);
        spawn_blocking(move || setting.share.reopen(index)).await?
    };
    let head = match (&opened, setting.share.index().get(index)) {
        (Ok(_), Some(_)) if matches!(place, Some(None)) => {
            setting.counts.uploads_refused.add(1);
            Head::busy(goes_on)
        }
        (Ok(_), Some(file)) => Head::file(file, &range, is_part, goes_on),
        _ => Head::refused(404, "Not Found", goes_on),
    };
    timeout(idle_time, stream.write_all(head.bytes())).await??;
    if let (Some(Some(_place)), Ok(file)) = (&place, opened) {
        body(here, stream, file, range).await?;
        setting.counts.uploads.add(1);
    }
    Ok(())
}

/// Sends a part of a file. One that has become shorter ends the connection: the peer knows how much
/// was to come.
async fn body(
    here: &Here,
    stream: &mut TcpStream,
    file: File,
    mut range: Range<u64>,
) -> io::Result<()> {
    let (file, idle_time) = (Arc::new(file), here.setting.options.node.upload_idle_time);
    while !range.is_empty() {
        let (begin, count) = (range.start, CHUNK_BYTES.min(range.end - range.start));
        let reading = {
            let file = Arc::clone(&file);
            move || {
                let mut chunk = vec![0; count as usize];
                file.read_exact_at(&mut chunk, begin).map(|()| chunk)
            }
        };
        let chunk = spawn_blocking(reading).await??;
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            // A peer that reads slowly is waited for, one that does not read is not.
            let written = timeout(idle_time, stream.write(rest)).await??;
            rest = &rest[written..];
            here.setting.counts.uploaded_bytes.add(written as u64);
        }
        range.start += count;
    }
    Ok(())
}
