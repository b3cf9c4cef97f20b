//! Why messages end, in numbers.

/// Why a message is neither sent on nor delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// A message with this GUID came before.
    Duplicate,
    /// Its TTL is used up.
    Expired,
    /// It has made as many hops as any message may.
    TooFar,
    /// Nobody is known to whom it would have to go back, or no more.
    NoRoute,
    /// It is for neighbours only, and came from farther away.
    Strayed,
    /// The peer pings more often than it may.
    TooOften,
    /// A pong tells an address that is nobody's.
    BadAddress,
    /// It cannot be read, or not what decides where it goes.
    Malformed,
    /// Its type is not known.
    UnknownType,
    /// The peer that it came from is not connected any more.
    PeerGone,
}

impl DropReason {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Duplicate,
        Self::Expired,
        Self::TooFar,
        Self::NoRoute,
        Self::Strayed,
        Self::TooOften,
        Self::BadAddress,
        Self::Malformed,
        Self::UnknownType,
        Self::PeerGone,
    ];

    /// A word for tables and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Expired => "expired",
            Self::TooFar => "too_far",
            Self::NoRoute => "no_route",
            Self::Strayed => "strayed",
            Self::TooOften => "too_often",
            Self::BadAddress => "bad_address",
            Self::Malformed => "malformed",
            Self::UnknownType => "unknown_type",
            Self::PeerGone => "peer_gone",
        }
    }
}

/// How many messages were dropped for each reason.
///
/// ```
/// use mely_gnutella::{DropCounts, DropReason};
/// let counts = DropCounts::default();
/// assert_eq!(counts.get(DropReason::Duplicate), 0);
/// assert_eq!(counts.iter().count(), DropReason::ALL.len());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DropCounts([u64; DropReason::ALL.len()]);

impl DropCounts {
    /// For one reason.
    pub fn get(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// For every reason.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.into_iter().zip(self.0)
    }

    pub(super) fn count(&mut self, reason: DropReason) {
        self.0[reason as usize] += 1;
    }
}
