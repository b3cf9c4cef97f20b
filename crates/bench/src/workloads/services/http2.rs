//! HTTP/2 (RFC 9113), as much of it as a client needs that only counts answers: several
//! streams at a time, each replaced by the next when it has been answered.

use std::time::Instant;

use super::{Dialogue, Refused, STREAMS, Waits};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The length of a frame's head.
const HEAD: usize = 9;

/// Kinds of frames.
mod kind {
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const PRIORITY: u8 = 2;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const PING: u8 = 6;
    pub(super) const WINDOW_UPDATE: u8 = 8;
}

/// Flags of frames; those of settings and pings have `ACK` where the others have the end.
mod flag {
    pub(super) const ACK: u8 = 0x1;
    pub(super) const END_STREAM: u8 = 0x1;
    pub(super) const END_HEADERS: u8 = 0x4;
    pub(super) const PADDED: u8 = 0x8;
    pub(super) const PRIORITY: u8 = 0x20;
}

/// `ENABLE_PUSH` is 0.
const SETTINGS: [u8; 6] = [0, 2, 0, 0, 0, 0];

/// Fields by their numbers in HPACK's static table: GET, http, `/`; and the authority.
const REQUEST: &[u8] = b"\x82\x86\x84\x01\x09localhost";

/// `:status: 200`, in the same table.
const OK: u8 = 0x88;

/// So many bytes may come without being acknowledged.
const WINDOW: usize = 65_535;

pub(super) struct Http2 {
    /// Of a frame, what has come before the rest of it.
    input: Vec<u8>,
    next: u32,
    /// Streams that have not been answered, and when they were begun.
    asked: Vec<(u32, Instant)>,
    /// Bytes of bodies that have not been acknowledged.
    taken: usize,
}

/// A frame that has come in.
struct Frame<'a> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'a [u8],
}

impl Frame<'_> {
    /// Reads one, if all of it is there.
    fn read(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
        let [a, b, c, kind, flags, stream @ ..] = *head;
        let length = usize::try_from(u32::from_be_bytes([0, a, b, c])).ok()?;
        let (payload, rest) = rest.split_at_checked(length)?;
        let frame = Frame {
            kind,
            flags,
            stream: u32::from_be_bytes(stream),
            payload,
        };
        Some((frame, rest))
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Writes a frame of less than 256 bytes.
fn write(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u8::try_from(payload.len()).unwrap_or(u8::MAX);
    out.extend_from_slice(&[0, 0, length, kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

impl Http2 {
    fn ask(&mut self, now: Instant, out: &mut Vec<u8>) {
        let flags = flag::END_STREAM | flag::END_HEADERS;
        write(out, kind::HEADERS, flags, self.next, REQUEST);
        self.asked.push((self.next, now));
        self.next += 2;
    }

    /// Takes a frame in: whether an answer has ended with it.
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<u8>) -> Result<bool, Refused> {
        match frame.kind {
            kind::HEADERS => {
                let plain = !frame.has(flag::PADDED | flag::PRIORITY);
                let is_ok = frame.payload.first() == Some(&OK);
                if !(plain && is_ok && frame.has(flag::END_HEADERS)) {
                    return Err(Refused);
                }
                Ok(frame.has(flag::END_STREAM))
            }
            kind::DATA => {
                self.taken += frame.payload.len();
                if self.taken > WINDOW / 2 {
                    let taken = u32::try_from(self.taken).map_err(|_| Refused)?;
                    write(out, kind::WINDOW_UPDATE, 0, 0, &taken.to_be_bytes());
                    self.taken = 0;
                }
                Ok(frame.has(flag::END_STREAM))
            }
            kind::SETTINGS | kind::PING => {
                if !frame.has(flag::ACK) {
                    // What settings say is of no matter to so simple a client.
                    let payload = if frame.kind == kind::PING {
                        frame.payload
                    } else {
                        &[]
                    };
                    write(out, frame.kind, flag::ACK, 0, payload);
                }
                Ok(false)
            }
            kind::WINDOW_UPDATE | kind::PRIORITY => Ok(false),
            // The stream or the connection has been given up.
            _ => Err(Refused),
        }
    }
}

impl Dialogue for Http2 {
    fn begin(now: Instant, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(PREFACE);
        write(out, kind::SETTINGS, 0, 0, &SETTINGS);
        let mut begun = Self {
            input: Vec::new(),
            next: 1,
            asked: Vec::with_capacity(STREAMS),
            taken: 0,
        };
        (0..STREAMS).for_each(|_| begun.ask(now, out));
        begun
    }

    fn take(
        &mut self,
        bytes: &[u8],
        now: Instant,
        waits: &mut Waits,
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        let mut rest = &input[..];
        while let Some((frame, next)) = Frame::read(rest) {
            rest = next;
            if self.frame(&frame, out)? {
                let mut asked = self.asked.iter();
                let at = asked.position(|&(stream, _)| stream == frame.stream);
                let (_, sent) = self.asked.swap_remove(at.ok_or(Refused)?);
                waits.answered(sent, now);
                self.ask(now, out);
            }
        }
        let used = input.len() - rest.len();
        input.drain(..used);
        self.input = input;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> (Http2, Vec<u8>) {
        let mut out = Vec::new();
        let begun = Http2::begin(Instant::now(), &mut out);
        (begun, out)
    }

    /// The frames that are written, by kind, flags, stream and payload.
    fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
        let mut frames = Vec::new();
        while let Some((frame, rest)) = Frame::read(bytes) {
            frames.push((
                frame.kind,
                frame.flags,
                frame.stream,
                frame.payload.to_vec(),
            ));
            bytes = rest;
        }
        assert!(bytes.is_empty());
        frames
    }

    fn answer(stream: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(
            &mut bytes,
            kind::HEADERS,
            flag::END_HEADERS,
            stream,
            &[OK, 0x5c],
        );
        write(&mut bytes, kind::DATA, flag::END_STREAM, stream, b"hello");
        bytes
    }

    #[test]
    fn it_begins_with_the_preface_and_all_streams() {
        let (_, out) = begun();
        let frames = frames(out.strip_prefix(PREFACE).unwrap());
        assert_eq!(frames[0].0, kind::SETTINGS);
        let streams: Vec<u32> = frames[1..].iter().map(|frame| frame.2).collect();
        assert_eq!(streams, [1, 3, 5, 7, 9, 11, 13, 15]);
    }

    #[test]
    fn an_answer_may_come_in_any_two_parts_and_is_followed_by_a_request() {
        let bytes = answer(5);
        for at in 0..=bytes.len() {
            let ((mut http2, _), mut out) = (begun(), Vec::new());
            let mut waits = Waits::new().unwrap();
            let now = Instant::now();
            for part in [&bytes[..at], &bytes[at..]] {
                http2.take(part, now, &mut waits, &mut out).unwrap();
            }
            assert_eq!(waits.0.len(), 1, "{at}");
            let frames = frames(&out);
            assert_eq!(frames.len(), 1, "{at}");
            assert_eq!((frames[0].0, frames[0].2), (kind::HEADERS, 17), "{at}");
        }
    }

    #[test]
    fn settings_and_pings_are_acknowledged_and_so_is_what_was_taken() {
        let ((mut http2, _), mut out) = (begun(), Vec::new());
        let mut waits = Waits::new().unwrap();
        let mut bytes = Vec::new();
        write(&mut bytes, kind::SETTINGS, 0, 0, &SETTINGS);
        write(&mut bytes, kind::SETTINGS, flag::ACK, 0, &[]);
        write(&mut bytes, kind::PING, 0, 0, b"12345678");
        for _ in 0..=WINDOW / 2 / 200 {
            write(&mut bytes, kind::DATA, 0, 1, &[0; 200]);
        }
        http2
            .take(&bytes, Instant::now(), &mut waits, &mut out)
            .unwrap();
        let frames = frames(&out);
        assert_eq!(frames[0], (kind::SETTINGS, flag::ACK, 0, Vec::new()));
        assert_eq!(frames[1], (kind::PING, flag::ACK, 0, b"12345678".to_vec()));
        assert_eq!(frames[2].0, kind::WINDOW_UPDATE);
        assert_eq!(frames.len(), 3);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        const RST_STREAM: u8 = 3;
        const GOAWAY: u8 = 7;
        for (kind, flags, stream, payload) in [
            (kind::HEADERS, flag::END_HEADERS, 1, &[0x8d][..]),
            (kind::HEADERS, 0, 1, &[OK]),
            (kind::DATA, flag::END_STREAM, 99, &[]),
            (RST_STREAM, 0, 1, &[0; 4]),
            (GOAWAY, 0, 0, &[0; 8]),
        ] {
            let ((mut http2, _), mut out) = (begun(), Vec::new());
            let mut waits = Waits::new().unwrap();
            let mut bytes = Vec::new();
            write(&mut bytes, kind, flags, stream, payload);
            let taken = http2.take(&bytes, Instant::now(), &mut waits, &mut out);
            assert_eq!(taken, Err(Refused), "{kind}");
        }
    }
}
