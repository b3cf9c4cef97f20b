//! What is asked, and how it is answered: a subcommand each.

pub(crate) mod chat;
pub(crate) mod kv;
pub(crate) mod latency;
pub(crate) mod memory;
pub(crate) mod paper;
pub(crate) mod peers;
pub(crate) mod plot;
pub(crate) mod single;
pub(crate) mod stages;
pub(crate) mod steal;
mod table;
pub(crate) mod timers;
pub(crate) mod trace;
pub(crate) mod web;
