//! The Gnutella protocol, versions 0.4 and 0.6, without I/O: bytes in, messages and bytes out. And
//! a [`node`] on it, which runs on Mely.
//!
//! But for the node no socket, clock or source of chance is in it: addresses are plain values, and
//! seconds and GUIDs are handed in.
//!
//! | what | here |
//! |---|---|
//! | the handshake, either side | [`Initiator`], [`Acceptor`], [`Profile`] |
//! | bytes to messages and back | [`Link`], made of [`Decoder`], [`Inflater`] and [`Deflater`] |
//! | messages | [`Message`] |
//! | what messages carry | [`Ggep`], [`extensions`], [`Sha1Urn`] |
//! | who may have what | [`RouteTable`], [`TableReceiver`], [`QueryKey`] |
//! | where messages go | [`Router`] |
//! | whom to connect to | [`HostCache`], [`AddressPolicy`] |
//! | what is shared | [`FileIndex`], [`FileTarget`] |
//! | all of it, with sockets | [`node::Node`] |
//!
//! ```
//! use mely_gnutella::{
//!     Acceptor, AcceptorStep, Guid, Initiator, InitiatorStep, Limits, Link, Message, Ping, Profile,
//! };
//! let limits = Limits::default();
//! let (mut there, mut back) = (Vec::new(), Vec::new());
//! let mut initiator = Initiator::new(Profile::default(), &mut there);
//! let mut acceptor = Acceptor::new(Profile::default());
//! assert_eq!(acceptor.receive(&mut &there[..], &limits)?, AcceptorStep::Offered);
//! acceptor.accept(&[], &mut back);
//!
//! there.clear();
//! let step = initiator.receive(&mut &back[..], &mut there, &limits)?;
//! let InitiatorStep::Agreed(agreement) = step else { panic!("{step:?}") };
//! let mut link = Link::new(&agreement, &limits);
//! link.send(&Message::Ping(Ping::default()), Guid::modern([1; 16]), 1, 0, &mut there);
//! link.flush(&mut there);
//!
//! let mut input = &there[..];
//! let step = acceptor.receive(&mut input, &limits)?;
//! let AcceptorStep::Agreed(agreement) = step else { panic!("{step:?}") };
//! let mut link = Link::new(&agreement, &limits);
//! let frame = link.receive(&mut input)?.expect("a whole message");
//! assert_eq!(Message::parse(&frame, &limits)?, Message::Ping(Ping::default()));
//! # Ok::<(), mely_gnutella::Error>(())
//! ```
//!
//! Whatever a peer sends, it is read within the [`Limits`], or an [`Error`] says what is wrong and
//! whether the message or the connection has to go.
//!
//! The specifications are the draft "Gnutella 0.6" of June 2002, GGEP 0.51, HUGE 0.94, "Query
//! Routing for the Gnutella Network" 1.0, and the proposals that the items name. Where today's
//! servents do otherwise, the item says so.

mod address;
mod bytes;
mod decoder;
mod deflate;
mod download;
mod error;
mod extension;
mod files;
mod ggep;
mod guid;
mod handshake;
mod header;
mod hosts;
mod limits;
mod link;
mod message;
pub mod node;
mod qrp;
mod routing;
mod urn;
mod words;

pub use address::AddressPolicy;
pub use decoder::{Decoder, Frame};
pub use deflate::{Deflater, Inflater};
pub use download::FileTarget;
pub use error::{Error, Treatment};
pub use extension::{EXTENSION_SEPARATOR, Extension, extensions};
pub use files::{FileIndex, SharedFile};
pub use ggep::{GGEP_DATA_BYTES_MAX, GGEP_MAGIC, Ggep, GgepExtension, PackedHosts, UltrapeerSlots};
pub use guid::Guid;
pub use handshake::{
    Acceptor, AcceptorStep, Agreement, HandshakeFields, Initiator, InitiatorStep, Profile,
    ProtocolVersion, Refusal, Role,
};
pub use header::{Header, Kind};
pub use hosts::{Host, HostCache};
pub use limits::Limits;
pub use link::Link;
pub use message::{
    Bye, Compressor, HitFlags, HitResult, HitTrailer, Message, Ping, Pong, Push, Query, QueryFlags,
    QueryHit, RouteTableUpdate, SupportedMessage, VendorMessage,
};
pub use qrp::{QueryKey, RouteTable, TableReceiver};
pub use routing::{Action, DropCounts, DropReason, PeerId, Router};
pub use urn::Sha1Urn;
pub use words::words;
