//! HTTP services by hyper and axum, on runtimes that they run on.
//!
//! Both runtimes serve by hyper's builder for HTTP/1 and HTTP/2, with its time limits and
//! a way to stop in order, and with the socket options of the system. Axum is served as
//! its users do: by `serve_http` on Mely, by `axum::serve`, which sets no time limits, on
//! Tokio.

mod mely;
mod tokio;

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;

use super::Conditions;
use crate::contenders::implementation::Implementation;
use crate::measure::Failure;

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The same text at once.
    Plain,
    /// The next value of a counter that all connections share: a color's on Mely, a
    /// mutex's on Tokio.
    Counted,
    /// The same, by a handler of axum whose state the counter is.
    Axum,
}

const TEXT: &[u8] = b"Hello, world!";

fn plain() -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from_static(TEXT)))
}

fn counted(count: u64) -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from(count.to_string())))
}

/// Whether an implementation can serve.
pub(crate) fn has_services(implementation: Implementation) -> bool {
    matches!(
        implementation,
        Implementation::Mely(_) | Implementation::Tokio(_)
    )
}

/// Serves on a port of this machine while `client` uses it. The client has closed its
/// connections when it returns. `None` if the implementation cannot serve.
pub(crate) fn serve<T>(
    implementation: Implementation,
    conditions: Conditions,
    service: Service,
    client: impl FnOnce(SocketAddr) -> Result<T, Failure>,
) -> Option<Result<T, Failure>> {
    match implementation {
        Implementation::Mely(policy) => Some(mely::serve(policy, conditions, service, client)),
        Implementation::Tokio(_) => Some(tokio::serve(conditions, service, client)),
        _ => None,
    }
}
