//! The protocol beside another reader of it, and as a whole under bytes of all kinds.

mod capture;
mod conversation;
mod dissector;
