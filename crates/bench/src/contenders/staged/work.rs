//! A stage behind sockets: a request costs a fixed number of cycles, and is answered with some
//! kilobytes; what is refused or shed is told so.
//!
//! A connection has a color, which reads requests and offers them; the stage answers by the
//! connection's queue.

use std::sync::Arc;

use mely::Runtime;
use mely_async::{TcpListener, TcpStream, WhenFull, WriteQueue, signal};
use mely_sched::{BatchingOptions, Nanos};
use mely_stage::{Control, Manager, Shed, Sink, StageOptions, each};

use super::answer::{self, Fate, HEAD_BYTES, REQUEST_BYTES};
use super::{Fates, StagesServeOptions};
use crate::measure::{Failure, spin};

/// What a connection may leave unread: a tenth of a second of all answers.
const UNREAD_MAX: usize = 8 << 20;

/// Bytes that are read at once: two thousand requests.
const READ_BYTES: usize = 16 << 10;

/// The stage lets connections read after 24 requests: who is refused should know within some
/// milliseconds, and each read has several requests then.
const BATCH: BatchingOptions = BatchingOptions {
    batch_min: 1,
    batch_max: 24,
    period: Nanos::from_millis(200),
    low_water: 0.9,
    patience: 50,
};

struct Request {
    number: u64,
    from: Arc<WriteQueue>,
}

pub(super) fn serve(options: &StagesServeOptions) -> Result<(), Failure> {
    let workers = usize::from(options.workers);
    let rt = Runtime::builder().workers(workers).build()?;
    let listener = TcpListener::bind(("127.0.0.1", options.port))?;
    let stage = stage(&rt, options)?;
    let sink = stage.sink();
    let serving = listener.serve(&rt, move |stream, _peer| read(stream, sink.clone()));
    signal::terminated(&rt)?.wait()?;
    if let Some(path) = &options.counts {
        Fates::of(&stage)?.write(path)?;
    }
    serving.stop();
    Ok(())
}

fn stage(rt: &Runtime, options: &StagesServeOptions) -> Result<Control<Request>, Failure> {
    let cycles = spin::checked()? * f64::from(options.cost_us) / 1e6;
    let cycles = cycles.round() as u32;
    let body: Arc<[u8]> = vec![b'x'; options.answer_bytes as usize].into();
    let chain = options.policy.chain(options.target(), options.peak);
    let settings = StageOptions::new()
        .colors(usize::from(options.workers))
        .capacity(usize::MAX)
        .batch(BATCH)
        .admission(chain)
        .on_shed(|request: Request, why| {
            let fate = match why {
                Shed::Refused(_) => Fate::Refused,
                _ => Fate::Expired,
            };
            tell(&request, fate, &[], &mut Vec::with_capacity(HEAD_BYTES));
        });
    let stage = Manager::new(rt).create("work", settings, move |_| {
        let (body, mut out) = (Arc::clone(&body), Vec::new());
        each(move |request: Request| {
            spin::spin(cycles);
            tell(&request, Fate::Answered, &body, &mut out);
        })
    })?;
    Ok(stage)
}

fn tell(request: &Request, fate: Fate, body: &[u8], out: &mut Vec<u8>) {
    out.clear();
    answer::write(request.number, fate, body, out);
    // Whoever has gone wants no answer.
    request.from.write(out).ok();
}

/// Offers what comes; what is refused of one read is told in one write.
async fn read(stream: TcpStream, sink: Sink<Request>) {
    let (mut reader, writer) = stream.into_split();
    let (queue, mut writing) = writer.into_queue(UNREAD_MAX, WhenFull::Close);
    let queue = Arc::new(queue);
    let reading = async {
        let (mut bytes, mut held, mut refusals) = (vec![0; READ_BYTES], 0, Vec::new());
        while let Ok(count @ 1..) = reader.read(&mut bytes[held..]).await {
            let (requests, rest) = bytes[..held + count].as_chunks::<REQUEST_BYTES>();
            for request in requests {
                let number = u64::from_le_bytes(*request);
                let from = Arc::clone(&queue);
                if sink.offer(Request { number, from }).is_err() {
                    answer::write(number, Fate::Refused, &[], &mut refusals);
                }
            }
            if !refusals.is_empty() {
                queue.write(&refusals).ok();
                refusals.clear();
            }
            let left = requests.len() * REQUEST_BYTES..held + count;
            held = rest.len();
            bytes.copy_within(left, 0);
        }
    };
    // Why the writing ended is the peer's affair.
    writing.during(reading).await;
}
