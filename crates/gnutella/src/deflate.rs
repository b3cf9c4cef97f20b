//! Compressed connections, and compressed data within messages.
//!
//! All of it is zlib's format: what `Content-Encoding: deflate` means in HTTP, too (RFC 1950).

use crate::error::Error;
use crate::limits::Limits;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Bytes that a connection may inflate to before the ratio counts: the beginning of a stream is
/// short, and may be a route table of zeros.
const RATIO_FREE_BYTES: u64 = 1024 * 1024;

/// Room for compressed bytes that is asked for at once.
const CHUNK_BYTES: usize = 4 * 1024;

/// The compressed half of a connection that comes in.
///
/// It writes into what the caller gives, so it never holds more than deflate's window of 32 KiB.
///
/// ```
/// use mely_gnutella::{Deflater, Inflater, Limits};
/// let mut wire = Vec::new();
/// let mut deflater = Deflater::new();
/// deflater.write(b"hello", &mut wire);
/// deflater.flush(&mut wire);
/// let (mut input, mut room) = (&wire[..], [0; 64]);
/// let count = Inflater::new(&Limits::default()).read(&mut input, &mut room)?;
/// assert_eq!(&room[..count], b"hello");
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug)]
pub struct Inflater {
    stream: Decompress,
    ended: bool,
    max_ratio: u64,
}

impl Inflater {
    /// An inflater at the beginning of a stream.
    pub fn new(limits: &Limits) -> Self {
        Self {
            stream: Decompress::new(true),
            ended: false,
            max_ratio: limits.max_inflation_ratio,
        }
    }

    /// Takes compressed bytes from the front of `input` and tells how many it wrote into `room`.
    /// Zero means that all of the input is taken and says no more.
    ///
    /// # Errors
    /// [`Error::Inflate`] for what is no zlib stream or goes on after its end, and
    /// [`Error::InflatedTooMuch`] for one that is made to keep its reader busy.
    pub fn read(&mut self, input: &mut &[u8], room: &mut [u8]) -> Result<usize, Error> {
        if self.ended {
            return if input.is_empty() {
                Ok(0)
            } else {
                Err(Error::Inflate)
            };
        }
        let (taken, written) = (self.stream.total_in(), self.stream.total_out());
        let status = self
            .stream
            .decompress(input, room, FlushDecompress::None)
            .map_err(|_| Error::Inflate)?;
        self.ended = status == Status::StreamEnd;
        *input = &input[(self.stream.total_in() - taken) as usize..];
        let allowed = self.stream.total_in().saturating_mul(self.max_ratio);
        if self.stream.total_out() > allowed.saturating_add(RATIO_FREE_BYTES) {
            return Err(Error::InflatedTooMuch {
                max: self.max_ratio as usize,
            });
        }
        let count = (self.stream.total_out() - written) as usize;
        if self.ended && count == 0 && !input.is_empty() {
            return Err(Error::Inflate);
        }
        Ok(count)
    }
}

/// The compressed half of a connection that goes out.
#[derive(Debug)]
pub struct Deflater {
    stream: Compress,
}

impl Deflater {
    /// A deflater at the beginning of a stream.
    pub fn new() -> Self {
        Self {
            stream: Compress::new(Compression::default(), true),
        }
    }

    /// Compresses bytes. They may stay inside until [`flush`](Self::flush): messages that go out
    /// together compress better.
    pub fn write(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let before = self.stream.total_in();
            self.run(bytes, out, FlushCompress::None);
            bytes = &bytes[(self.stream.total_in() - before) as usize..];
        }
    }

    /// Makes all that was written readable by the peer. Costs some five bytes.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        loop {
            self.run(&[], out, FlushCompress::Sync);
            // Room that is left over means that nothing waits for more of it.
            if out.len() < out.capacity() {
                return;
            }
        }
    }

    fn run(&mut self, bytes: &[u8], out: &mut Vec<u8>, flush: FlushCompress) -> Status {
        out.reserve(CHUNK_BYTES);
        self.stream
            .compress_vec(bytes, out, flush)
            .expect("a compressor without a dictionary has no way to fail")
    }
}

impl Default for Deflater {
    fn default() -> Self {
        Self::new()
    }
}

/// All of `bytes`, compressed.
pub(crate) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut deflater = Deflater::new();
    let mut out = Vec::new();
    deflater.write(bytes, &mut out);
    while deflater.run(&[], &mut out, FlushCompress::Finish) != Status::StreamEnd {}
    out
}

/// All that `bytes` inflate to, if that is a whole stream and no longer than `max`.
pub(crate) fn inflated(bytes: &[u8], max: usize) -> Result<Vec<u8>, Error> {
    let mut stream = Decompress::new(true);
    let mut out = Vec::new();
    loop {
        // One byte beyond the limit tells a stream that is too long from one that fits exactly.
        let room = (max + 1 - out.len()).min(CHUNK_BYTES);
        out.reserve(room);
        let taken = stream.total_in() as usize;
        let before = out.len();
        let status = stream
            .decompress_vec(&bytes[taken..], &mut out, FlushDecompress::None)
            .map_err(|_| Error::Inflate)?;
        if out.len() > max {
            return Err(Error::InflatedTooMuch { max });
        }
        if status == Status::StreamEnd {
            return Ok(out);
        }
        let progressed = out.len() > before || stream.total_in() as usize > taken;
        if !progressed {
            return Err(Error::Inflate);
        }
    }
}

#[cfg(test)]
mod tests;
