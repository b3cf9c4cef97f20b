//! The handlers of the server, by their names in the metrics (section V.C, figure 6 of the
//! paper).
//!
//! With the single reactor, `Epoll` and `RegisterFdInEpoll` are those of the runtime, of color 0.

use mely::Handler;

/// Adds the descriptor of a new connection to the epoll instance of the connection's worker.
pub(super) static REGISTER_FD: Handler = Handler::new("RegisterFdInEpoll");
/// Accepts connections; color 1.
pub(super) static ACCEPT: Handler = Handler::new("Accept");
/// Reads what has arrived; the color of the connection, as for all that follow but the last.
pub(super) static READ_REQUEST: Handler = Handler::new("ReadRequest");
/// Parses one request, and decides what comes next.
pub(super) static PARSE_REQUEST: Handler = Handler::new("ParseRequest");
/// Finds the response.
pub(super) static CHECK_IN_CACHE: Handler = Handler::new("CheckInCache");
/// Writes as much of the responses as one system call takes.
pub(super) static WRITE_RESPONSE: Handler = Handler::new("WriteResponse");
/// Shuts connections down.
pub(super) static CLOSE: Handler = Handler::new("Close");
/// Counts a connection that was closed; color 1.
pub(super) static DEC_CLIENT_ACCEPTED: Handler = Handler::new("DecClientAccepted");
/// Looks whether a peer has been silent for too long. Not in the paper, which has no timeouts.
pub(super) static TIMEOUT: Handler = Handler::new("Timeout");
