//! The protocol beside another reader of it, as a whole under bytes of all kinds, and the node among
//! peers that these tests write byte by byte.

mod capture;
mod conversation;
mod dissector;
mod node;
