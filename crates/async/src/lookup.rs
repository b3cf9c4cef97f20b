//! Looking up names, which blocks, on threads of their own.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

use crate::wake::{drop_safely, lock, wake_safely};

type Found = io::Result<Vec<SocketAddr>>;

#[derive(Default)]
struct Lookup {
    found: Option<Found>,
    waker: Option<Waker>,
}

/// Answers, also where the lookup panics.
struct Answers(Arc<Mutex<Lookup>>);

impl Answers {
    fn answer(&self, found: Found) {
        let mut lookup = lock(&self.0);
        if lookup.found.is_none() {
            lookup.found = Some(found);
        }
        let waker = lookup.waker.take();
        drop(lookup);
        wake_safely(waker);
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.answer(Err(io::Error::other("the lookup ended without an answer")));
    }
}

/// The addresses of a host, as in `localhost:80`. The system's lookup blocks: it runs on a
/// thread of its own.
///
/// ```
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let found = rt.new_color().spawn(mely_async::lookup_host("127.0.0.1:80"));
/// assert_eq!(found.wait()??, ["127.0.0.1:80".parse()?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// What the system says, of the lookup or of the thread.
pub async fn lookup_host<H>(host: H) -> io::Result<Vec<SocketAddr>>
where
    H: ToSocketAddrs + Send + 'static,
{
    let lookup = Arc::new(Mutex::new(Lookup::default()));
    let answers = Answers(Arc::clone(&lookup));
    let look_up = move || {
        let found = host.to_socket_addrs();
        answers.answer(found.map(Iterator::collect));
    };
    thread::Builder::new()
        .name("mely-lookup".to_owned())
        .spawn(look_up)?;
    poll_fn(|cx| {
        let waker = cx.waker().clone();
        let mut lookup = lock(&lookup);
        match lookup.found.take() {
            Some(found) => Poll::Ready(found),
            None => {
                let before = lookup.waker.replace(waker);
                drop(lookup);
                drop_safely(before);
                Poll::Pending
            }
        }
    })
    .await
}
