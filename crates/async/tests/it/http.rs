//! hyper, tower and axum.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response, StatusCode, body::Incoming};
use mely::{Color, Colored};
use mely_async::{
    ColorExecutor, ColorTimer, ServeOptions, Serving, TcpListener, TcpStream, serve_http,
    serve_http_with, sleep,
};
use tower::{ServiceBuilder, service_fn};

use crate::support::{bounded, pattern, runtime};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A client's connection.
enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Sender {
    /// Connects, under the color that calls.
    async fn connect(version: Version, address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("it listens");
        let color = Color::current().expect("a color");
        match version {
            Version::One => {
                let (sender, connection) = http1::handshake(stream).await.expect("a peer");
                drop(color.spawn(connection));
                Self::One(sender)
            }
            Version::Two => {
                let (sender, connection) = http2::Builder::new(ColorExecutor::new())
                    .timer(ColorTimer::new())
                    .keep_alive_interval(Duration::from_secs(5))
                    .handshake(stream)
                    .await
                    .expect("a peer");
                drop(color.spawn(connection));
                Self::Two(sender)
            }
        }
    }

    async fn ask(&mut self, path: &str, body: Vec<u8>) -> (StatusCode, Bytes) {
        let request = Request::post(format!("http://localhost{path}"))
            .header("host", "localhost")
            .body(Full::from(body))
            .expect("a request");
        let response = match self {
            Self::One(sender) => {
                sender.ready().await.expect("the connection is open");
                sender.send_request(request).await
            }
            Self::Two(sender) => {
                sender.ready().await.expect("the connection is open");
                sender.send_request(request).await
            }
        };
        let response = response.expect("a response");
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body");
        (status, body.to_bytes())
    }
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn end(serving: Serving) {
    serving.stop();
    serving.wait().expect("no error");
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?;
    Ok(Response::new(Full::new(body.to_bytes())))
}

fn bodies_come_back(version: Version) {
    bounded(move || {
        let rt = runtime(2);
        let (listener, address) = listener();
        let serving = serve_http(listener, &rt, service_fn(echo));
        let clients: Vec<_> = (0..8)
            .map(|_| {
                rt.new_color().spawn(async move {
                    let mut sender = Sender::connect(version, address).await;
                    for length in [0, 1, 1000, 100_000, 1 << 20] {
                        let sent = pattern(length);
                        let (status, body) = sender.ask("/", sent.clone()).await;
                        assert_eq!(status, StatusCode::OK);
                        assert!(body == sent, "{version:?}: {length} bytes come back");
                    }
                })
            })
            .collect();
        for client in clients {
            client.wait().expect("it ends");
        }
        end(serving);
    });
}

#[test]
fn hyper_serves_http_1() {
    bodies_come_back(Version::One);
}

#[test]
fn hyper_serves_http_2() {
    bodies_come_back(Version::Two);
}

#[test]
fn streams_of_http_2_run_under_the_color_of_their_connection() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let tells = service_fn(|_: Request<Incoming>| async {
            sleep(Duration::from_millis(1)).await.expect("a timer");
            let color = Color::current().map_or(0, |color| color.id());
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(color.to_string())))
        });
        let serving = serve_http(listener, &rt, tells);
        let asked = rt.new_color().spawn(async move {
            let Sender::Two(sender) = Sender::connect(Version::Two, address).await else {
                unreachable!("it is asked for");
            };
            let asks = (0..20).map(|_| {
                let mut sender = Sender::Two(sender.clone());
                async move { sender.ask("/", Vec::new()).await.1 }
            });
            futures::future::join_all(asks).await
        });
        let colors = asked.wait().expect("it ends");
        assert_ne!(colors[0], "0");
        assert!(colors.iter().all(|color| *color == colors[0]), "{colors:?}");
        end(serving);
    });
}

#[test]
fn axum_serves_state_that_a_color_owns() {
    async fn add(State(sum): State<Colored<u64>>, Path(amount): Path<u64>) -> String {
        let sum = sum.call(move |sum, _| {
            *sum += amount;
            *sum
        });
        sum.await
            .map_or_else(|error| error.to_string(), |sum| sum.to_string())
    }
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let sum = rt.colored(0_u64);
        let router = Router::new()
            .route("/add/{amount}", post(add))
            .route("/", get(|| async { "got" }))
            .with_state(sum.clone());
        let serving = serve_http(listener, &rt, router);
        let clients: Vec<_> = [Version::One, Version::Two, Version::One, Version::Two]
            .map(|version| {
                rt.new_color().spawn(async move {
                    let mut sender = Sender::connect(version, address).await;
                    for _ in 0..50 {
                        let (status, _) = sender.ask("/add/3", Vec::new()).await;
                        assert_eq!(status, StatusCode::OK);
                    }
                    let (status, _) = sender.ask("/", Vec::new()).await;
                    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
                    sender.ask("/none", Vec::new()).await.0
                })
            })
            .into();
        for client in clients {
            assert_eq!(client.wait().expect("it ends"), StatusCode::NOT_FOUND);
        }
        assert_eq!(sum.blocking_with(|sum| *sum), 4 * 50 * 3);
        end(serving);
    });
}

#[test]
fn towers_layers_are_served() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let service = ServiceBuilder::new()
            .map_request(|mut request: Request<Incoming>| {
                request
                    .headers_mut()
                    .insert("x-seen", "yes".parse().expect("a value"));
                request
            })
            .concurrency_limit(2)
            .service_fn(|request: Request<Incoming>| async move {
                let seen = request.headers().contains_key("x-seen");
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(seen.to_string())))
            });
        let serving = serve_http_with(listener, &rt, ServeOptions::new(), service);
        let asked = rt.new_color().spawn(async move {
            let mut sender = Sender::connect(Version::One, address).await;
            sender.ask("/", Vec::new()).await.1
        });
        assert_eq!(asked.wait().expect("it ends"), "true");
        end(serving);
    });
}

#[test]
fn a_server_that_stops_finishes_the_request_that_it_has() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let (go, may_go) = futures::channel::oneshot::channel::<()>();
        let may_go = std::sync::Arc::new(std::sync::Mutex::new(Some(may_go)));
        let slow = service_fn(move |_: Request<Incoming>| {
            let (begun, may_go) = (begun.clone(), may_go.lock().expect("no panic").take());
            async move {
                begun.send(()).expect("the test waits");
                let _ = may_go.expect("one request").await;
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("done")))
            }
        });
        let serving = serve_http(listener, &rt, slow);
        let asked = rt.new_color().spawn(async move {
            let mut sender = Sender::connect(Version::One, address).await;
            sender.ask("/", Vec::new()).await.1
        });
        has_begun.recv().expect("the request comes");
        serving.stop();
        go.send(()).expect("it waits");
        assert_eq!(asked.wait().expect("it ends"), "done");
        // The client would keep the connection: it is the server that ends it.
        serving.wait().expect("no error");
    });
}
