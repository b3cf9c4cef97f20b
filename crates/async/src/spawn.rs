//! Spawning without a color at hand.

use mely::{Color, Reply};

/// Runs a future under the color of the event that calls this: beside the caller, never at the
/// same time, and with it wherever that color goes. It goes on if the reply is dropped.
///
/// For code that knows no color, such as a handler of axum's. To run in parallel it needs
/// another one: `Handle::current()` has [`new_color`](mely::Handle::new_color).
///
/// ```
/// let rt = mely::Runtime::builder().workers(2).build()?;
/// let sum = rt.block_on(async {
///     let parts: Vec<_> = (1..=3).map(|n| mely_async::spawn(async move { n * n })).collect();
///     let mut sum = 0;
///     for part in parts {
///         sum += part.await?;
///     }
///     Ok::<_, mely::CallError>(sum)
/// });
/// assert_eq!(sum, Ok(14));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// Outside of any color.
#[track_caller]
pub fn spawn<Fut>(future: Fut) -> Reply<Fut::Output>
where
    Fut: Future + Send + 'static,
    Fut::Output: Send + 'static,
{
    match Color::current() {
        Some(color) => color.spawn(future),
        None => panic!(
            "mely_async::spawn outside of any color: use Colored::spawn, or Handle::block_on"
        ),
    }
}
