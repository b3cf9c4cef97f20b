//! Loading files into memory before the first request asks for them.

use mely_http::{DateCache, Now, Site};
use std::time::{Instant, SystemTime};

use crate::progress::spinner;

pub(super) fn now() -> Now {
    DateCache::new().at(Instant::now(), SystemTime::now())
}

/// Loads what fits, with progress when somebody is looking.
pub(super) fn preload(site: &Site, quiet: bool) {
    // How many there will be is not known before the end.
    let bar = spinner("{spinner} loading files: {msg}", quiet);
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
