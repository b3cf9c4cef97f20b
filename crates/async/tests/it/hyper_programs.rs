//! The programs that hyper comes with, written for Mely: what they run on is all that differs.

use std::convert::Infallible;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream as Client};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt as _;
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use hyper::rt::Executor as _;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use mely::Handle;
use mely_async::fs::File;
use mely_async::{ColorExecutor, ColorTimer, TcpListener, TcpStream, sleep, timeout};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::io::ReaderStream;

use crate::support::{WAIT, bounded, output_of, pattern, runtime};

type Body = BoxBody<Bytes, hyper::Error>;

fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into())
        .map_err(|never| match never {})
        .boxed()
}

fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed()
}

fn status<B>(status: StatusCode, body: B) -> Response<B> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn connect(address: SocketAddr) -> Client {
    let client = Client::connect(address).expect("it listens");
    client.set_read_timeout(Some(WAIT)).expect("a limit");
    client
}

/// What is answered to one request.
fn ask(address: SocketAddr, line: &str, body: &[u8]) -> (String, Vec<u8>) {
    let mut client = connect(address);
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nhost: here\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    client.write_all(head.as_bytes()).expect("it reads");
    // Who is refused may be so before all is read.
    let _ = client.write_all(body);
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("it is closed");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = answer.split_off(end.expect("a head") + 4);
    (String::from_utf8(answer).expect("a head is text"), body)
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from("Hello, World!"))))
}

#[test]
fn hello_over_both_versions() {
    async fn accepts(handle: Handle, listener: TcpListener, version: u8) -> io::Result<()> {
        loop {
            let (stream, _) = listener.accept().await?;
            let color = handle.new_color();
            if version == 1 {
                let mut server = http1::Builder::new();
                let server = server.timer(ColorTimer::new());
                let connection = server.serve_connection(stream, service_fn(hello));
                color.spawn(connection).detach();
            } else {
                let server = http2::Builder::new(ColorExecutor::new());
                let connection = server.serve_connection(stream, service_fn(hello));
                color.spawn(connection).detach();
            }
        }
    }
    bounded(|| {
        let rt = runtime(2);
        for (version, how) in [(1, "--http1.1"), (2, "--http2-prior-knowledge")] {
            let (listener, address) = listener();
            let accepts = accepts(Handle::clone(&rt), listener, version);
            let accepting = rt.new_color().spawn(accepts);
            if version == 1 {
                let (head, body) = ask(address, "GET /", b"");
                assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
                assert_eq!(body, b"Hello, World!");
            }
            let told = output_of("curl", &["-sS", how, &format!("http://{address}/")]);
            assert!(told.is_none_or(|told| told == "Hello, World!"));
            assert!(accepting.cancel());
        }
    });
}

async fn echo(request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => Response::new(full("POST to /echo")),
        (&Method::POST, "/echo") => Response::new(request.into_body().boxed()),
        (&Method::POST, "/echo/uppercase") => {
            let upper = request
                .into_body()
                .map_frame(|frame| match frame.into_data() {
                    Ok(data) => Frame::data(data.to_ascii_uppercase().into()),
                    Err(trailers) => trailers,
                });
            Response::new(upper.boxed())
        }
        (&Method::POST, "/echo/reversed") => {
            let most = request.body().size_hint().upper();
            if most.is_none_or(|most| most > 64 * 1024) {
                return Ok(status(StatusCode::PAYLOAD_TOO_LARGE, full("too big")));
            }
            let whole = request.collect().await?.to_bytes();
            let reversed: Vec<u8> = whole.iter().rev().copied().collect();
            Response::new(full(reversed))
        }
        _ => status(StatusCode::NOT_FOUND, empty()),
    })
}

#[test]
fn echo_streams_and_has_limits() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let serving = listener.serve(&rt, |stream, _| {
            http1::Builder::new().serve_connection(stream, service_fn(echo))
        });
        let body = |line: &str, body: &[u8]| ask(address, line, body).1;
        assert_eq!(body("GET /", b""), b"POST to /echo");
        assert!(body("POST /echo", &pattern(1 << 20)) == pattern(1 << 20));
        // Its length is not known before.
        let loud = body("POST /echo/uppercase", b"loud");
        assert_eq!(loud, b"4\r\nLOUD\r\n0\r\n\r\n");
        assert_eq!(body("POST /echo/reversed", b"drawer"), b"reward");
        let (head, _) = ask(address, "POST /echo/reversed", &[0; 64 * 1024 + 1]);
        assert!(head.starts_with("HTTP/1.1 413 "), "{head}");
        let (head, _) = ask(address, "GET /none", b"");
        assert!(head.starts_with("HTTP/1.1 404 "), "{head}");

        // Each piece comes back before the next one is sent.
        let mut client = connect(address);
        client
            .write_all(b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
            .expect("it reads");
        let mut heard = Vec::new();
        for piece in ["one", "more", "the last"] {
            let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
            client.write_all(chunk.as_bytes()).expect("it reads");
            while !heard.ends_with(chunk.as_bytes()) {
                let mut byte = [0];
                client.read_exact(&mut byte).expect("it answers");
                heard.extend(byte);
            }
        }
        serving.stop();
        drop(client);
        serving.wait().expect("no error");
    });
}

async fn send_file(path: PathBuf) -> Result<Response<UnsyncBoxBody<Bytes, io::Error>>, Infallible> {
    Ok(match File::open(path).await {
        Ok(file) => {
            let pieces = ReaderStream::new(file).map_ok(Frame::data);
            Response::new(StreamBody::new(pieces).boxed_unsync())
        }
        Err(_) => status(
            StatusCode::NOT_FOUND,
            full("Not Found").map_err(io::Error::other).boxed_unsync(),
        ),
    })
}

#[test]
fn a_file_is_sent_in_pieces() {
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("big"), pattern(3 << 20)).expect("room");
        let root = folder.path().to_owned();
        let serving = listener.serve(&rt, move |stream, _| {
            let root = root.clone();
            let sends = move |request: Request<Incoming>| {
                send_file(root.join(request.uri().path().trim_start_matches('/')))
            };
            http1::Builder::new().serve_connection(stream, service_fn(sends))
        });
        let (head, body) = ask(address, "GET /none", b"");
        assert!(head.starts_with("HTTP/1.1 404 ") && body == b"Not Found");
        let path = folder.path().join("fetched");
        let url = format!("http://{address}/big");
        let path_text = path.to_str().expect("a path of text");
        if output_of("curl", &["-sS", "-o", path_text, &url]).is_some() {
            assert!(std::fs::read(path).expect("a file") == pattern(3 << 20));
        }
        serving.stop();
        serving.wait().expect("no error");
    });
}

/// Serves connections that may become something else.
async fn serve_upgraded(stream: TcpStream, service: Upgrades) -> Result<(), hyper::Error> {
    let connection = http1::Builder::new().serve_connection(stream, service_fn(service));
    connection.with_upgrades().await
}

type Upgrades = fn(Request<Incoming>) -> futures::future::BoxFuture<'static, Answer>;
type Answer = Result<Response<Body>, Infallible>;

/// Speaks another protocol, once the answer has been sent.
fn go_on<F: Future<Output = io::Result<()>> + Send + 'static>(
    request: Request<Incoming>,
    speak: impl FnOnce(TokioIo<Upgraded>) -> F + Send + 'static,
) {
    ColorExecutor::new().execute(async {
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            let _ = speak(TokioIo::new(upgraded)).await;
        }
    });
}

#[test]
fn a_connection_is_upgraded() {
    fn upgrade(request: Request<Incoming>) -> futures::future::BoxFuture<'static, Answer> {
        let is_asked = request.headers().contains_key(header::UPGRADE);
        let mut response = status(StatusCode::BAD_REQUEST, empty());
        if is_asked {
            go_on(request, async |mut upgraded| {
                let mut question = [0; 7];
                upgraded.read_exact(&mut question).await?;
                assert_eq!(&question, b"foo=bar");
                upgraded.write_all(b"bar=foo").await
            });
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            let name = header::HeaderValue::from_static("foobar");
            response.headers_mut().insert(header::UPGRADE, name);
        }
        Box::pin(async { Ok(response) })
    }
    async fn client(address: SocketAddr) -> Vec<u8> {
        let stream = TcpStream::connect(address).await.expect("it listens");
        let handshake = hyper::client::conn::http1::handshake(stream);
        let (mut sender, connection) = handshake.await.expect("a peer");
        ColorExecutor::new().execute(async {
            connection.with_upgrades().await.expect("no error");
        });
        let request = Request::get("/").header(header::UPGRADE, "foobar");
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        let response = sender.send_request(request).await.expect("a response");
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        let upgraded = hyper::upgrade::on(response).await.expect("it is upgraded");
        let (mut upgraded, mut answer) = (TokioIo::new(upgraded), Vec::new());
        upgraded.write_all(b"foo=bar").await.expect("room");
        upgraded.read_to_end(&mut answer).await.expect("the end");
        answer
    }
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let serving = listener.serve(&rt, |stream, _| serve_upgraded(stream, upgrade));
        let asked = rt.new_color().spawn(client(address));
        assert_eq!(asked.wait().expect("it ends"), b"bar=foo");
        let (head, _) = ask(address, "GET /", b"");
        assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
        serving.stop();
        serving.wait().expect("no error");
    });
}

/// Sends a request on to another server.
async fn forward(address: SocketAddr, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let stream = TcpStream::connect(address).await?;
    let handshake = hyper::client::conn::http1::handshake(stream);
    let (mut sender, connection) = handshake.await.map_err(io::Error::other)?;
    ColorExecutor::new().execute(connection);
    let response = sender
        .send_request(request)
        .await
        .map_err(io::Error::other)?;
    Ok(response.map(|body| body.boxed()))
}

#[test]
fn a_proxy_forwards_requests_and_tunnels() {
    fn proxy(request: Request<Incoming>) -> futures::future::BoxFuture<'static, Answer> {
        Box::pin(async {
            let host = request.uri().authority().map(ToString::to_string);
            let target = host.and_then(|host| host.parse::<SocketAddr>().ok());
            let Some(target) = target else {
                return Ok(status(StatusCode::BAD_REQUEST, full("which server?")));
            };
            if request.method() == Method::CONNECT {
                go_on(request, async move |mut upgraded| {
                    let mut server = TcpStream::connect(target).await?;
                    tokio::io::copy_bidirectional(&mut upgraded, &mut server).await?;
                    Ok(())
                });
                return Ok(Response::new(empty()));
            }
            let answer = forward(target, request).await;
            Ok(answer.unwrap_or_else(|_| status(StatusCode::BAD_GATEWAY, empty())))
        })
    }
    bounded(|| {
        let rt = runtime(2);
        let (server, server_address) = listener();
        let (proxied, proxy_address) = listener();
        let server = server.serve(&rt, |stream, _| {
            http1::Builder::new().serve_connection(stream, service_fn(echo))
        });
        let proxied = proxied.serve(&rt, |stream, _| serve_upgraded(stream, proxy));
        let forwarded = format!("GET http://{server_address}/");
        assert_eq!(ask(proxy_address, &forwarded, b"").1, b"POST to /echo");
        let nobody = ask(proxy_address, "GET http://127.0.0.1:1/", b"").0;
        assert!(nobody.starts_with("HTTP/1.1 502 "), "{nobody}");
        let (url, by) = (
            format!("http://{server_address}/echo/uppercase"),
            format!("http://{proxy_address}"),
        );
        for how in ["--proxytunnel", "--silent"] {
            let curl = [
                "-sS",
                "--noproxy",
                "",
                how,
                "-x",
                &by,
                "-d",
                "by proxy",
                &url,
            ];
            let told = output_of("curl", &curl);
            assert!(told.is_none_or(|told| told == "BY PROXY"), "{how}");
        }
        for serving in [server, proxied] {
            serving.stop();
            serving.wait().expect("no error");
        }
    });
}

#[test]
fn requests_of_all_connections_share_what_the_service_has() {
    bounded(|| {
        let rt = runtime(2);
        // As `state`, on two listeners, as `multi_server`.
        let (counter, listeners) = (Arc::new(AtomicUsize::new(0)), [listener(), listener()]);
        let addresses = [listeners[0].1, listeners[1].1];
        let servers = listeners.map(|(listener, _)| {
            let counter = Arc::clone(&counter);
            listener.serve(&rt, move |stream, _| {
                let counter = Arc::clone(&counter);
                let service = service_fn(move |_: Request<Incoming>| {
                    let count = counter.fetch_add(1, Relaxed);
                    async move { Ok::<_, Infallible>(Response::new(full(format!("#{count}")))) }
                });
                http1::Builder::new().serve_connection(stream, service)
            })
        });
        for count in 0..10 {
            let body = ask(addresses[count % 2], "GET /", b"").1;
            assert_eq!(body, format!("#{count}").as_bytes());
        }
        for serving in servers {
            serving.stop();
            serving.wait().expect("no error");
        }
    });
}

#[test]
fn a_connection_that_is_told_to_end_finishes_its_request() {
    async fn slow(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, mely_async::Error> {
        sleep(Duration::from_millis(100)).await?;
        Ok(Response::new(Full::new(Bytes::from("at last"))))
    }
    bounded(|| {
        let rt = runtime(2);
        let (listener, address) = listener();
        let serving = listener.serve(&rt, |stream, _| async {
            let server = http1::Builder::new();
            let mut connection = pin!(server.serve_connection(stream, service_fn(slow)));
            for patience in [Duration::from_millis(10), WAIT] {
                match timeout(patience, connection.as_mut()).await {
                    Ok(_ended) => break,
                    Err(_late) => connection.as_mut().graceful_shutdown(),
                }
            }
        });
        let mut client = connect(address);
        // It does not ask to be closed.
        let request = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        client.write_all(request).expect("it reads");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("it is closed");
        assert!(answer.ends_with("\r\n\r\nat last"), "{answer}");
        serving.stop();
        serving.wait().expect("no error");
    });
}
