//! Servers: a listener whose connections have a color each.

mod gate;
#[cfg(feature = "http")]
mod http;
mod serving;
mod stop;

use std::any::Any;
use std::future::poll_fn;
use std::io;
use std::ops;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;

use mely::{Color, Colored, Handle, TaskState};

use self::gate::Pass;
#[cfg(feature = "http")]
pub use self::http::{serve_http, serve_http_by, serve_http_with};
use self::serving::Counts;
pub use self::serving::Serving;
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

impl<L: ListenerSocket> Listener<L> {
    /// Gives each connection a fresh color, and runs there the future that `connection`
    /// makes of it: connections run in parallel, each of them serially.
    ///
    /// What the future gives is dropped: a connection that fails is its peer's affair, unless
    /// the future sees to it. A panic loses that connection only, be it of the future or of
    /// `connection`, and counts as one of an event.
    ///
    /// The server goes on through what passes, as [`incoming`](Self::incoming) does, and ends
    /// by [`Serving::stop`]. Colors begin on each worker in turn.
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
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        self.serve_with(handle, ServeOptions::new(), connection)
    }

    /// The same, by `options`.
    pub fn serve_with<F, Fut>(
        self,
        handle: &Handle,
        options: ServeOptions,
        mut connection: F,
    ) -> Serving
    where
        F: FnMut(Stream<L::Stream>, L::Address) -> Fut + Send + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let mut colors = Colors::new(handle);
        self.begin(handle, options, move |stream, peer, pass| {
            let serving = connection(stream, peer);
            colors.next().spawn(inside(serving, pass)).detach();
        })
    }

    /// Runs each connection under a color that the program chooses, and lends it the state of
    /// that: for connections that share a room, a shard or a session, and no lock.
    ///
    /// `color` chooses as soon as a connection is accepted; `connection` makes its future, to
    /// which the [`TaskState`] lends the state between two awaits. Connections of one color run
    /// one at a time, and a connection whose color is [stopped](Colored::stop), or poisoned by
    /// a panic, is closed. A panic of `color` or `connection` itself poisons no color. Where what
    /// a connection says first decides, serve it under a color of its own, and move the stream
    /// into a task of the other one ([`Colored::spawn_with`]).
    ///
    /// ```
    /// use mely::TaskState;
    /// use mely_async::{TcpListener, TcpStream};
    /// # use std::io::Read;
    ///
    /// async fn count(mut visits: TaskState<u64>, mut stream: TcpStream) -> std::io::Result<()> {
    ///     let number = visits.with(|visits| { *visits += 1; *visits });
    ///     stream.write_all(format!("visit {number}").as_bytes()).await
    /// }
    ///
    /// let rt = mely::Runtime::builder().workers(2).build()?;
    /// let visits = rt.colored(0);
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// # let address = listener.local_addr()?;
    /// let serving = listener.serve_under(
    ///     &rt,
    ///     move |_stream, _peer| visits.clone(),
    ///     |visits, stream, _peer| count(visits, stream),
    /// );
    /// # for visit in ["visit 1", "visit 2"] {
    /// #     let mut told = String::new();
    /// #     std::net::TcpStream::connect(address)?.read_to_string(&mut told)?;
    /// #     assert_eq!(told, visit);
    /// # }
    /// serving.stop();
    /// serving.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn serve_under<T, C, F, Fut>(self, handle: &Handle, color: C, connection: F) -> Serving
    where
        T: Send + 'static,
        C: FnMut(&Stream<L::Stream>, &L::Address) -> Colored<T> + Send + 'static,
        F: FnMut(TaskState<T>, Stream<L::Stream>, L::Address) -> Fut + Send + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        self.serve_under_with(handle, ServeOptions::new(), color, connection)
    }

    /// The same, by `options`.
    pub fn serve_under_with<T, C, F, Fut>(
        self,
        handle: &Handle,
        options: ServeOptions,
        mut color: C,
        mut connection: F,
    ) -> Serving
    where
        T: Send + 'static,
        C: FnMut(&Stream<L::Stream>, &L::Address) -> Colored<T> + Send + 'static,
        F: FnMut(TaskState<T>, Stream<L::Stream>, L::Address) -> Fut + Send + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        self.begin(handle, options, move |stream, peer, pass| {
            let color = color(&stream, &peer);
            let make = |state| inside(connection(state, stream, peer), pass);
            color.spawn_with(make).detach();
        })
    }

    /// Accepts connections, and has each begun by `begin`.
    fn begin<B>(self, handle: &Handle, options: ServeOptions, begin: B) -> Serving
    where
        B: FnMut(Stream<L::Stream>, L::Address, Pass) + Send + 'static,
    {
        let counts = Arc::new(Counts::default());
        let stop = options.stop.clone();
        let server = Server {
            handle: handle.clone(),
            counts: Arc::clone(&counts),
            options,
            begin,
        };
        let ended = handle.new_color().spawn(server.run(self));
        Serving {
            ended,
            counts,
            stop,
        }
    }
}

/// A connection that nothing began but a panic.
async fn panics_with(panic: Box<dyn Any + Send>) {
    resume_unwind(panic)
}

/// A connection that counts as long as it is there.
async fn inside(serving: impl Future, pass: Pass) {
    // Dropped last.
    let _pass = pass;
    // It ends by itself, and nobody waits for what comes of it.
    drop(serving.await);
}

struct Server<B> {
    handle: Handle,
    counts: Arc<Counts>,
    options: ServeOptions,
    begin: B,
}

impl<B> Server<B> {
    async fn run<L>(mut self, listener: Listener<L>) -> io::Result<()>
    where
        L: ListenerSocket,
        B: FnMut(Stream<L::Stream>, L::Address, Pass),
    {
        let accepted = self.accept(&listener).await;
        drop(listener);
        self.counts.inside.fewer_than(1).await;
        accepted
    }

    /// Accepts connections until the end is wished.
    async fn accept<L>(&mut self, listener: &Listener<L>) -> io::Result<()>
    where
        L: ListenerSocket,
        B: FnMut(Stream<L::Stream>, L::Address, Pass),
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
            self.begin(stream, peer);
        }
    }

    /// Begins a connection. Where the program panics instead it is one that panics, under a
    /// color of its own, whatever color was chosen.
    fn begin<S, A>(&mut self, stream: S, peer: A)
    where
        B: FnMut(S, A, Pass),
    {
        let pass = self.counts.inside.enter();
        let begun = catch_unwind(AssertUnwindSafe(|| (self.begin)(stream, peer, pass)));
        if let Err(panic) = begun {
            self.handle.new_color().spawn(panics_with(panic)).detach();
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
