//! Loading files into memory before the first request asks for them.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mely_http::{DateCache, Now, Site};
use std::io::IsTerminal;
use std::time::{Instant, SystemTime};

pub(super) fn now() -> Now {
    DateCache::new().at(Instant::now(), SystemTime::now())
}

/// Loads what fits, with progress when somebody is looking.
pub(super) fn preload(site: &Site, quiet: bool) {
    let target = match std::io::stderr().is_terminal() && !quiet {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    // How many there will be is not known before the end.
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{spinner} loading files: {msg}") {
        bar.set_style(style);
    }
    site.preload(&now(), |progress| {
        bar.set_message(format!(
            "{} ({} KiB)",
            progress.cached_files,
            progress.cached_bytes / 1024
        ));
        bar.tick();
    });
    bar.finish_and_clear();
}
