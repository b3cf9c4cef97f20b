//! The handlers of the node, by their names in the metrics. What connections do besides is counted
//! under the type of their task.

use mely::Handler;

/// Decides where the messages of one read go; the hub's color.
pub(super) static ROUTE: Handler = Handler::new("GnutellaRoute");
/// Compresses messages and leaves them to be written; the color of the receiver.
pub(super) static SEND: Handler = Handler::new("GnutellaSend");
/// Looks after connections, tables and pings; the hub's color.
pub(super) static TEND: Handler = Handler::new("GnutellaTend");
