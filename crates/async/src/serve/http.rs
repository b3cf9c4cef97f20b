//! HTTP/1 and HTTP/2 for tower services.

use std::error::Error;
use std::pin::pin;

use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use mely::Handle;
use tower_service::Service;

use super::{ServeOptions, Serving, unless};
use crate::listener::{Listener, ListenerSocket};
use crate::stream::Stream;
use crate::traits::hyper_rt::{ColorExecutor, ColorTimer};

/// Serves HTTP/1 and HTTP/2 by a tower service, such as axum's `Router`: each connection
/// has a fresh color, its own clone of the service, and hyper's time limits.
///
/// `axum::serve` itself spawns its connections into Tokio's runtime; this is its like for
/// colors. [`Serving::stop`] lets each connection finish the requests that it has.
///
/// ```
/// use axum::{Router, routing::get};
/// use mely_async::{TcpListener, serve_http};
/// # use std::io::{Read, Write};
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let hits = rt.colored(0_u64);
/// let router = Router::new().route("/", get(move || {
///     let hits = hits.clone();
///     async move {
///         match hits.call(|hits, _cx| { *hits += 1; *hits }).await {
///             Ok(hits) => format!("{hits} hits"),
///             Err(error) => error.to_string(),
///         }
///     }
/// }));
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// # let address = listener.local_addr()?;
/// let serving = serve_http(listener, &rt, router);
/// # let mut client = std::net::TcpStream::connect(address)?;
/// # client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")?;
/// # let mut answer = String::new();
/// # client.read_to_string(&mut answer)?;
/// # assert!(answer.ends_with("\r\n\r\n1 hits"), "{answer}");
/// serving.stop();
/// serving.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn serve_http<L, S, B>(listener: Listener<L>, handle: &Handle, service: S) -> Serving
where
    L: ListenerSocket,
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    serve_http_with(listener, handle, ServeOptions::new(), service)
}

/// The same, by `options`.
pub fn serve_http_with<L, S, B>(
    listener: Listener<L>,
    handle: &Handle,
    options: ServeOptions,
    service: S,
) -> Serving
where
    L: ListenerSocket,
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    serve_http_by(listener, handle, options, move |_stream, _peer| {
        service.clone()
    })
}

/// The same, with a service of its own for each connection, which `make` makes of the
/// stream and of the peer's address.
///
/// For axum's `ConnectInfo`, and whatever else a service is to know of its connection:
///
/// ```
/// use axum::{Extension, Router, extract::ConnectInfo, routing::get};
/// use mely_async::{ServeOptions, TcpListener, serve_http_by};
/// # use std::io::{Read, Write};
/// use std::net::SocketAddr;
/// async fn who(ConnectInfo(peer): ConnectInfo<SocketAddr>) -> String {
///     peer.to_string()
/// }
///
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let router = Router::new().route("/", get(who));
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// # let address = listener.local_addr()?;
/// let serving = serve_http_by(listener, &rt, ServeOptions::new(), move |_stream, peer| {
///     router.clone().layer(Extension(ConnectInfo(*peer)))
/// });
/// # let mut client = std::net::TcpStream::connect(address)?;
/// # client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")?;
/// # let mut answer = String::new();
/// # client.read_to_string(&mut answer)?;
/// # assert!(answer.ends_with(&format!("\r\n\r\n{}", client.local_addr()?)), "{answer}");
/// serving.stop();
/// serving.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn serve_http_by<L, M, S, B>(
    listener: Listener<L>,
    handle: &Handle,
    options: ServeOptions,
    mut make: M,
) -> Serving
where
    L: ListenerSocket,
    M: FnMut(&Stream<L::Stream>, &L::Address) -> S + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let stop = options.stop.clone();
    listener.serve_with(handle, options, move |stream, peer| {
        let (timer, stop) = (ColorTimer::of_connection(), stop.clone());
        let mut builder = Builder::new(ColorExecutor::new());
        builder.http1().timer(timer.clone());
        builder.http2().timer(timer);
        let service = TowerToHyperService::new(make(&stream, &peer));
        async move {
            let serving = builder.serve_connection_with_upgrades(stream, service);
            let mut serving = pin!(serving);
            if unless(&stop, serving.as_mut()).await.is_none() {
                serving.as_mut().graceful_shutdown();
                // A connection that fails is its peer's affair.
                let _ = serving.await;
            }
        }
    })
}
