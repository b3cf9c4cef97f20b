//! The programs that axum comes with, written for Mely: `serve_http` is all that differs,
//! and for what calls Tokio by itself a Tokio runtime beside it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream as Client};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::body::Bytes;
use axum::error_handling::HandleErrorLayer;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::handler::Handler as _;
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{delete, get};
use axum::{BoxError, Router};
use futures::{SinkExt as _, StreamExt as _, stream};
use mely::{Color, Runtime};
use mely_async::{Serving, TcpListener, TcpStream, serve_http, sleep, timeout};
use tokio_util::context::TokioContext;
use tower::ServiceBuilder;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::trace::TraceLayer;

use crate::support::{WAIT, bounded, eventually, output_of, runtime};

fn serve(app: Router) -> (Runtime, Serving, SocketAddr) {
    let rt = runtime(2);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let serving = serve_http(listener, &rt, app);
    (rt, serving, address)
}

fn end(serving: Serving) {
    serving.stop();
    serving.wait().expect("no error");
}

/// What is answered to one request: its status, and its body.
fn ask(address: SocketAddr, line: &str, headers: &str, body: &str) -> (u16, String) {
    let mut client = Client::connect(address).expect("it listens");
    client.set_read_timeout(Some(WAIT)).expect("a limit");
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{headers}\
         content-length: {length}\r\n\r\n{body}"
    );
    // Who is refused may be so before all is read.
    let _ = client.write_all(request.as_bytes());
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("it is closed");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status");
    (status.parse().expect("a number"), body.to_owned())
}

/// What a browser makes of a page, if there is one.
fn shown(url: &str) -> Option<String> {
    let profile = tempfile::tempdir().expect("a folder");
    let profile = format!("--user-data-dir={}", profile.path().display());
    let alone = "--headless --no-sandbox --disable-gpu --no-first-run --no-proxy-server \
                 --disable-background-networking --disable-component-update --disable-sync \
                 --disable-dev-shm-usage --disable-quic --dump-dom";
    let args: Vec<_> = alone.split_whitespace().chain([&*profile, url]).collect();
    output_of("chromium", &args)
}

#[test]
fn hello_world() {
    let app = Router::new().route("/", get(async || Html("<h1>Hello, World!</h1>")));
    bounded(|| {
        let (_rt, serving, address) = serve(app);
        let (status, body) = ask(address, "GET /", "", "");
        assert_eq!((status, &*body), (200, "<h1>Hello, World!</h1>"));
        if let Some(page) = shown(&format!("http://{address}/")) {
            assert!(page.contains("<h1>Hello, World!</h1>"), "{page}");
        }
        end(serving);
    });
}

/// Layers that take Tokio's time find it while the requests of `app` are answered.
fn beside_tokio(app: Router, tokio: &tokio::runtime::Runtime) -> Router {
    let handle = tokio.handle().clone();
    let inside =
        move |request: Request, next: Next| TokioContext::new(next.run(request), handle.clone());
    app.layer(middleware::from_fn(inside))
}

fn tokio_runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(1).enable_time();
    builder.build().expect("a runtime")
}

type Db = Arc<RwLock<HashMap<String, Bytes>>>;

async fn kv_get(Path(key): Path<String>, State(db): State<Db>) -> Result<Bytes, StatusCode> {
    let db = db.read().unwrap_or_else(PoisonError::into_inner);
    db.get(&key).cloned().ok_or(StatusCode::NOT_FOUND)
}

async fn kv_set(Path(key): Path<String>, State(db): State<Db>, value: Bytes) {
    let mut db = db.write().unwrap_or_else(PoisonError::into_inner);
    db.insert(key, value);
}

async fn list_keys(State(db): State<Db>) -> String {
    let db = db.read().unwrap_or_else(PoisonError::into_inner);
    db.keys().cloned().collect::<Vec<_>>().join("\n")
}

async fn only_admins(request: Request, next: Next) -> Result<Response, StatusCode> {
    match request.headers().get(header::AUTHORIZATION) {
        Some(token) if token == "Bearer secret-token" => Ok(next.run(request).await),
        _ => Err(StatusCode::UNAUTHORIZED),
    }
}

fn admin_routes() -> Router<Db> {
    let delete_all = async |State(db): State<Db>| {
        db.write().unwrap_or_else(PoisonError::into_inner).clear();
    };
    Router::new()
        .route("/keys", delete(delete_all))
        .layer(middleware::from_fn(only_admins))
}

async fn handle_error(error: BoxError) -> impl IntoResponse {
    if error.is::<tower::timeout::error::Elapsed>() {
        return (StatusCode::REQUEST_TIMEOUT, "it took too long".to_owned());
    }
    (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
}

fn key_value_store() -> Router {
    let db = Db::default();
    let limited = (
        DefaultBodyLimit::disable(),
        RequestBodyLimitLayer::new(5000),
    );
    let set = kv_set.layer(limited).with_state(Arc::clone(&db));
    let layers = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(handle_error))
        .load_shed()
        .concurrency_limit(1024)
        .timeout(Duration::from_millis(50))
        .layer(TraceLayer::new_for_http());
    Router::new()
        .route(
            "/{key}",
            get(kv_get.layer(CompressionLayer::new())).post_service(set),
        )
        .route("/keys", get(list_keys))
        .route("/never", get(std::future::pending::<()>))
        .nest("/admin", admin_routes())
        .layer(layers)
        .with_state(db)
}

#[test]
fn key_value_store_with_all_its_layers() {
    bounded(|| {
        let tokio = tokio_runtime();
        let (_rt, serving, address) = serve(beside_tokio(key_value_store(), &tokio));
        let ask = |line: &str, body: &str| ask(address, line, "", body);
        assert_eq!(ask("GET /city", "").0, 404);
        assert_eq!(ask("POST /city", &"Lyon ".repeat(900)).0, 200);
        assert_eq!(ask("GET /city", ""), (200, "Lyon ".repeat(900)));
        assert_eq!(ask("POST /long", &"x".repeat(5001)).0, 413);
        assert_eq!(ask("GET /keys", ""), (200, "city".to_owned()));
        assert_eq!(ask("GET /never", ""), (408, "it took too long".to_owned()));
        let url = format!("http://{address}/city");
        let curl = ["-sS", "--compressed", "-w", " %{size_download}", &url];
        if let Some(told) = output_of("curl", &curl) {
            let (body, size) = told.rsplit_once(' ').expect("a size");
            assert_eq!(body, "Lyon ".repeat(900));
            assert!(size.parse::<usize>().expect("a number") < 900, "{size}");
        }
        assert_eq!(ask("DELETE /admin/keys", "").0, 401);
        let admin = "authorization: Bearer secret-token\r\n";
        assert_eq!(self::ask(address, "DELETE /admin/keys", admin, "").0, 200);
        assert_eq!(ask("GET /keys", ""), (200, String::new()));
        end(serving);
    });
}

/// Says something by itself, and answers what it hears.
async fn converse(mut socket: WebSocket) -> Result<(), axum::Error> {
    assert!(Color::current().is_some());
    for count in 1..=3 {
        let greeting = Message::text(format!("Hi {count} times!"));
        socket.send(greeting).await?;
        sleep(Duration::from_millis(1))
            .await
            .map_err(axum::Error::new)?;
    }
    let (mut sender, mut receiver) = socket.split();
    while let Some(Ok(Message::Text(text))) = receiver.next().await {
        sender.send(Message::text(text.to_uppercase())).await?;
    }
    Ok(())
}

/// axum hands the conversation to Tokio, from where it goes on under the connection's color.
async fn upgrade(ws: WebSocketUpgrade) -> Response {
    let color = Color::current().expect("a request is answered under one");
    ws.on_upgrade(async move |socket| color.spawn(converse(socket)).detach())
}

const PAGE: &str = "<body><script>
    const socket = new WebSocket(`ws://${location.host}/ws`);
    socket.onmessage = ({data}) => {
        document.body.append(`[${data}]`);
        if (data == 'Hi 3 times!') socket.send('and you');
        if (data == 'AND YOU') fetch('/heard');
    };
</script><script src=/after></script></body>";

#[test]
fn websockets() {
    let heard = Arc::new(AtomicBool::new(false));
    let (is_heard, hears) = (Arc::clone(&heard), Arc::clone(&heard));
    // The page is done once its conversation is.
    let after = async move || {
        while !is_heard.load(Acquire) {
            sleep(Duration::from_millis(1)).await.expect("a timer");
        }
    };
    let app = Router::new()
        .route("/", get(async || Html(PAGE)))
        .route("/ws", get(upgrade))
        .route("/heard", get(async move || hears.store(true, Release)))
        .route("/after", get(async move || after().await));
    bounded(move || {
        let tokio = tokio_runtime();
        let (rt, serving, address) = serve(beside_tokio(app, &tokio));
        let client = rt.new_color().spawn(async move {
            let stream = TcpStream::connect(address).await.expect("it listens");
            let url = format!("ws://{address}/ws");
            let connected = tokio_tungstenite::client_async(url, stream).await;
            let (mut socket, _) = connected.expect("it is upgraded");
            let mut heard = Vec::new();
            while heard.len() < 3 {
                let message = socket.next().await.expect("more comes").expect("no error");
                heard.push(message.into_text().expect("text").to_string());
            }
            socket.send("loud".into()).await.expect("room");
            let answer = socket.next().await.expect("more comes").expect("no error");
            heard.push(answer.into_text().expect("text").to_string());
            socket.close(None).await.expect("room");
            heard
        });
        let said = ["Hi 1 times!", "Hi 2 times!", "Hi 3 times!", "LOUD"];
        assert_eq!(client.wait().expect("no panic"), said);
        if let Some(page) = shown(&format!("http://{address}/")) {
            let conversation = "[Hi 1 times!][Hi 2 times!][Hi 3 times!][AND YOU]";
            assert!(page.contains(conversation), "{page}");
            assert!(heard.load(Acquire));
        }
        end(serving);
    });
}

#[test]
fn events_of_the_server_are_sent_one_by_one() {
    let app = Router::new().route(
        "/",
        get(async || {
            Sse::new(stream::iter(0..3).then(async |count| {
                sleep(Duration::from_millis(1)).await.expect("a timer");
                Ok::<_, Infallible>(Event::default().data(count.to_string()))
            }))
        }),
    );
    bounded(|| {
        let (_rt, serving, address) = serve(app);
        let (status, body) = ask(address, "GET /", "", "");
        assert_eq!(status, 200);
        for count in 0..3 {
            assert!(body.contains(&format!("data: {count}\n\n")), "{body}");
        }
        end(serving);
    });
}

#[test]
fn graceful_shutdown() {
    let (may_end, begun) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU32::new(0)),
    );
    let (ends, begins) = (Arc::clone(&may_end), Arc::clone(&begun));
    // What `slow` answers, and whoever is asked for `forever` does not.
    let answer = async move |Path(what): Path<String>| {
        begins.fetch_add(1, Release);
        while what == "forever" || !ends.load(Acquire) {
            sleep(Duration::from_millis(1)).await.expect("a timer");
        }
        "done"
    };
    let patient = async |request: Request, next: Next| {
        let answer = timeout(WAIT, next.run(request)).await;
        answer.map_err(|_late| StatusCode::REQUEST_TIMEOUT)
    };
    let app = Router::new()
        .route("/{what}", get(async move |what| answer(what).await))
        .layer(middleware::from_fn(patient));
    bounded(move || {
        let (rt, serving, address) = serve(app);
        let slow = std::thread::spawn(move || ask(address, "GET /slow", "", ""));
        let mut stuck = Client::connect(address).expect("it listens");
        let request = b"GET /forever HTTP/1.1\r\nhost: a\r\n\r\n";
        stuck.write_all(request).expect("it reads");
        eventually("both have begun", || begun.load(Acquire) == 2);
        serving.stop();
        may_end.store(true, Release);
        let (status, body) = slow.join().expect("no panic");
        assert_eq!((status, &*body), (200, "done"));
        eventually("it has left", || serving.connections() == 1);
        let late = serving.wait_timeout(Duration::from_millis(1));
        assert_eq!(late.expect_err("one stays").connections(), 1);
        rt.shutdown(Duration::from_secs(10)).expect("it ends");
        assert_eq!(stuck.read(&mut [0]).expect("the end"), 0);
        assert!(Client::connect(address).is_err(), "nobody listens");
    });
}
