//! The text server.

use crate::harness::{Client, PATIENCE};
use mely::Runtime;
use mely_http::server::TextServer;
use mely_http::{Limits, Protocol};
use std::net::SocketAddr;
use std::sync::Arc;

fn start(runtime: &Runtime) -> (TextServer, SocketAddr) {
    let protocol = Arc::new(Protocol::new(Limits::default()));
    let address = "127.0.0.1:0".parse().unwrap();
    let handle = (*runtime).clone();
    let text = move || handle.metrics().to_prometheus();
    let server = TextServer::start(runtime, &address, "/metrics", protocol, text).unwrap();
    let url = server.url().to_owned();
    let address = url
        .strip_prefix("http://")
        .and_then(|rest| rest.strip_suffix("/metrics"))
        .and_then(|address| address.parse().ok());
    (server, address.unwrap())
}

#[test]
fn the_text_is_made_for_each_request() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let (server, address) = start(&runtime);
    let mut client = Client::connect(address);
    let response = client.get("/metrics?x=1");
    assert_eq!(response.status, 200);
    assert!(
        response
            .field("Content-Type")
            .unwrap()
            .starts_with("text/plain")
    );
    let text = String::from_utf8(response.body).unwrap();
    assert!(text.contains("mely_events_run_total"));
    assert!(client.is_closed());
    assert_eq!(Client::connect(address).get("/other").status, 404);
    let mut wrong = Client::connect(address);
    wrong.send(b"POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(wrong.response().status, 405);
    let mut nonsense = Client::connect(address);
    nonsense.send(b"nonsense\r\n\r\n");
    assert_eq!(nonsense.response().status, 400);
    drop(server);
    runtime.shutdown(PATIENCE).unwrap();
}

#[test]
fn silent_visitors_do_not_keep_others_out() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (_server, address) = start(&runtime);
    // As many as there may be, less the one that asks.
    let silent: Vec<_> = (0..31).map(|_| Client::connect(address)).collect();
    assert_eq!(Client::connect(address).get("/metrics").status, 200);
    // More are turned away without a word.
    let (last, mut one_more) = (Client::connect(address), Client::connect(address));
    assert_eq!(one_more.wait_for_end(), 0);
    drop(last);
    drop(silent);
}
