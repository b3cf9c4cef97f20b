//! SWS, the HTTP/1.1 static file server of Mely: protocol without I/O, and the server on it.
//!
//! The protocol half never touches a socket and never reads a clock. Bytes come in through a
//! [`Connection`], responses and deadlines come out of it, and time is handed to it as a [`Now`].
//! Only [`Site`] touches the file system.
//!
//! The steps of a connection are separate calls, so that each can be the handler of the same
//! name in the paper (section V.C, figure 6):
//!
//! | handler | calls |
//! |---|---|
//! | ReadRequest | [`Connection::read_buffer`], [`Connection::advance`] |
//! | ParseRequest | [`Connection::parse`] |
//! | CheckInCache | [`Connection::check_in_cache`], or [`Site::lookup`] and [`Connection::respond`] |
//! | WriteResponse | [`Connection::pending_output`], [`Connection::advance_output`] |
//! | Close | what [`Step::Close`] asks for |
//!
//! ```
//! use mely_http::{Connection, DateCache, Limits, Options, Output, Protocol, Site, Step};
//! use std::{sync::Arc, time::{Instant, SystemTime}};
//!
//! # let dir = tempfile::tempdir()?;
//! std::fs::write(dir.path().join("hello.txt"), "hello")?;
//! let protocol = Arc::new(Protocol::new(Limits::default()));
//! let now = DateCache::new().at(Instant::now(), SystemTime::now());
//! let site = Site::open(dir.path(), Options::default(), protocol.limits(), &now)?;
//!
//! let mut connection = Connection::new(protocol, &now);
//! let request = b"GET /hello.txt HTTP/1.1\r\nHost: localhost\r\n\r\n";
//! connection.read_buffer()[..request.len()].copy_from_slice(request);
//! connection.advance(request.len(), &now);
//! assert_eq!(connection.parse(&now), Step::Request);
//! connection.check_in_cache(&site, &now);
//! assert_eq!(connection.parse(&now), Step::Write);
//! let Output::Bytes(slices) = connection.pending_output() else { panic!("bytes expected") };
//! assert!(slices[0].starts_with(b"HTTP/1.1 200 OK\r\n"));
//! assert!(slices[0].ends_with(b"\r\n\r\nhello"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
mod buffers;
mod conditional;
mod connection;
mod date;
mod head;
mod headers;
mod limits;
mod lines;
mod output;
mod parser;
mod path;
mod range;
mod representation;
mod request;
mod response;
pub mod server;
mod site;
mod status;

pub use body::{BodyDecoder, BodyProgress};
pub use conditional::{EntityTag, Precondition, Preconditions};
pub use connection::{Connection, Step};
pub use date::{DateCache, DateValue, Now};
pub use limits::Limits;
pub use output::{Output, Slices};
pub use parser::{HttpError, Parsed, RequestParser};
pub use path::{PathError, SitePath};
pub use range::{RangeOutcome, byte_range};
pub use representation::Representation;
pub use request::{Framing, Method, Request, RequestHead, Version};
pub use response::Protocol;
pub use site::{Entry, FileEntry, FollowSymlinks, Lookup, Options, Progress, Site, SiteError};
pub use status::Status;
