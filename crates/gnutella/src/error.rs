//! What is wrong with what a peer sent, and what to do about it.

use core::fmt;

/// What to do after an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Forget this message and count it. The connection goes on.
    DropMessage,
    /// The stream cannot be followed any further, or following it would cost too much: close the
    /// connection, after a bye if messages were exchanged already.
    CloseConnection,
}

/// Why bytes of a peer are refused. None of it is ever the reader's fault.
///
/// ```
/// use mely_gnutella::{Decoder, Limits, Treatment};
/// let mut header = [0; 23];
/// header[19..].copy_from_slice(&u32::MAX.to_le_bytes());
/// let error = Decoder::new(&Limits::default()).next(&mut &header[..]).unwrap_err();
/// assert_eq!(error.treatment(), Treatment::CloseConnection);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The first line of a handshake is of another protocol, or of an unknown version.
    NotGnutella,
    /// A line of a handshake is no header field.
    HandshakeLine,
    /// The headers of a handshake do not end in time.
    HandshakeTooLong {
        /// Bytes that are read.
        max: usize,
    },
    /// A handshake has too many header fields.
    TooManyFields {
        /// Fields that are read.
        max: usize,
    },
    /// A message says that it is longer than any that is taken.
    PayloadTooLong {
        /// Bytes that it would have.
        length: u32,
        /// Bytes that are taken.
        max: u32,
    },
    /// Compressed bytes are not what a compressor writes.
    Inflate,
    /// Compressed bytes grow more than is taken.
    InflatedTooMuch {
        /// Bytes that are taken, or times as many as came in for a whole connection.
        max: usize,
    },
    /// The compressed bytes of an extension within a message cannot be taken.
    ExtensionInflate,
    /// A route table is updated in an impossible way.
    RouteTable(&'static str),
    /// A route table has more slots than are kept.
    RouteTableTooLarge {
        /// Slots that it would have.
        slots: u32,
        /// Slots that are kept.
        max: u32,
    },
    /// A message, or a part of it, ends too early.
    Truncated {
        /// What ends.
        what: &'static str,
    },
    /// A part of a message makes no sense.
    Malformed {
        /// Which part.
        what: &'static str,
    },
    /// A part of a message is too long.
    TooLong {
        /// Which part.
        what: &'static str,
        /// Bytes that are taken.
        max: usize,
    },
    /// A message has too much of something.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many are taken.
        max: usize,
    },
}

impl Error {
    /// What to do about it.
    ///
    /// ```
    /// use mely_gnutella::{Error, Treatment};
    /// let error = Error::Malformed { what: "a name" };
    /// assert_eq!(error.treatment(), Treatment::DropMessage);
    /// ```
    pub fn treatment(&self) -> Treatment {
        match self {
            Self::NotGnutella
            | Self::HandshakeLine
            | Self::HandshakeTooLong { .. }
            | Self::TooManyFields { .. }
            | Self::PayloadTooLong { .. }
            | Self::Inflate
            | Self::InflatedTooMuch { .. }
            | Self::RouteTable(_)
            | Self::RouteTableTooLarge { .. } => Treatment::CloseConnection,
            Self::ExtensionInflate
            | Self::Truncated { .. }
            | Self::Malformed { .. }
            | Self::TooLong { .. }
            | Self::TooMany { .. } => Treatment::DropMessage,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGnutella => f.write_str("the peer does not speak Gnutella 0.4 or 0.6"),
            Self::HandshakeLine => f.write_str("a line of the handshake is no header field"),
            Self::HandshakeTooLong { max } => {
                write!(f, "the headers of the handshake pass {max} bytes")
            }
            Self::TooManyFields { max } => {
                write!(f, "the handshake has more than {max} header fields")
            }
            Self::PayloadTooLong { length, max } => {
                write!(
                    f,
                    "a message of {length} bytes: {max} are taken at the most"
                )
            }
            Self::Inflate => f.write_str("the compressed stream is damaged"),
            Self::InflatedTooMuch { max } => {
                write!(f, "compressed bytes grow beyond the limit of {max}")
            }
            Self::ExtensionInflate => {
                f.write_str("the compressed data of an extension is damaged or too long")
            }
            Self::RouteTable(what) => write!(f, "the route table cannot be updated: {what}"),
            Self::RouteTableTooLarge { slots, max } => {
                write!(
                    f,
                    "a route table of {slots} slots: {max} are kept at the most"
                )
            }
            Self::Truncated { what } => write!(f, "{what} ends too early"),
            Self::Malformed { what } => write!(f, "{what} makes no sense"),
            Self::TooLong { what, max } => {
                write!(f, "{what} is too long: {max} bytes are taken at the most")
            }
            Self::TooMany { what, max } => {
                write!(f, "too many {what}: {max} are taken at the most")
            }
        }
    }
}

impl std::error::Error for Error {}
