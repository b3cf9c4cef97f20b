//! Connections for hyper-util's pooled client.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower_service::Service;

use crate::stream::{Stream, StreamSocket, TcpStream};

impl<S: StreamSocket> Connection for Stream<S> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// Connects the pooled client of `hyper-util` to servers of `http://`, under the color that
/// asks.
///
/// ```
/// use http_body_util::{BodyExt, Empty};
/// use hyper_util::client::legacy::Client;
/// use mely_async::{ColorExecutor, HttpConnector};
/// # use axum::{Router, routing::get};
/// # use mely_async::{TcpListener, serve_http};
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// # let listener = TcpListener::bind("127.0.0.1:0")?;
/// # let server = listener.local_addr()?;
/// # let router = Router::new().route("/", get(|| async { "hello" }));
/// # let serving = serve_http(listener, &rt, router);
/// let client = Client::builder(ColorExecutor::of(rt.new_color())).build(HttpConnector::new());
/// let client: Client<_, Empty<&[u8]>> = client;
/// let uri = format!("http://{server}/").parse()?;
/// let body = rt.block_on(async move {
///     let response = client.get(uri).await.map_err(|error| error.to_string())?;
///     let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
///     Ok::<_, String>(body.to_bytes())
/// })?;
/// assert_eq!(&body[..], b"hello");
/// # serving.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`io::ErrorKind::Unsupported`] for other schemes, [`io::ErrorKind::InvalidInput`] without a
/// host, and those of [`TcpStream::connect_host`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HttpConnector {}

impl HttpConnector {
    /// A connector for port 80, where the URI has none.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Service<Uri> for HttpConnector {
    type Response = TcpStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let host = host_and_port(&uri);
        Box::pin(async move {
            let stream = TcpStream::connect_host(host?).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }
}

fn host_and_port(uri: &Uri) -> io::Result<String> {
    if let Some(other) = uri.scheme_str().filter(|&scheme| scheme != "http") {
        let message = format!("no way to connect by {other}: this connector has http alone");
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    let Some(host) = uri.host() else {
        let message = format!("no host in {uri}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    };
    Ok(format!("{host}:{}", uri.port_u16().unwrap_or(80)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_with_a_host_is_connected() {
        let reached = |uri: &'static str| {
            let found = host_and_port(&Uri::from_static(uri));
            found.map_err(|error| error.kind())
        };
        assert_eq!(reached("http://a.b/c"), Ok("a.b:80".to_owned()));
        assert_eq!(reached("http://[::1]:7/"), Ok("[::1]:7".to_owned()));
        assert_eq!(reached("https://a/"), Err(io::ErrorKind::Unsupported));
        assert_eq!(reached("/c"), Err(io::ErrorKind::InvalidInput));
    }
}
