//! Request bodies: found to their end, and thrown away.

use crate::limits::Limits;
use crate::request::Framing;
use crate::status::Status;
use memchr::memchr;

/// Longest line of a chunk size with its extensions, or of a trailer, in bytes. A read buffer
/// always has room for it beside the largest head.
pub(crate) const LINE_BYTES: usize = 512;
/// Wire bytes allowed for each byte of `max_body_bytes`: a chunk of one byte takes six.
const WIRE_FACTOR: u64 = 6;

/// How far a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyProgress {
    /// Its end is not there yet.
    More,
    /// The next byte belongs to the next request.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Counted(u64),
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    Trailers,
    Done,
}

/// Reads a body to its end and keeps nothing of it.
///
/// ```
/// use mely_http::{BodyDecoder, BodyProgress, Framing, Limits};
/// let mut body = BodyDecoder::new(Framing::Chunked, &Limits::default())?;
/// let (consumed, progress) = body.discard(b"3\r\nabc\r\n0\r\n\r\nGET /", &Limits::default())?;
/// assert_eq!((consumed, progress), (13, BodyProgress::Done));
/// # Ok::<(), mely_http::Status>(())
/// ```
#[derive(Debug, Clone)]
pub struct BodyDecoder {
    state: State,
    content_bytes: u64,
    wire_bytes: u64,
    trailer_bytes: usize,
}

impl BodyDecoder {
    /// A decoder at the beginning of a body.
    ///
    /// # Errors
    /// 413 when its announced length passes [`Limits::max_body_bytes`].
    pub fn new(framing: Framing, limits: &Limits) -> Result<Self, Status> {
        let state = match framing {
            Framing::Empty => State::Done,
            Framing::Length(length) if length > limits.max_body_bytes => {
                return Err(Status::ContentTooLarge);
            }
            Framing::Length(length) => State::Counted(length),
            Framing::Chunked => State::ChunkSize,
        };
        Ok(Self {
            state,
            content_bytes: 0,
            wire_bytes: 0,
            trailer_bytes: 0,
        })
    }

    /// Reads on, and says how many bytes of `input` are now done with. What is not consumed must
    /// be given again, with more after it.
    ///
    /// # Errors
    /// 400 for malformed chunks, 413 past [`Limits::max_body_bytes`], 431 for trailers past
    /// [`Limits::max_head_bytes`] or a trailer past 512 bytes. The connection cannot go on.
    pub fn discard(
        &mut self,
        input: &[u8],
        limits: &Limits,
    ) -> Result<(usize, BodyProgress), Status> {
        let mut at = 0;
        while self.state != State::Done {
            let used = self.step(&input[at..], limits)?;
            if used == 0 && self.state != State::Done {
                return Ok((at, BodyProgress::More));
            }
            at += used;
            self.wire_bytes += used as u64;
            // Counted bodies were bounded when they were announced; chunks can hide much
            // overhead around little content.
            let bound = limits.max_body_bytes.saturating_mul(WIRE_FACTOR);
            if self.wire_bytes > bound.saturating_add(limits.max_head_bytes as u64) {
                return Err(Status::ContentTooLarge);
            }
        }
        Ok((at, BodyProgress::Done))
    }

    fn step(&mut self, input: &[u8], limits: &Limits) -> Result<usize, Status> {
        match self.state {
            State::Done => Ok(0),
            State::Counted(left) => {
                let used = left.min(input.len() as u64);
                self.state = if used == left {
                    State::Done
                } else {
                    State::Counted(left - used)
                };
                Ok(used as usize)
            }
            State::ChunkData(left) => {
                let used = left.min(input.len() as u64);
                self.state = if used == left {
                    State::ChunkEnd
                } else {
                    State::ChunkData(left - used)
                };
                Ok(used as usize)
            }
            State::ChunkSize => self.chunk_size(input, limits),
            State::ChunkEnd => match input {
                [] | [b'\r'] => Ok(0),
                [b'\r', b'\n', ..] => {
                    self.state = State::ChunkSize;
                    Ok(2)
                }
                _ => Err(Status::BadRequest),
            },
            State::Trailers => self.trailer(input, limits),
        }
    }

    fn chunk_size(&mut self, input: &[u8], limits: &Limits) -> Result<usize, Status> {
        let Some(line) = line(input, LINE_BYTES, Status::BadRequest)? else {
            return Ok(0);
        };
        // httparse reads a line without digits as 0.
        if !line[0].is_ascii_hexdigit() {
            return Err(Status::BadRequest);
        }
        let Ok(httparse::Status::Complete((used, size))) = httparse::parse_chunk_size(line) else {
            return Err(Status::BadRequest);
        };
        if used != line.len() {
            return Err(Status::BadRequest);
        }
        self.content_bytes = self.content_bytes.saturating_add(size);
        if self.content_bytes > limits.max_body_bytes {
            return Err(Status::ContentTooLarge);
        }
        self.state = if size == 0 {
            State::Trailers
        } else {
            State::ChunkData(size)
        };
        Ok(used)
    }

    fn trailer(&mut self, input: &[u8], limits: &Limits) -> Result<usize, Status> {
        let room = limits
            .max_head_bytes
            .saturating_sub(self.trailer_bytes)
            .min(LINE_BYTES);
        let Some(line) = line(input, room, Status::HeaderFieldsTooLarge)? else {
            return Ok(0);
        };
        self.trailer_bytes += line.len();
        if line.len() == 2 {
            self.state = State::Done;
        }
        Ok(line.len())
    }
}

/// The first line of `input` with its line end, if it is there; `too_long` past `limit` bytes.
fn line(input: &[u8], limit: usize, too_long: Status) -> Result<Option<&[u8]>, Status> {
    let window = &input[..input.len().min(limit)];
    match memchr(b'\n', window) {
        Some(end) if end > 0 && window[end - 1] == b'\r' => Ok(Some(&window[..=end])),
        Some(_) => Err(Status::BadRequest),
        None if window.len() == limit => Err(too_long),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(
        framing: Framing,
        input: &[u8],
        pieces: usize,
    ) -> Result<(usize, BodyProgress), Status> {
        let limits = Limits {
            max_body_bytes: 100,
            max_head_bytes: 200,
            ..Limits::default()
        };
        let mut body = BodyDecoder::new(framing, &limits)?;
        let (mut consumed, mut end) = (0, 0);
        loop {
            end = (end + pieces).min(input.len());
            let (used, progress) = body.discard(&input[consumed..end], &limits)?;
            consumed += used;
            if progress == BodyProgress::Done || end == input.len() {
                return Ok((consumed, progress));
            }
        }
    }

    #[test]
    fn bodies_end_where_they_say() {
        use BodyProgress::{Done, More};
        let good: &[(&[u8], usize, BodyProgress)] = &[
            (b"0\r\n\r\nX", 5, Done),
            (b"a;x=y\r\n0123456789\r\n0\r\n\r\n", 24, Done),
            (b"1\r\na\r\n0\r\nT: v\r\n\r\nX", 17, Done),
            (b"1\r\na\r\n", 6, More),
        ];
        for (input, consumed, progress) in good {
            assert_eq!(
                read(Framing::Chunked, input, 1000),
                Ok((*consumed, *progress))
            );
            assert_eq!(read(Framing::Chunked, input, 1), Ok((*consumed, *progress)));
        }
        assert_eq!(read(Framing::Length(3), b"abcX", 1), Ok((3, Done)));
        assert_eq!(read(Framing::Length(100), b"abc", 1), Ok((3, More)));
        assert_eq!(read(Framing::Empty, b"abc", 1), Ok((0, Done)));
    }

    #[test]
    fn bad_bodies_are_refused() {
        for input in [
            &b"\r\n"[..],
            b"x\r\n",
            b"1\r\nab",
            b"1\n",
            b"-1\r\n",
            b"1 1\r\n",
            b"1\r\na\n",
            b"0\r\nT: v\n\r\n",
        ] {
            assert_eq!(
                read(Framing::Chunked, input, 1),
                Err(Status::BadRequest),
                "{}",
                input.escape_ascii()
            );
        }
        assert_eq!(
            read(Framing::Chunked, b"65\r\n", 1),
            Err(Status::ContentTooLarge)
        );
        assert_eq!(
            read(Framing::Chunked, b"ffffffffffffffff\r\n", 1),
            Err(Status::ContentTooLarge)
        );
        assert_eq!(
            read(Framing::Length(101), b"", 1),
            Err(Status::ContentTooLarge)
        );
        let trailers = [&b"0\r\n"[..], &b"A: b\r\n".repeat(40)].concat();
        assert_eq!(
            read(Framing::Chunked, &trailers, 7),
            Err(Status::HeaderFieldsTooLarge)
        );
        let extensions = [b"1;", &[b'x'; 480][..], b"\r\na\r\n"].concat().repeat(99);
        assert_eq!(
            read(Framing::Chunked, &extensions, 50),
            Err(Status::ContentTooLarge)
        );
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(input in "([0-9a-f]{0,2}\r?\n?|[a-f;]){0,20}", pieces in 1usize..9) {
            let whole = read(Framing::Chunked, input.as_bytes(), usize::MAX / 2);
            prop_assert_eq!(read(Framing::Chunked, input.as_bytes(), pieces), whole);
        }
    }
}
