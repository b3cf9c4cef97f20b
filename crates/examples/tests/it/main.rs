//! Each example is run as it is, and talked to over the loopback.

mod axum;
mod chat;
mod echo;
mod ends;
mod kv;
mod limiter;
mod support;
mod timers;
