//! A node: the protocol with sockets, on Mely.
//!
//! ```
//! use mely_gnutella::node::{Node, NodeOptions, Share};
//! use std::time::Duration;
//! let rt = mely::Runtime::builder().workers(2).build()?;
//! let options = NodeOptions { listen: "127.0.0.1:0".parse()?, ..NodeOptions::default() };
//! let share = Share::empty(&options.protocol);
//! let node = Node::start(&rt, share, options)?;
//! println!("listening on {}", node.address());
//! node.shutdown(Duration::from_secs(1))?;
//! rt.shutdown(Duration::from_secs(1))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each connection has a color of its own, under which it reads and inflates, searches the files,
//! compresses and writes. One color, the hub, has the route tables, the peers and the hosts: it says
//! where each message goes, and hands it to the colors of the receivers. A connection reads on when
//! the hub has routed what it read before, so a peer that floods waits for its own messages; what
//! waits for a peer that does not read is bounded by [`NodeLimits::queue_bytes`]. There is no lock.

mod dial;
mod error;
mod first;
mod handlers;
mod here;
mod hosts_file;
mod hub;
mod limits;
mod meet;
mod options;
mod outlet;
mod session;
mod setting;
mod share;
mod stats;
mod upload;

pub use error::NodeError;
pub use hub::Found;
pub use limits::NodeLimits;
pub use mely_async::WhenFull;
pub use options::NodeOptions;
pub use share::Share;
pub use stats::NodeStats;

use crate::guid::Guid;
use here::Here;
use hub::Hub;
use mely::{Handle, Reply};
use mely_async::{ServeOptions, Serving, Stop, TcpListener};
use setting::{Places, Setting, fresh_guid};
use stats::Counts;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A node at work. Dropping it lets it go on, until its runtime ends; [`shutdown`](Self::shutdown)
/// ends it in order. There is an example [above](self).
pub struct Node {
    here: Here,
    serving: Serving,
}

impl Node {
    /// Listens, connects to the hosts that it was told of and those that it knows, and serves.
    ///
    /// # Errors
    /// [`NodeError`]: it cannot listen, or the file of hosts is there and cannot be read.
    pub fn start(handle: &Handle, share: Share, options: NodeOptions) -> Result<Self, NodeError> {
        let address = options.listen;
        let listening = |source| NodeError::Listen { address, source };
        let hosts = options.hosts.as_deref().map(hosts_file::read).transpose()?;
        let listener = TcpListener::bind(address).map_err(listening)?;
        let setting = Arc::new(Setting {
            share,
            counts: Counts::default(),
            servent: fresh_guid().map_err(NodeError::Chance)?,
            listen: listener.local_addr().map_err(listening)?,
            begun: Instant::now(),
            uploads: Places::new(options.node.max_uploads),
            pushes: Places::new(options.node.max_pushes),
            options,
        });
        let mut hub = Hub::new(Arc::clone(&setting));
        hub.read_hosts(&hosts.unwrap_or_default());
        let here = Here {
            setting,
            hub: handle.colored(hub),
            group: handle.group(),
            stop: Stop::new(),
        };
        let serving = serve(handle, listener, &here);
        here.group.spawn(dial::tend(here.clone())).detach();
        Ok(Self { here, serving })
    }

    /// Where it listens: the port, too, where a free one was taken.
    pub fn address(&self) -> SocketAddr {
        self.here.setting.listen
    }

    /// Its name, for pushes.
    pub fn servent(&self) -> Guid {
        self.here.setting.servent
    }

    /// What it has counted so far.
    pub fn stats(&self) -> NodeStats {
        self.here.setting.counts.read()
    }

    /// The same, from anywhere and for as long as it is wanted, for a page of metrics.
    ///
    /// ```
    /// # use mely_gnutella::node::{Node, NodeOptions, Share};
    /// # let rt = mely::Runtime::builder().workers(1).build()?;
    /// # let options = NodeOptions { listen: "127.0.0.1:0".parse()?, ..NodeOptions::default() };
    /// # let node = Node::start(&rt, Share::empty(&options.protocol), options)?;
    /// let (runtime, stats) = (rt.clone(), node.stats_source());
    /// let page = move || runtime.metrics().to_prometheus() + &stats().to_prometheus();
    /// assert!(page().contains("mely_gnutella_ultrapeers 0\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats_source(&self) -> impl Fn() -> NodeStats + Send + Sync + 'static {
        let setting = Arc::clone(&self.here.setting);
        move || setting.counts.read()
    }

    /// Searches the network for files whose names have all of these words; `on_found` is told of
    /// each, in an event that must not take long, until [`NodeLimits::max_searches`] newer searches
    /// have been made. Gives whether the search can be made: not with a NUL, or too long.
    ///
    /// ```
    /// # use mely_gnutella::node::{Node, NodeOptions, Share};
    /// # let rt = mely::Runtime::builder().workers(1).build()?;
    /// # let options = NodeOptions { listen: "127.0.0.1:0".parse()?, ..NodeOptions::default() };
    /// # let node = Node::start(&rt, Share::empty(&options.protocol), options)?;
    /// let searched = node.search("free song", |found| println!("{}", found.name));
    /// assert_eq!(searched.wait(), Ok(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn search(
        &self,
        words: impl Into<String>,
        on_found: impl FnMut(Found) + Send + 'static,
    ) -> Reply<bool> {
        let (words, on_found) = (words.into(), Box::new(on_found));
        let search =
            move |hub: &mut Hub, _: &mut mely::Context<'_, Hub>| hub.search(&words, on_found);
        self.here.hub.call(search)
    }

    /// Accepts no more, says bye to all peers, cuts off what is sent over HTTP, and writes the file
    /// of hosts. Waits for all of that, but no longer than this: how many connections are left.
    ///
    /// # Errors
    /// [`NodeError::Hosts`], if the file cannot be written.
    pub fn shutdown(self, deadline: Duration) -> Result<usize, NodeError> {
        let until = Instant::now() + deadline;
        self.here.stop.stop();
        let left = match self.serving.wait_timeout(deadline) {
            Ok(_ended) => 0,
            Err(late) => late.connections(),
        };
        let time = until.saturating_duration_since(Instant::now());
        // It fails only inside of a handler.
        let _ = self.here.group.wait_timeout(time);
        if let Some(path) = &self.here.setting.options.hosts
            && let Ok(text) = self.here.hub.call(|hub, _| hub.hosts_text()).wait()
        {
            hosts_file::write(path, &text)?;
        }
        Ok(left)
    }
}

fn serve(handle: &Handle, listener: TcpListener, here: &Here) -> Serving {
    let max = here.setting.options.node.max_connections;
    let options = ServeOptions::new().max_connections(max).stop_by(&here.stop);
    let (group, here) = (here.group.clone(), here.clone());
    listener.serve_under_with(
        handle,
        options,
        move |_stream, _peer| group.colored(None),
        move |line, stream, peer| first::greet(here.clone(), line, stream, peer),
    )
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("address", &self.address())
            .field("serving", &self.serving)
            .finish_non_exhaustive()
    }
}
