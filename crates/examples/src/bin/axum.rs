//! A web service with axum: its state belongs to colors, and is asked by messages instead of
//! under a lock.
//!
//! `curl -d ada http://127.0.0.1:7000/sessions` gives a session, `/sessions/1` tells of it,
//! and `/` counts. HTTP/2 without TLS: `curl --http2-prior-knowledge`.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use mely::{CallError, Colored};
use mely_async::serve_http;

/// How long requests may go on once the program is asked to end.
const GRACE: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Sessions {
    last: u64,
    names: HashMap<u64, String>,
}

/// Two colors: requests for the one do not wait for the other.
#[derive(Clone)]
struct Service {
    hits: Colored<u64>,
    sessions: Colored<Sessions>,
}

type Answer = Result<String, StatusCode>;

fn unavailable(_ending: CallError) -> StatusCode {
    StatusCode::SERVICE_UNAVAILABLE
}

async fn count(State(service): State<Service>) -> Answer {
    let hits = service.hits.call(|hits, _cx| {
        *hits += 1;
        *hits
    });
    let hits = hits.await.map_err(unavailable)?;
    Ok(format!("{hits} hits\n"))
}

async fn open(State(service): State<Service>, name: String) -> Answer {
    let id = service.sessions.call(|sessions, _cx| {
        sessions.last += 1;
        sessions.names.insert(sessions.last, name);
        sessions.last
    });
    Ok(format!("{}\n", id.await.map_err(unavailable)?))
}

async fn look(State(service): State<Service>, Path(id): Path<u64>) -> Answer {
    let name = service
        .sessions
        .call(move |sessions, _cx| sessions.names.get(&id).cloned());
    let name = name.await.map_err(unavailable)?;
    name.ok_or(StatusCode::NOT_FOUND)
}

async fn close(State(service): State<Service>, Path(id): Path<u64>) -> Answer {
    let name = service
        .sessions
        .call(move |sessions, _cx| sessions.names.remove(&id));
    let name = name.await.map_err(unavailable)?;
    name.ok_or(StatusCode::NOT_FOUND)
}

fn main() -> ExitCode {
    mely_examples::run(GRACE, |rt, listener| {
        let service = Service {
            hits: rt.colored(0),
            sessions: rt.colored(Sessions::default()),
        };
        let router = Router::new()
            .route("/", get(count))
            .route("/sessions", post(open))
            .route("/sessions/{id}", get(look).delete(close))
            .with_state(service);
        serve_http(listener, rt, router)
    })
}
