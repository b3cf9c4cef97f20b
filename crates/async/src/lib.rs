//! Sockets, timers, files and blocking calls for futures that are polled under a color of
//! [Mely](mely).
//!
//! A future that is [spawned](mely::Colored::spawn) into a color runs as events of it: one
//! at a time, beside other colors, and stolen with it. Here is what such futures wait for.
//! Nothing takes a color by argument: what waits, waits with the color of the event that
//! polls it.
//!
//! An echo server, with a color for each connection:
//!
//! ```
//! use mely_async::TcpListener;
//! use std::time::Duration;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let rt = mely::Runtime::builder().workers(2).build()?;
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     println!("listening on {}", listener.local_addr()?);
//!     let serving = listener.serve(&rt, |mut stream, _peer| async move {
//!         let mut bytes = vec![0; 4096];
//!         while let Ok(count @ 1..) = stream.read(&mut bytes).await {
//!             if stream.write_all(&bytes[..count]).await.is_err() {
//!                 break;
//!             }
//!         }
//!     });
//!     serving.stop(); // accepts no more, and lets the connections end
//!     serving.wait()?;
//!     rt.shutdown(Duration::from_secs(5))?;
//!     Ok(())
//! }
//! ```
//!
//! With the feature `http`, axum's router and any other tower service is served over
//! HTTP/1 and HTTP/2; state that many connections share has a color of its own, and no
//! lock:
#![cfg_attr(feature = "http", doc = "```")]
#![cfg_attr(not(feature = "http"), doc = "```ignore")]
//! use axum::{Router, extract::State, routing::get};
//! use mely::Colored;
//! use mely_async::{TcpListener, serve_http};
//!
//! async fn hit(State(hits): State<Colored<u64>>) -> String {
//!     let count = hits.call(|hits, _cx| { *hits += 1; *hits }).await;
//!     count.map_or_else(|error| error.to_string(), |count| format!("{count} hits"))
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let rt = mely::Runtime::builder().workers(2).build()?;
//!     let router = Router::new().route("/", get(hit)).with_state(rt.colored(0));
//!     let serving = serve_http(TcpListener::bind("127.0.0.1:0")?, &rt, router);
//!     serving.stop();
//!     serving.wait()?;
//!     Ok(())
//! }
//! ```
//!
//! | to | use |
//! |---|---|
//! | listen, connect | [`TcpListener`], [`TcpStream`], [`UnixListener`], [`UnixStream`] |
//! | give each connection a color, or one that the program chooses | [`Listener::serve`], [`Listener::serve_under`] |
//! | write to a peer from many places, and wait for none | [`OwnedWriteHalf::into_queue`] |
//! | send datagrams | [`UdpSocket`] |
//! | wait | [`sleep`], [`sleep_until`], [`interval`], [`timeout`], [`timeout_at`] |
//! | do what blocks, or takes long | [`spawn_blocking`], [`BlockingPool`] |
//! | read and write files | [`mod@fs`] |
//! | run a future beside, or let others run | [`spawn`], [`yield_now`] |
//! | look a name up | [`lookup_host`], [`TcpStream::connect_host`] |
//! | end in order | [`signal::terminated`], [`Serving::stop`], [`Serving::wait_timeout`], [`Stop`] |
//!
//! | feature | gives streams | and with it |
//! |---|---|---|
//! | `futures-io` | its `AsyncRead`, `AsyncWrite` | what `futures` builds on them |
//! | `tokio` | Tokio's `AsyncRead`, `AsyncWrite` | `tokio-util`'s codecs, `tokio-rustls`, without Tokio's runtime |
//! | `hyper` | hyper's `Read`, `Write` | `ColorTimer`, `ColorExecutor` |
//! | `http` | the same | `serve_http` for tower services |
//! | `http-client` | the same | `HttpConnector` for the client of `hyper-util` |
//!
//! None is on by default.
//!
//! # Both crates at once
//!
//! No name is in both, so a program may import all of them:
//!
//! ```
//! use mely::*;
//! use mely_async::*;
//! use std::time::Duration;
//!
//! async fn greet(mut visits: TaskState<u64>, mut stream: TcpStream) -> Result<(), std::io::Error> {
//!     let number = visits.with(|visits| { *visits += 1; *visits });
//!     stream.write_all(format!("visit {number}").as_bytes()).await
//! }
//!
//! # fn ask_me_to_end() {
//! #     rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM).unwrap();
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rt = Runtime::builder().workers(2).build()?;
//! let asked_to_end = signal::terminated(&rt)?;
//! let visits: Colored<u64> = rt.colored(0);
//! let serving = TcpListener::bind("127.0.0.1:0")?.serve_under(
//!     &rt,
//!     move |_stream, _peer| visits.clone(),
//!     |visits, stream, _peer| greet(visits, stream),
//! );
//! # ask_me_to_end();
//! asked_to_end.wait()?;
//! serving.stop();
//! let _late = serving.wait_timeout(Duration::from_secs(1));
//! # Ok(())
//! # }
//! ```
//!
//! # What needs no runtime of its own
//!
//! Futures that are woken by other code, and not by a reactor or a timer, run under a color as
//! anywhere: the channels, locks and `select!` of `futures`, `tokio::sync`, `flume`,
//! `async-channel` and `async-lock`. (The tests of this crate have each of them.)
//!
//! # What needs Tokio's
//!
//! Of Tokio's own runtime nothing is here: what calls `tokio::spawn` (as `axum::serve` does), or
//! waits for Tokio's timers, sockets and files, panics without it: *there is no reactor running*.
//! Instead of them there are [`spawn`], [`sleep`], [`TcpStream`], [`mod@fs`] and
//! [`spawn_blocking`]. Where a library needs Tokio, let it have a small one beside Mely, and await there what it does. Or
//! poll it here, in that one's context; it can then be woken by both:
//!
//! ```
//! use std::{future::poll_fn, pin::pin, time::Duration};
//! let tokio = tokio::runtime::Builder::new_multi_thread()
//!     .worker_threads(1)
//!     .enable_all()
//!     .build()?;
//! let handle = tokio.handle().clone();
//! let needs_tokio = || async {
//!     tokio::time::sleep(Duration::from_millis(1)).await;
//!     7
//! };
//! let rt = mely::Runtime::builder().workers(1).build()?;
//! let both = rt.new_color().spawn(async move {
//!     let there = handle.spawn(needs_tokio()).await?;
//!     let mut future = pin!(needs_tokio());
//!     let here = poll_fn(|cx| {
//!         let _context = handle.enter();
//!         future.as_mut().poll(cx)
//!     });
//!     Ok::<_, tokio::task::JoinError>((there, here.await))
//! });
//! assert_eq!(both.wait()??, (7, 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Layers and bodies of a server that call Tokio by themselves, as tower's timeouts set its
//! timers, `ServeDir` reads files and axum's `WebSocketUpgrade::on_upgrade` spawns, find it
//! where each worker has entered its context, once and for as long as the program runs:
//!
//! ```
//! # use std::time::Duration;
//! fn enter_on_each_worker(rt: &mely::Runtime) -> Result<(), Box<dyn std::error::Error>> {
//!     let tokio: &tokio::runtime::Runtime = Box::leak(Box::new(tokio::runtime::Runtime::new()?));
//!     for worker in 0..rt.workers() {
//!         let there = rt.color_options().pin_to(worker).new_color()?;
//!         there.spawn(async { std::mem::forget(tokio.enter()) }).wait()?;
//!     }
//!     Ok(())
//! }
//!
//! let rt = mely::Runtime::builder().workers(2).build()?;
//! enter_on_each_worker(&rt)?;
//! let sleeps = async { tokio::time::sleep(Duration::from_millis(1)).await };
//! let slept = rt.new_color().spawn(sleeps);
//! assert_eq!(slept.wait(), Ok(()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tokio's threads have no color: what waits for a socket of Mely goes back into the color that
//! the request had, [`Color::current`](mely::Color::current) in its handler, by
//! [`spawn`](mely::Colored::spawn).
//!
//! # Errors
//!
//! What must wait outside of any color fails with [`Error::OutsideColor`]: sockets as an
//! [`io::Error`](std::io::Error), timers by themselves. Only [`spawn`] panics there.
#![forbid(unsafe_code)]

mod blocking;
mod error;
pub mod fs;
mod listener;
mod lookup;
mod ready;
mod serve;
pub mod signal;
mod socket;
mod spawn;
mod stream;
mod time;
mod traits;
mod turn;
mod udp;
mod wake;

pub use blocking::{
    Blocking, BlockingError, BlockingOptions, BlockingPool, BlockingRefused, spawn_blocking,
    try_spawn_blocking,
};
pub use error::Error;
pub use listener::{Accepted, Incoming, Listener, ListenerSocket, TcpListener, UnixListener};
pub use lookup::lookup_host;
pub use serve::{ServeOptions, Serving, Stop, Stopped};
#[cfg(feature = "http")]
pub use serve::{serve_http, serve_http_by, serve_http_with};
pub use spawn::spawn;
pub use stream::{
    OwnedReadHalf, OwnedWriteHalf, PushError, ReadHalf, ReuniteError, Stream, StreamSocket,
    TcpStream, UnixStream, WhenFull, WriteHalf, WriteQueue, Writing,
};
pub use time::{
    Interval, MissedTickBehavior, Sleep, interval, interval_at, sleep, sleep_until, timeout,
    timeout_at,
};
#[cfg(feature = "http-client")]
pub use traits::hyper_client::HttpConnector;
#[cfg(feature = "hyper")]
pub use traits::hyper_rt::{ColorExecutor, ColorTimer};
pub use turn::{YieldNow, yield_now};
pub use udp::UdpSocket;
