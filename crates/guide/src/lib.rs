//! The guide for users, `docs/guide`, as tests: every Rust block of a page that is not
//! marked as another library's (`ignore`) is a doctest of this crate.
//!
//! ```sh
//! cargo test -p mely-guide          # the programs, and the form of the pages
//! mdbook build docs/guide           # the book, in target/guide
//! ```
//!
//! The pages are held in three ways, from cheap to dear:
//!
//! * `cargo test --doc -p mely-guide` compiles and runs their programs.
//! * `tests/it` reads them with `pulldown-cmark`, mdBook's own parser: each is named by
//!   `SUMMARY.md` and by [`CHAPTERS`], its links lead somewhere, it begins with a program.
//! * `cargo xtask test` builds the book with `mdbook`, and installs that with
//!   `cargo install --no-default-features` where it may.
//!
//! mdBook is a program there, not a dependency of this crate: installing it once took 70 s on
//! two cores, while its library would bring more than a hundred crates into the workspace's
//! lock file, to be built for each profile and checked with the oldest toolchain.
#![forbid(unsafe_code)]

/// What the pages import, of both crates at once, as a program may that imports all of them:
///
/// ```
/// # // What is in both is else a warning, and the one crate's.
/// # #![deny(ambiguous_glob_imports)]
/// mod all {
///     pub(super) use mely::*;
///     pub(super) use mely_async::*;
/// }
/// # #[allow(unused_imports)]
/// use all::{
///     Affinity, BlockingOptions, BlockingPool, Budget, BudgetError, BuildError, CallError,
///     Color, ColorExecutor, ColorOptions, Colored, Context, Error, Group, Handle, Handler,
///     HttpConnector, Interval, OnPanic, Pending, PostError, PushError, Reply, Runtime,
///     ServeOptions, Share, Sleep, StallReport, Stop, Stopped, TaskState, TcpListener, TcpStream,
///     Timer, UdpSocket, UnixStream, WeakColored, WhenFull, fs, interval, serve_http,
///     serve_http_by, signal, sleep, spawn_blocking, timeout, topology, yield_now,
/// };
/// ```
#[cfg(doctest)]
struct Imports;

macro_rules! chapters {
    ($($name:ident $file:literal)*) => {
        /// The pages of the guide, by their paths in its folder of sources.
        ///
        /// ```
        /// assert!(mely_guide::CHAPTERS.contains(&"first-server.md"));
        /// ```
        pub const CHAPTERS: &[&str] = &[$($file),*];
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../docs/guide/src/", $file))]
            mod $name {}
        )*
    };
}

chapters! {
    introduction "introduction.md"
    first_server "first-server.md"
    connections "connections.md"
    state "state.md"
    http "http.md"
    blocking "blocking.md"
    timers "timers.md"
    life_cycles "life-cycles.md"
    shutdown "shutdown.md"
    panics "panics.md"
    fairness "fairness.md"
    stages "stages.md"
    cores "cores.md"
    metrics "metrics.md"
    from_tokio "from/tokio.md"
    from_asio "from/asio.md"
    from_actix "from/actix.md"
    from_kameo "from/kameo.md"
    errors "errors.md"
    glossary "glossary.md"
}
