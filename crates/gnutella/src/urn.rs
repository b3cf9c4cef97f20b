//! Files named by what is in them: `urn:sha1:` and its bitprint.

use core::fmt;
use core::str::FromStr;

use crate::error::Error;

const PREFIX: &str = "urn:sha1:";
/// A bitprint is a SHA-1, a point, and a hash of another kind, which is not looked at.
const BITPRINT: &str = "urn:bitprint:";

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// 160 bits in letters of five.
const LETTERS: usize = 32;

/// The SHA-1 of a file's content, written as a URN in base 32 (HUGE 0.94, section 2.3).
///
/// ```
/// use mely_gnutella::Sha1Urn;
/// let urn: Sha1Urn = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB".parse()?;
/// assert_eq!(urn.to_string(), "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB");
/// assert!("urn:md5:0123".parse::<Sha1Urn>().is_err());
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha1Urn(pub [u8; 20]);

impl FromStr for Sha1Urn {
    type Err = Error;

    /// # Errors
    /// [`Error::Malformed`] for anything else than `urn:sha1:` or `urn:bitprint:`, in letters of
    /// any case.
    fn from_str(text: &str) -> Result<Self, Error> {
        let malformed = Error::Malformed { what: "a URN" };
        let letters = if let Some(letters) = after(text, PREFIX) {
            letters
        } else if let Some(bitprint) = after(text, BITPRINT) {
            bitprint.split_once('.').map_or("", |(sha1, _)| sha1)
        } else {
            return Err(malformed);
        };
        if letters.len() != LETTERS {
            return Err(malformed);
        }
        let mut bytes = [0; 20];
        for (index, letter) in letters.bytes().enumerate() {
            let letter = letter.to_ascii_uppercase();
            let value = ALPHABET.iter().position(|&known| known == letter);
            let value = value.ok_or(malformed.clone())?;
            for bit in 0..5 {
                let at = index * 5 + bit;
                bytes[at / 8] |= ((value >> (4 - bit) & 1) as u8) << (7 - at % 8);
            }
        }
        Ok(Self(bytes))
    }
}

fn after<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

impl fmt::Display for Sha1Urn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        // Five bytes are eight letters.
        for group in self.0.chunks(5) {
            let bits = group
                .iter()
                .fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
            for letter in (0..8).rev() {
                let value = (bits >> (letter * 5) & 31) as usize;
                write!(f, "{}", char::from(ALPHABET[value]))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_empty_file_has_its_well_known_name() {
        let sha1 = [
            0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55, 0xbf, 0xef, 0x95, 0x60,
            0x18, 0x90, 0xaf, 0xd8, 0x07, 0x09,
        ];
        let text = "urn:sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
        assert_eq!(Sha1Urn(sha1).to_string(), text);
        assert_eq!(text.to_lowercase().parse(), Ok(Sha1Urn(sha1)));
        let bitprint =
            text.replace("sha1", "bitprint") + ".LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ";
        assert_eq!(bitprint.parse(), Ok(Sha1Urn(sha1)));
    }

    #[test]
    fn other_names_are_refused() {
        for text in [
            "",
            "urn:",
            "urn:sha1:",
            "urn:sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBY",
            "urn:sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJA",
            "urn:sha1:1I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "urn:bitprint:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "urn:sha1é",
        ] {
            assert!(text.parse::<Sha1Urn>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn names_are_read_back(bytes: [u8; 20]) {
            prop_assert_eq!(Sha1Urn(bytes).to_string().parse(), Ok(Sha1Urn(bytes)));
        }
    }
}
