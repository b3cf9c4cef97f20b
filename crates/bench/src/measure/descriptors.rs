//! Open descriptors: as many as the system allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of this process, and of servers that it starts from now on.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // With fewer the first connection too many is an error that says so.
    setrlimit(Resource::Nofile, raised).ok();
}
