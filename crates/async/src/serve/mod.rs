//! Servers: a listener whose connections have a color each.

mod gate;
#[cfg(feature = "http")]
mod http;
mod stop;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::{fmt, ops};

use mely::{Color, Handle, Reply};

use self::gate::Gate;
#[cfg(feature = "http")]
pub use self::http::{serve_http, serve_http_with};
pub use self::stop::{Stop, Stopped};
use crate::listener::{Listener, ListenerSocket};
use crate::stream::Stream;

/// How a server serves ([`Listener::serve_with`]).
#[derive(Clone, Debug)]
pub struct ServeOptions {
    max_connections: usize,
    stop: Stop,
}

impl ServeOptions {
    /// How many connections there may be, where nothing else is said. Each takes a
    /// descriptor, and some kilobytes: where a process may have fewer descriptors, those
    /// that come too late wait until some are free.
    pub const MAX_CONNECTIONS: usize = 10_000;

    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// At most so many connections at a time, and at least one: the others wait in the
    /// system's queue. The default is [`MAX_CONNECTIONS`](Self::MAX_CONNECTIONS).
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Ends by this wish, of which connections may know too. Without it the server has one
    /// of its own ([`Serving::stop`]).
    #[must_use]
    pub fn stop_by(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            max_connections: Self::MAX_CONNECTIONS,
            stop: Stop::new(),
        }
    }
}

/// A server at work ([`Listener::serve`]). Dropping it lets the server go on.
///
/// Awaited, it waits for the end: once the server is [stopped](Self::stop) and the last of
/// its connections has ended.
///
/// # Errors
///
/// What ended the listener, or the runtime's end.
pub struct Serving {
    ended: Reply<io::Result<()>>,
    counts: Arc<Counts>,
    stop: Stop,
}

/// What a server counts.
#[derive(Default)]
struct Counts {
    inside: Gate,
    accepted: AtomicU64,
    failures: Arc<AtomicU64>,
}

impl Serving {
    /// Accepts no more connections, closes the listener, and lets those that there are come
    /// to their end.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// The wish by which it ends.
    pub fn stop_wish(&self) -> &Stop {
        &self.stop
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.counts.inside.count()
    }

    /// How many connections have been accepted.
    pub fn accepted(&self) -> u64 {
        // Relaxed: a count.
        self.counts.accepted.load(Relaxed)
    }

    /// How many failures to accept one it has survived.
    pub fn failures(&self) -> u64 {
        // Relaxed: a count.
        self.counts.failures.load(Relaxed)
    }

    /// Blocks the calling thread until the server has ended.
    ///
    /// # Errors
    ///
    /// As when awaited, and inside of a handler of the same runtime.
    pub fn wait(self) -> io::Result<()> {
        self.ended.wait().map_err(io::Error::other)?
    }
}

impl Future for Serving {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = Pin::new(&mut self.ended).poll(cx);
        ended.map(|ended| ended.map_err(io::Error::other)?)
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving")
            .field("connections", &self.connections())
            .field("accepted", &self.accepted())
            .field("failures", &self.failures())
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}

impl<L: ListenerSocket> Listener<L> {
    /// Gives each connection a fresh color, and runs there the future that `connection`
    /// makes of it: connections run in parallel, each of them serially.
    ///
    /// It goes on through what passes, as [`incoming`](Self::incoming) does, and ends by
    /// [`Serving::stop`]. Colors begin on each worker in turn.
    ///
    /// ```
    /// use mely_async::TcpListener;
    /// use std::io::{Read, Write};
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let address = listener.local_addr()?;
    /// let serving = listener.serve(&rt, |mut stream, _peer| async move {
    ///     let mut bytes = [0; 1024];
    ///     while let Ok(count @ 1..) = stream.read(&mut bytes).await {
    ///         if stream.write_all(&bytes[..count]).await.is_err() {
    ///             break;
    ///         }
    ///     }
    /// });
    /// let mut client = std::net::TcpStream::connect(address)?;
    /// client.write_all(b"hello")?;
    /// let mut answer = [0; 5];
    /// client.read_exact(&mut answer)?;
    /// assert_eq!(&answer, b"hello");
    /// drop(client);
    /// serving.stop();
    /// serving.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn serve<F, Fut>(self, handle: &Handle, connection: F) -> Serving
    where
        F: FnMut(Stream<L::Stream>, L::Address) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.serve_with(handle, ServeOptions::new(), connection)
    }

    /// The same, by `options`.
    pub fn serve_with<F, Fut>(
        self,
        handle: &Handle,
        options: ServeOptions,
        connection: F,
    ) -> Serving
    where
        F: FnMut(Stream<L::Stream>, L::Address) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let counts = Arc::new(Counts::default());
        let stop = options.stop.clone();
        let server = Server {
            colors: Colors::new(handle),
            counts: Arc::clone(&counts),
            options,
            connection,
        };
        let ended = handle.new_color().spawn(server.run(self));
        Serving {
            ended,
            counts,
            stop,
        }
    }
}

struct Server<F> {
    colors: Colors,
    counts: Arc<Counts>,
    options: ServeOptions,
    connection: F,
}

impl<F> Server<F> {
    async fn run<L, Fut>(mut self, listener: Listener<L>) -> io::Result<()>
    where
        L: ListenerSocket,
        F: FnMut(Stream<L::Stream>, L::Address) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let accepted = self.accept(&listener).await;
        drop(listener);
        self.counts.inside.fewer_than(1).await;
        accepted
    }

    /// Accepts connections until the end is wished.
    async fn accept<L, Fut>(&mut self, listener: &Listener<L>) -> io::Result<()>
    where
        L: ListenerSocket,
        F: FnMut(Stream<L::Stream>, L::Address) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let (stop, max) = (self.options.stop.clone(), self.options.max_connections);
        let incoming = listener.incoming();
        let mut incoming = incoming.count_failures_in(&self.counts.failures);
        loop {
            let next = async {
                self.counts.inside.fewer_than(max).await;
                incoming.next().await
            };
            let Some(next) = unless(&stop, next).await else {
                return Ok(());
            };
            let (stream, peer) = next?;
            // Relaxed: a count.
            self.counts.accepted.fetch_add(1, Relaxed);
            let pass = self.counts.inside.enter();
            let serving = (self.connection)(stream, peer);
            // It ends by itself, and nobody waits for what comes of it.
            drop(self.colors.next().spawn(async move {
                // Dropped last.
                let _pass = pass;
                serving.await;
            }));
        }
    }
}

/// Fresh colors, at home on each worker in turn.
struct Colors {
    handle: Handle,
    homes: ops::Range<usize>,
}

impl Colors {
    fn new(handle: &Handle) -> Self {
        Self {
            handle: handle.clone(),
            homes: 0..0,
        }
    }

    fn next(&mut self) -> Color {
        let home = self.homes.next().unwrap_or_else(|| {
            self.homes = 1..self.handle.workers();
            0
        });
        let options = self.handle.color_options().start_on(home);
        // There is such a worker; wherever it is otherwise, it is a color.
        options
            .new_color()
            .unwrap_or_else(|_| self.handle.new_color())
    }
}

/// Waits for `future` unless the end is wished first.
async fn unless<F: Future>(stop: &Stop, future: F) -> Option<F::Output> {
    let (mut stopped, mut future) = (stop.stopped(), pin!(future));
    poll_fn(|cx| {
        if Pin::new(&mut stopped).poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        future.as_mut().poll(cx).map(Some)
    })
    .await
}
