//! What clients and staged servers say to each other: requests are numbers of eight bytes, answers
//! have a head with the number, what became of it, and the length of what follows.

/// Bytes of a request.
pub(crate) const REQUEST_BYTES: usize = 8;

/// Bytes of an answer's head.
pub(crate) const HEAD_BYTES: usize = 13;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Answered,
    /// When it was offered.
    Refused,
    /// After it was accepted.
    Expired,
}

impl Fate {
    fn of(byte: u8) -> Option<Self> {
        let all = [Self::Answered, Self::Refused, Self::Expired];
        all.into_iter().find(|fate| *fate as u8 == byte)
    }
}

/// Appends an answer.
pub(crate) fn write(number: u64, fate: Fate, body: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&number.to_le_bytes());
    out.push(fate as u8);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(body);
}

/// Reads answers from a stream, however its bytes arrive.
#[derive(Debug, Default)]
pub(crate) struct AnswerReader {
    head: Vec<u8>,
    /// The answer whose body comes, and how much of that is to come.
    coming: Option<(u64, Fate, usize)>,
}

impl AnswerReader {
    /// Takes bytes; `told` of each answer that is whole. `None` if they are no answers.
    pub(crate) fn take(&mut self, mut bytes: &[u8], mut told: impl FnMut(u64, Fate)) -> Option<()> {
        loop {
            if let Some((number, fate, left)) = self.coming {
                let skipped = left.min(bytes.len());
                bytes = &bytes[skipped..];
                if skipped < left {
                    self.coming = Some((number, fate, left - skipped));
                    return Some(());
                }
                self.coming = None;
                told(number, fate);
            }
            let missing = HEAD_BYTES - self.head.len();
            let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
            self.head.extend_from_slice(taken);
            bytes = rest;
            if self.head.len() < HEAD_BYTES {
                return Some(());
            }
            let number = u64::from_le_bytes(self.head[..8].try_into().ok()?);
            let length = u32::from_le_bytes(self.head[9..].try_into().ok()?);
            self.coming = Some((number, Fate::of(self.head[8])?, length as usize));
            self.head.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_however_they_arrive() {
        let mut wire = Vec::new();
        write(7, Fate::Answered, &[1; 100], &mut wire);
        write(8, Fate::Refused, &[], &mut wire);
        write(9, Fate::Expired, &[], &mut wire);
        for piece in [1, 5, 13, 50, 1000] {
            let (mut reader, mut told) = (AnswerReader::default(), Vec::new());
            for bytes in wire.chunks(piece) {
                let taken = reader.take(bytes, |number, fate| told.push((number, fate)));
                assert_eq!(taken, Some(()));
            }
            let fates = [(7, Fate::Answered), (8, Fate::Refused), (9, Fate::Expired)];
            assert_eq!(told, fates, "in pieces of {piece}");
        }
        wire[8] = 77;
        assert_eq!(AnswerReader::default().take(&wire, |_, _| ()), None);
    }
}
