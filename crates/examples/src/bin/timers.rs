//! Sessions that time out: each connection is one, and every line that it sends puts its end
//! off. Until then it is told its age again and again.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::StreamExt;
use mely::{Colored, Handle, WeakColored};
use mely_async::{TcpStream, WhenFull, WriteQueue};
use tokio_util::codec::{FramedRead, LinesCodec};

/// A session that is silent for so long is over.
const SILENCE_MAX: Duration = Duration::from_millis(500);

/// How often sessions are told their age, and counted.
const PERIOD: Duration = Duration::from_millis(200);

const LINE_MAX: usize = 1024;

const UNREAD_MAX: usize = 4096;

struct Session {
    queue: WriteQueue,
    began: Instant,
}

impl Session {
    fn tell(&self, what: &str) {
        // Who does not read misses what there is no room for.
        let _ = self.queue.push(what.as_bytes());
    }

    fn time_out(&self) {
        self.tell("timed out\n");
        self.queue.close();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        println!(
            "a session is over after {} ms",
            self.began.elapsed().as_millis()
        );
    }
}

async fn serve(handle: Handle, stream: TcpStream, census: Colored<Census>) {
    let (reader, writer) = stream.into_split();
    let (queue, mut writing) = writer.into_queue(UNREAD_MAX, WhenFull::Shed);
    let began = Instant::now();
    let session = handle.colored(Session { queue, began });
    let weak = session.downgrade();
    census.post_or_shed(move |census, _cx| census.sessions.push(weak));

    // A repeating timer does not keep its color alive: it ends with the session.
    session.post_every(PERIOD, |session, _cx| {
        let age = session.began.elapsed().as_millis();
        session.tell(&format!("{age} ms old\n"));
    });
    // One that is to post one event does, until that has run or is cancelled.
    let timeout = session.post_after(SILENCE_MAX, |session, _cx| session.time_out());
    let mut lines = FramedRead::new(reader, LinesCodec::new_with_max_length(LINE_MAX));
    let reading = async {
        while let Some(Ok(_line)) = lines.next().await {
            let is_in_time = timeout.reset_after(SILENCE_MAX);
            let answer = ["too late\n", "put off\n"][usize::from(is_in_time)];
            session.post_or_shed(|session, _cx| session.tell(answer));
        }
    };
    // Until the client has left, or the session has timed out and closed its queue.
    writing.during(reading).await;
    timeout.cancel();
}

/// All sessions, of which it keeps none alive.
#[derive(Default)]
struct Census {
    sessions: Vec<WeakColored<Session>>,
    counted: usize,
}

impl Census {
    fn count(&mut self) {
        self.sessions.retain(|session| session.upgrade().is_some());
        if self.sessions.len() != self.counted {
            self.counted = self.sessions.len();
            println!("{} sessions", self.counted);
        }
    }
}

fn main() -> ExitCode {
    mely_examples::run(Duration::ZERO, |rt, listener| {
        let census = rt.colored(Census::default());
        census.post_every(PERIOD, |census, _cx| census.count());
        let handle = Handle::clone(rt);
        listener.serve(rt, move |stream, _peer| {
            serve(handle.clone(), stream, census.clone())
        })
    })
}
