//! Tokio: a task for each connection, and a mutex around the counter.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;

use super::super::tokio::start_with_drivers;
use super::{Conditions, Service, counted, plain};
use crate::measure::Failure;

type Counter = Arc<Mutex<u64>>;

pub(super) fn serve<T>(
    conditions: Conditions,
    service: Service,
    client: impl FnOnce(SocketAddr) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = start_with_drivers(conditions)?;
    let handle = runtime.tasks.handle.clone();
    let _inside = handle.enter();
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let listener = TcpListener::from_std(listener)?;
    let counter = Counter::default();
    drop(match service {
        Service::Plain => {
            let answer = async |_| Ok::<_, Infallible>(plain());
            handle.spawn(accept(listener, answer))
        }
        Service::Counted => {
            let answer = move |_| {
                let count = next(&counter);
                async move { Ok::<_, Infallible>(counted(count)) }
            };
            handle.spawn(accept(listener, answer))
        }
        Service::Axum => {
            let router = Router::new().route("/", get(hit)).with_state(counter);
            // It never ends by itself: it goes with the runtime.
            handle.spawn(async { drop(axum::serve(listener, router).await) })
        }
    });
    client(address)
}

/// Serves each connection, as the examples of hyper do.
async fn accept<F, A>(listener: TcpListener, answer: F)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder.http2().timer(TokioTimer::new());
    let graceful = GracefulShutdown::new();
    while let Ok((stream, _peer)) = listener.accept().await {
        let service = service_fn(answer.clone());
        let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let serving = graceful.watch(serving.into_owned());
        // A connection that fails is its peer's affair.
        drop(tokio::spawn(async move { drop(serving.await) }));
    }
}

fn next(counter: &Counter) -> u64 {
    let mut count = counter.lock().unwrap_or_else(PoisonError::into_inner);
    *count += 1;
    *count
}

async fn hit(State(counter): State<Counter>) -> String {
    next(&counter).to_string()
}
