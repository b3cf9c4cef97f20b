//! How a server listens.

use super::Address;
use mely::ReactorKind;

/// How a server listens. What it serves, and within which bounds, is said by the
/// [`Site`](crate::Site) and the [`Limits`](crate::Limits).
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where to listen; at least one address.
    pub listen: Vec<Address>,
    /// The reactor of the runtime: with the single one, descriptors are registered by an event of
    /// color 0 inside the runtime.
    pub reactor: ReactorKind,
    /// Clients turned away at once (64). While there are as many, no more are accepted.
    pub refusing_max: usize,
    /// Called with a line for the operator, at most once a second (a line on standard error).
    pub on_trouble: fn(&str),
}

impl ServerOptions {
    /// Listens on these addresses, and the defaults for the rest.
    pub fn listen(addresses: impl IntoIterator<Item = Address>) -> Self {
        Self {
            listen: addresses.into_iter().collect(),
            reactor: ReactorKind::default(),
            refusing_max: 64,
            on_trouble: |line| eprintln!("mely: {line}"),
        }
    }
}
