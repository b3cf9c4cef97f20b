//! `mely gnutella`: a node of the packet router.

mod args;

pub(crate) use args::GnutellaArgs;

use crate::error::CliError;
use crate::progress::{say, spinner, tell};
use crate::signals::Asked;
use mely::{Handle, Runtime};
use mely_gnutella::Limits;
use mely_gnutella::node::{Node, NodeStats, Share};
use mely_http::Protocol;
use mely_http::server::TextServer;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long peers may take to hear that the node ends.
const GRACE: Duration = Duration::from_millis(500);
/// How long the runtime may take to end when the node has.
const RUNTIME_GRACE: Duration = Duration::from_millis(200);

impl GnutellaArgs {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let options = self.options();
        let mut builder = Runtime::builder();
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        // A signal that comes while files are read ends it as always.
        let share = self.share(&options.protocol)?;
        let runtime = builder.build()?;
        let (files, kbytes) = share.index().counts();
        let node = Node::start(&runtime, share, options)?;
        let asked = Asked::watch()?;
        let metrics = self.serve_metrics(&runtime, &node)?;
        self.tell(&format!("sharing {files} files ({kbytes} KiB)"));
        match self.json {
            true => tell(&format!("listening on {}", node.address())),
            false => say(&node.address().to_string()),
        }
        let signal = asked.wait()?;
        let stats = node.stats_source();
        let peers = stats().ultrapeers + stats().leaves;
        self.tell(&format!("{signal}: saying bye to {peers} peers"));
        let (address, before) = (node.address(), stats());
        let ended = node.shutdown(GRACE);
        drop(metrics);
        if let Err(error) = runtime.shutdown(RUNTIME_GRACE) {
            self.tell(&error.to_string());
        }
        if self.json {
            let counts = figures(&address.to_string(), &before, &stats());
            say(&counts.to_string());
        }
        if ended? > 0 {
            tell("cut connections that did not end");
        }
        Ok(())
    }

    fn share(&self, limits: &Limits) -> Result<Share, CliError> {
        let Some(folder) = &self.share else {
            return Ok(Share::empty(limits));
        };
        let bar = spinner("{spinner} reading {msg}", self.quiet);
        let share = Share::open(folder, limits, |name| {
            bar.set_message(name.to_owned());
            bar.tick();
        });
        bar.finish_and_clear();
        Ok(share?)
    }

    fn serve_metrics(&self, rt: &Handle, node: &Node) -> Result<Option<TextServer>, CliError> {
        let Some(address) = &self.metrics else {
            return Ok(None);
        };
        let (runtime, stats) = (rt.clone(), node.stats_source());
        let text = move || runtime.metrics().to_prometheus() + &stats().to_prometheus();
        let protocol = Arc::new(Protocol::new(mely_http::Limits::default()));
        let metrics = TextServer::start(rt, address, "/metrics", protocol, text)?;
        self.tell(&format!("metrics on {}", metrics.url()));
        Ok(Some(metrics))
    }

    fn tell(&self, line: &str) {
        if !self.quiet {
            tell(line);
        }
    }
}

/// The closing figures: how many peers there were at the signal, and what was counted to the end.
fn figures(address: &str, before: &NodeStats, after: &NodeStats) -> Value {
    let named = |counts: &[(&str, u64)]| -> Map<String, Value> {
        let counts = counts.iter();
        counts
            .map(|&(name, count)| (name.to_owned(), json!(count)))
            .collect()
    };
    let mut figures = named(&after.numbers());
    figures.insert("address".to_owned(), json!(address));
    figures.insert("ultrapeers".to_owned(), json!(before.ultrapeers));
    figures.insert("leaves".to_owned(), json!(before.leaves));
    figures.insert("received".to_owned(), named(&after.received).into());
    figures.insert("sent".to_owned(), named(&after.sent).into());
    figures.insert("dropped".to_owned(), named(&after.dropped).into());
    Value::Object(figures)
}
