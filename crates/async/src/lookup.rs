//! Looking up names, which blocks.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::LazyLock;

use crate::blocking::{BlockingOptions, BlockingPool};

/// A name server that does not answer keeps nobody from his files.
static LOOKUPS: LazyLock<BlockingPool> =
    LazyLock::new(|| BlockingPool::new(BlockingOptions::new()));

/// The addresses of a host, as in `localhost:80`. The system's lookup blocks: it runs on a
/// thread of a [pool](BlockingPool) for lookups, with the default bounds.
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
    let look_up = move || host.to_socket_addrs().map(Iterator::collect);
    LOOKUPS.spawn(look_up).await?
}
