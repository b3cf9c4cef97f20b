//! What others say when something is missing that Mely does not have, and what to do then.

use core::any::Any;
use std::sync::Once;

use super::panics::message_of;

/// In the messages of what needs Tokio's runtime and is polled without it: "there is no reactor
/// running, must be called from the context of a Tokio 1.x runtime", and some like it.
const NEEDS_TOKIO: &str = "must be called from the context of a Tokio";

const WITHOUT_TOKIO: &str = "Mely polls futures without Tokio's runtime: use what `mely_async` \
     has for that (`sleep`, `timeout`, `TcpStream`, `spawn_blocking`, `fs`), or run the future on \
     a runtime of Tokio's and await it here: `tokio_handle.spawn(future).await`";

/// What to do after a panic that says this.
pub(crate) fn way_out(message: &str) -> Option<&'static str> {
    message.contains(NEEDS_TOKIO).then_some(WITHOUT_TOKIO)
}

/// Tells it on the standard error, where the panic hook has told of the panic; once, as who
/// does it once does it often.
pub(crate) fn tell_way_out(panic: &(dyn Any + Send)) {
    static TOLD: Once = Once::new();
    if let Some(way_out) = way_out(&message_of(panic)) {
        TOLD.call_once(|| eprintln!("mely: {way_out}"));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_who_lacks_tokio_is_told() {
        let lacks = "there is no reactor running, must be called from the context of a Tokio \
                     1.x runtime";
        assert!(way_out(lacks).is_some_and(|way_out| way_out.contains("mely_async")));
        assert_eq!(way_out("Tokio must be called"), None);
    }
}
