//! Integration tests: what each page of the documentation promises, over loopback only.

#[cfg(target_arch = "x86_64")]
mod axum_programs;
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
mod hyper_programs;
mod listeners;
mod queues;
mod servers;
mod signals;
mod streams;
mod support;
mod timers;
#[cfg(target_arch = "x86_64")]
mod tls;
mod tokio_context;
mod turns;
mod under;
mod unread;
