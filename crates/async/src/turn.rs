//! Letting others run.

use std::pin::Pin;
use std::task::{Context, Poll};

/// Lets the events run that wait already: those of the same color first, and in their order,
/// then other colors of the core by their turns.
///
/// For work that is long, a batch of it between two of these; or to find what others bring
/// meanwhile. It may be awaited anywhere.
///
/// ```
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let log = rt.colored(Vec::new());
/// let task = log.spawn_with(async |mut log: mely::TaskState<Vec<&str>>| {
///     log.colored().post_or_shed(|log, _cx| log.push("an event that waits"));
///     mely_async::yield_now().await;
///     log.with(|log| log.push("the task"));
/// });
/// task.wait()?;
/// assert_eq!(log.blocking_with(|log| log.clone()), ["an event that waits", "the task"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { has_yielded: false }
}

/// Pending once ([`yield_now`]).
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct YieldNow {
    has_yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
