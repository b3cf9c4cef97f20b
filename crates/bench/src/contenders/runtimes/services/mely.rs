//! Mely: a color for each connection, and one for the counter.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use hyper::Request;
use hyper::body::Incoming;
use mely::{Colored, Handle, Policy};
use mely_async::{Serving, TcpListener, serve_http};
use tower::service_fn;

use super::super::Mely;
use super::{Conditions, Service, counted, plain};
use crate::measure::Failure;

/// What is left at the end needs milliseconds.
const END_DEADLINE: Duration = Duration::from_secs(30);

pub(super) fn serve<T>(
    policy: Policy,
    conditions: Conditions,
    service: Service,
    client: impl FnOnce(SocketAddr) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Mely(runtime) = Mely::start(policy, conditions)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let serving = start(&runtime, listener, service);
    let done = client(address);
    serving.stop();
    serving.wait()?;
    runtime.shutdown(END_DEADLINE)?;
    done
}

fn start(handle: &Handle, listener: TcpListener, service: Service) -> Serving {
    let counter = handle.colored(0);
    match service {
        Service::Plain => {
            let answer = async |_: Request<Incoming>| Ok::<_, Infallible>(plain());
            serve_http(listener, handle, service_fn(answer))
        }
        Service::Counted => {
            let answer = move |_: Request<Incoming>| {
                let count = counter.call(next);
                async { count.await.map(counted) }
            };
            serve_http(listener, handle, service_fn(answer))
        }
        Service::Axum => {
            let router = Router::new().route("/", get(hit)).with_state(counter);
            serve_http(listener, handle, router)
        }
    }
}

fn next(count: &mut u64, _cx: &mut mely::Context<'_, u64>) -> u64 {
    *count += 1;
    *count
}

async fn hit(State(counter): State<Colored<u64>>) -> Result<String, StatusCode> {
    let count = counter.call(next).await;
    let count = count.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(count.to_string())
}
