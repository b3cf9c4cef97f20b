//! The options of `mely web`.

use crate::units;
use clap::{Args, ValueEnum};
use mely::topology::CpuSet;
use mely::{Affinity, Counted, Policy, ReactorKind};
use mely_http::server::Address;
use mely_http::{FollowSymlinks, Limits, Options};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory that is served when none is given: the sample site of the repository.
const DEFAULT_DIR: &str = "site";

/// Serve a directory over HTTP/1.1.
///
/// Small files are kept in memory as ready responses, and looked at again when they change on
/// disk; large ones are streamed. Ends on SIGINT and SIGTERM, after the responses that are being
/// sent; a second signal ends it at once.
#[derive(Args)]
pub(crate) struct WebArgs {
    /// The directory to serve [default: site].
    pub(super) dir: Option<PathBuf>,

    /// Where to listen: HOST:PORT or unix:PATH; repeat for more.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(super) listen: Vec<Address>,
    /// Serve metrics there, in the text format of Prometheus.
    #[arg(long, value_name = "ADDR")]
    pub(super) metrics: Option<Address>,
    /// Say nothing but addresses and errors.
    #[arg(long, short)]
    pub(super) quiet: bool,

    #[command(flatten, next_help_heading = "Runtime")]
    pub(super) runtime: RuntimeArgs,
    #[command(flatten, next_help_heading = "Files")]
    pub(super) files: FileArgs,
    #[command(flatten, next_help_heading = "Limits")]
    pub(super) limits: LimitArgs,
}

#[derive(Args)]
pub(super) struct RuntimeArgs {
    /// How many workers [default: one for each core that may be used].
    #[arg(long, value_name = "N")]
    pub(super) workers: Option<usize>,
    /// The cores to use, such as 0-3,8.
    #[arg(long, value_name = "LIST")]
    pub(super) cores: Option<CpuSet>,
    /// Where workers run: auto (each on a core of its own, until others want it too),
    /// pinned, free.
    #[arg(long, value_name = "A", default_value_t)]
    pub(super) affinity: Affinity,
    /// How idle workers steal: libasync-smp-nosteal, libasync-smp, cfse-cache,
    /// cfse-batch, cfse-pinning, cfse (one queue of events for each core);
    /// mely-nosteal, mely-base, mely-timeleft, mely-penalty, mely-locality, mely,
    /// adaptive (a queue for each color).
    #[arg(long, value_name = "P", default_value_t)]
    pub(super) policy: Policy,
    /// Where descriptors are watched.
    #[arg(long, value_enum, default_value = "per-worker")]
    reactor: Reactor,
    /// Events of a color that run in a row while others wait.
    #[arg(long, value_name = "EVENTS")]
    pub(super) batch_threshold: Option<u32>,
    /// What to count by handler, for the metrics: misses of the level 2 cache, where the machine
    /// lets them be counted, or page faults.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "nothing")]
    counted: CountedChoice,
    /// Record what runs to this file, for `mely trace info` and the simulator; short
    /// events take longer meanwhile.
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum CountedChoice {
    /// Nothing.
    Nothing,
    /// Misses of the level 2 cache, or of what the kernel takes for it.
    CacheMisses,
    /// Page faults.
    PageFaults,
}

#[derive(Clone, Copy, ValueEnum)]
enum Reactor {
    /// One epoll instance a worker.
    PerWorker,
    /// One for all, run by color 0, as in the papers.
    Single,
}

#[derive(Args)]
pub(super) struct FileArgs {
    /// Serve names that begin with a dot.
    #[arg(long)]
    dotfiles: bool,
    /// Which symbolic links to follow.
    #[arg(long, value_enum, default_value = "inside")]
    follow_symlinks: Symlinks,
    /// List directories that have no index.
    #[arg(long)]
    listing: bool,
    /// The file that stands for a directory; repeat for more [default: index.html, index.htm].
    #[arg(long, value_name = "NAME")]
    index: Vec<String>,
    /// Memory for responses, all files together [default: 256M].
    #[arg(long, value_name = "SIZE", value_parser = units::memory_bytes)]
    cache_bytes: Option<usize>,
    /// The largest file that is kept in memory [default: 1M].
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    cache_file_bytes: Option<u64>,
    /// How long a file in memory is served before the disk is asked again [default: 1s].
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    revalidate: Option<Duration>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Symlinks {
    /// None.
    No,
    /// Those that stay below the directory.
    Inside,
    /// All.
    Anywhere,
}

#[derive(Args)]
pub(super) struct LimitArgs {
    /// Clients served at once; more get 503 [default: 10000].
    #[arg(long, value_name = "N")]
    max_clients: Option<usize>,
    /// Requests on one connection before it is closed [default: no limit].
    #[arg(long, value_name = "N")]
    max_requests: Option<u64>,
    /// From the first byte of a request to the end of its head [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    header_timeout: Option<Duration>,
    /// Silence between requests [default: 60s].
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    idle_timeout: Option<Duration>,
    /// Silence of a client that has a response to read [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    write_timeout: Option<Duration>,
    /// How long responses may take to finish when asked to end.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::duration)]
    pub(super) grace: Duration,
}

impl WebArgs {
    pub(super) fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or(Path::new(DEFAULT_DIR))
    }
}

impl RuntimeArgs {
    pub(super) fn counted(&self) -> Counted {
        match self.counted {
            CountedChoice::Nothing => Counted::Nothing,
            CountedChoice::CacheMisses => Counted::CacheMisses,
            CountedChoice::PageFaults => Counted::PageFaults,
        }
    }

    pub(super) fn reactor(&self) -> ReactorKind {
        match self.reactor {
            Reactor::PerWorker => ReactorKind::PerWorker,
            Reactor::Single => ReactorKind::Single,
        }
    }
}

impl FileArgs {
    pub(super) fn options(&self) -> Options {
        let mut options = Options {
            dotfiles: self.dotfiles,
            listing: self.listing,
            follow_symlinks: match self.follow_symlinks {
                Symlinks::No => FollowSymlinks::No,
                Symlinks::Inside => FollowSymlinks::InsideRoot,
                Symlinks::Anywhere => FollowSymlinks::Anywhere,
            },
            ..Options::default()
        };
        if !self.index.is_empty() {
            options.index_files.clone_from(&self.index);
        }
        set(&mut options.revalidate_interval, self.revalidate);
        options
    }
}

impl WebArgs {
    pub(super) fn limits(&self) -> Limits {
        let (given, mut limits) = (&self.limits, Limits::default());
        set(&mut limits.cache_bytes, self.files.cache_bytes);
        set(&mut limits.cache_file_bytes, self.files.cache_file_bytes);
        set(&mut limits.max_clients, given.max_clients);
        set(&mut limits.header_timeout, given.header_timeout);
        set(&mut limits.idle_timeout, given.idle_timeout);
        set(&mut limits.write_timeout, given.write_timeout);
        limits.max_requests_per_connection = given.max_requests;
        limits
    }
}

fn set<V>(limit: &mut V, given: Option<V>) {
    if let Some(given) = given {
        *limit = given;
    }
}
