//! Limits how often something may be done: a line `KEY` asks for one token of that key's
//! bucket. The answer is `ok LEFT`, or `wait MILLISECONDS`.
//!
//! Each bucket is a color: keys are served in parallel, and no request is counted twice.

use std::collections::HashMap;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::{SinkExt, StreamExt};
use mely::{Colored, Context, Timer, WeakColored};
use mely_async::TcpStream;
use tokio_util::codec::{Framed, LinesCodec, LinesCodecError};

/// How many tokens a full bucket has.
const TOKENS_MAX: u32 = 10;

/// How long a token takes to come back.
const REFILL: Duration = Duration::from_millis(100);

/// How often keys whose buckets are gone are forgotten.
const SWEEP: Duration = Duration::from_secs(10);

const KEY_MAX: usize = 256;

struct Bucket {
    /// From this time on it is full.
    full_at: Instant,
    /// Keeps the bucket until then: an event that is to come keeps its color alive.
    keeper: Option<Timer>,
}

impl Bucket {
    /// Takes a token: how many are left, or how long until there is one.
    fn take(&mut self, cx: &Context<'_, Self>) -> Result<u32, Duration> {
        let now = cx.now();
        let full_at = self.full_at.max(now) + REFILL;
        let missing = full_at - now;
        let too_much = missing.saturating_sub(REFILL * TOKENS_MAX);
        if !too_much.is_zero() {
            return Err(too_much);
        }
        self.full_at = full_at;
        let is_kept = self
            .keeper
            .as_ref()
            .is_some_and(|keeper| keeper.reset_at(full_at));
        if !is_kept {
            self.keeper = Some(cx.colored().post_at(full_at, |_, _| ()));
        }
        let taken = missing.as_nanos().div_ceil(REFILL.as_nanos());
        Ok(TOKENS_MAX.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX)))
    }
}

/// The buckets that are not full, by key. It keeps none of them: what is not there is full.
type Buckets = HashMap<String, WeakColored<Bucket>>;

fn find(buckets: &mut Buckets, cx: &Context<'_, Buckets>, key: String) -> Colored<Bucket> {
    let known = buckets.get(&key).and_then(WeakColored::upgrade);
    known.unwrap_or_else(|| {
        let bucket = cx.handle().colored(Bucket {
            full_at: cx.now(),
            keeper: None,
        });
        buckets.insert(key, bucket.downgrade());
        bucket
    })
}

async fn serve(stream: TcpStream, buckets: Colored<Buckets>) -> Result<(), LinesCodecError> {
    let mut lines = Framed::new(stream, LinesCodec::new_with_max_length(KEY_MAX));
    while let Some(key) = lines.next().await {
        let key = match key {
            Err(LinesCodecError::MaxLineLengthExceeded) => {
                lines.send("error: the key is too long").await?;
                return Ok(());
            }
            key => key?,
        };
        let bucket = buckets.call(|buckets, cx| find(buckets, cx, key));
        let bucket = bucket.await.map_err(io::Error::other)?;
        let taken = bucket.call(|bucket, cx| bucket.take(cx));
        let answer = match taken.await.map_err(io::Error::other)? {
            Ok(left) => format!("ok {left}"),
            Err(wait) => format!("wait {}", wait.as_millis() + 1),
        };
        lines.send(answer).await?;
    }
    Ok(())
}

fn main() -> ExitCode {
    mely_examples::run(Duration::ZERO, |rt, listener| {
        let buckets = rt.colored(Buckets::new());
        buckets.post_every(SWEEP, |buckets, _cx| {
            buckets.retain(|_, bucket| bucket.upgrade().is_some());
        });
        listener.serve(rt, move |stream, _peer| serve(stream, buckets.clone()))
    })
}
