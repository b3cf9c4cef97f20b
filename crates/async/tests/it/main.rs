//! Integration tests: what each page of the documentation promises, over loopback only.

mod blocking;
mod channels;
mod codecs;
mod colors;
mod datagrams;
mod descriptors;
mod ends;
mod files;
mod hostile;
mod http;
mod listeners;
mod servers;
mod streams;
mod support;
mod timers;
#[cfg(target_arch = "x86_64")]
mod tls;
mod tokio_context;
