//! `mely web`: the web server.

mod args;
mod descriptors;
mod preload;

pub(crate) use args::WebArgs;

use crate::error::CliError;
use crate::progress::say;
use crate::signals::Asked;
use mely::{Handle, Runtime, TraceReport};
use mely_http::server::{Server, ServerOptions, TextServer};
use mely_http::{Protocol, Site};
use std::io;
use std::sync::Arc;
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
        let asked = Asked::watch()?;

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
        let signal = asked.wait()?;
        self.end(signal, server);
        drop(metrics);
        let report = match runtime.shutdown(RUNTIME_GRACE) {
            Ok(report) => report,
            Err(error) => {
                self.tell(&error.to_string());
                error.report
            }
        };
        match report.trace {
            Some(trace) => self.tell_of_trace(&trace),
            None => Ok(()),
        }
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
            .affinity(given.affinity)
            .reactor(given.reactor())
            .counted(given.counted())
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
        if let Some(path) = &given.trace {
            builder = builder.trace(path);
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

    fn end(&self, name: &str, server: Server) {
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

    fn tell_of_trace(&self, trace: &TraceReport) -> Result<(), CliError> {
        let TraceReport { records, lost, .. } = trace;
        let path = trace.path.display();
        self.tell(&format!("traced {records} records to {path}, {lost} lost"));
        match &trace.error {
            Some(error) => Err(CliError::io(
                format!("write the whole trace to {path}"),
                io::Error::other(error.clone()),
            )),
            None => Ok(()),
        }
    }

    fn tell(&self, line: &str) {
        if !self.quiet {
            eprintln!("mely: {line}");
        }
    }
}
