//! Numbers and texts as bytes.

/// The bytes that a 64-bit varint takes at the most.
pub(crate) const VARINT_BYTES_MAX: usize = 10;

/// Appends a number, seven bits a byte, the low ones first.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A record that is being put together, to be appended at once: a vector would look at
/// its room for every byte.
#[derive(Debug)]
pub(crate) struct Packed {
    bytes: [u8; Self::ROOM],
    length: usize,
}

impl Packed {
    /// More than a tag and five numbers take, and a power of two.
    const ROOM: usize = 64;

    #[inline]
    pub(crate) fn new(tag: u8) -> Self {
        let mut bytes = [0; Self::ROOM];
        bytes[0] = tag;
        Self { bytes, length: 1 }
    }

    /// Appends a number, as [`put_varint`] does; there are five at the most.
    #[inline]
    pub(crate) fn put(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.push(number as u8);
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        // The remainder costs nothing, and leaves no place for a panic.
        self.bytes[self.length % Self::ROOM] = byte;
        self.length += 1;
    }

    #[inline]
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes[..self.length.min(Self::ROOM)]);
    }
}

/// Appends a text of at most [`NAME_BYTES_MAX`](crate::NAME_BYTES_MAX) bytes after its length.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    let text = shortened(text);
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
}

/// What is kept of a text: whole characters.
pub(crate) fn shortened(text: &str) -> &str {
    let mut end = text.len().min(crate::NAME_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Takes numbers and texts from the front of bytes; `None` where there are too few, or
/// where they are no number or text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for at in 0..VARINT_BYTES_MAX {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if at == VARINT_BYTES_MAX - 1 && bits > 1 {
                return None;
            }
            number |= bits << (7 * at);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn text(&mut self, bytes: usize) -> Option<&'a str> {
        if bytes > crate::NAME_BYTES_MAX {
            return None;
        }
        core::str::from_utf8(self.take(bytes)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back() {
        for number in [0, 1, 127, 128, 300, 1 << 32, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, number);
            let mut bytes = Bytes(&out);
            assert_eq!(bytes.varint(), Some(number));
            assert!(bytes.is_empty());
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(Bytes(&[0xff; 10]).varint(), None);
        assert_eq!(Bytes(&[0x80]).varint(), None);
        assert_eq!(Bytes(&[]).varint(), None);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let long = "é".repeat(crate::NAME_BYTES_MAX);
        assert_eq!(shortened(&long).len(), crate::NAME_BYTES_MAX);
        assert_eq!(
            shortened(&format!("a{long}")).len(),
            crate::NAME_BYTES_MAX - 1
        );
    }
}
