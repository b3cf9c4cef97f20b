//! Open descriptors: as many as the system allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors besides those of clients: the runtime's, listeners, files that are being read.
const OTHERS: u64 = 128;

/// Raises the limit of open descriptors to what the process may have, and returns it; `None` is
/// no limit.
pub(super) fn raise_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// What to tell about a limit that is lower than the clients need.
pub(super) fn warning(limit: Option<u64>, max_clients: usize) -> Option<String> {
    let limit = limit?;
    let fit = limit.saturating_sub(OTHERS);
    (fit < max_clients as u64).then(|| {
        format!(
            "the limit of {limit} open descriptors holds some {fit} clients, not {max_clients}: \
             raise it (ulimit -Hn) or lower --max-clients"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_limit_that_is_too_low_is_told() {
        assert_eq!(warning(None, 1_000_000), None);
        assert_eq!(warning(Some(20_000), 10_000), None);
        assert!(warning(Some(1024), 10_000).unwrap().contains("1024"));
        assert!(warning(Some(10), 10).is_some());
    }
}
