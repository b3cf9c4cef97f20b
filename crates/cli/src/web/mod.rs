//! `mely web`: the web server.

mod args;
mod descriptors;
mod preload;

pub(crate) use args::WebArgs;

use crate::error::CliError;
use mely::signal::{SIGINT, SIGTERM, Signals};
use mely::{Colored, Handle, Runtime};
use mely_http::server::{Server, ServerOptions, TextServer};
use mely_http::{Protocol, Site};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

/// A handler that holds a core for this long is told of: a disk that hangs, most likely.
const WARN_AFTER: Duration = Duration::from_secs(1);
/// How long the runtime may take to end when the server has.
const RUNTIME_GRACE: Duration = Duration::from_secs(2);

impl WebArgs {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let limits = self.limits();
        let descriptors = descriptors::raise_limit();
        if let Some(warning) = descriptors::warning(descriptors, limits.max_clients) {
            self.tell(&warning);
        }
        let protocol = Arc::new(Protocol::new(limits));
        let site = self.open(&protocol)?;
        let runtime = self.build()?;
        let mut options = ServerOptions::listen(self.listen.iter().cloned());
        options.reactor = self.runtime.reactor();
        let server = Server::start(&runtime, Arc::clone(&site), Arc::clone(&protocol), options)?;
        let metrics = self.serve_metrics(&runtime, &server, &protocol)?;
        let (stop, asked_to_stop) = mpsc::channel();
        let signals = watch_signals(&runtime, stop)?;

        preload::preload(&site, self.quiet);
        self.tell(&format!(
            "serving {}: {} files ({} KiB) in memory, {} workers",
            self.dir().display(),
            site.cached_files(),
            site.cached_bytes() / 1024,
            runtime.workers(),
        ));
        for address in server.addresses() {
            say(&address.to_string());
        }
        // An error means that the runtime has gone, which only ends with this function.
        let signal = asked_to_stop.recv().unwrap_or(SIGTERM);
        self.end(signal, server);
        drop((metrics, signals));
        if let Err(error) = runtime.shutdown(RUNTIME_GRACE) {
            self.tell(&error.to_string());
        }
        Ok(())
    }

    fn open(&self, protocol: &Protocol) -> Result<Arc<Site>, CliError> {
        let options = self.files.options();
        Site::open(self.dir(), options, protocol.limits(), &preload::now())
            .map(Arc::new)
            .map_err(|source| CliError::Site {
                source,
                is_default: self.dir.is_none(),
            })
    }

    fn build(&self) -> Result<Runtime, CliError> {
        let given = &self.runtime;
        let mut builder = Runtime::builder()
            .policy(given.policy)
            .reactor(given.reactor())
            .warn_after(WARN_AFTER);
        if let Some(workers) = given.workers {
            builder = builder.workers(workers);
        }
        if let Some(cores) = &given.cores {
            builder = builder.cores(cores.iter());
        }
        if let Some(events) = given.batch_threshold {
            builder = builder.batch_threshold(events);
        }
        Ok(builder.build()?)
    }

    fn serve_metrics(
        &self,
        handle: &Handle,
        server: &Server,
        protocol: &Arc<Protocol>,
    ) -> Result<Option<TextServer>, CliError> {
        let Some(address) = &self.metrics else {
            return Ok(None);
        };
        let (runtime, stats) = (handle.clone(), server.stats_source());
        let text = move || runtime.metrics().to_prometheus() + &stats().to_prometheus();
        let metrics = TextServer::start(handle, address, "/metrics", Arc::clone(protocol), text)?;
        self.tell(&format!("metrics on {}", metrics.url()));
        Ok(Some(metrics))
    }

    fn end(&self, signal: i32, server: Server) {
        let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
        let grace = self.limits.grace;
        self.tell(&format!(
            "{name}: finishing {} connections, for {} s at most; again to end at once",
            server.stats().active,
            grace.as_secs()
        ));
        let report = server.shutdown(grace);
        if report.cut > 0 {
            eprintln!("mely: cut {} connections that did not finish", report.cut);
        }
    }

    fn tell(&self, line: &str) {
        if !self.quiet {
            eprintln!("mely: {line}");
        }
    }
}

/// Tells the first signal; the second ends the process.
fn watch_signals(handle: &Handle, stop: mpsc::Sender<i32>) -> Result<Signals, CliError> {
    let seen: Colored<u32> = handle.colored(0);
    Signals::watch(&[SIGINT, SIGTERM], &seen, move |seen, _cx, signal| {
        *seen += 1;
        if *seen > 1 || stop.send(signal).is_err() {
            // As a shell reports it.
            std::process::exit(128 + signal);
        }
    })
    .map_err(|error| CliError::io("watch for signals", error))
}

/// On standard output, for scripts; who closed it does not want to know.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
