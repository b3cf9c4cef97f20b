//! What the connections of a node work with.

use super::hub::{Hub, Seat};
use super::outlet::Line;
use super::setting::Setting;
use crate::handshake::Role;
use mely::{CallError, Colored, Group};
use mely_async::Stop;
use std::future::poll_fn;
use std::net::SocketAddrV4;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

/// A node, as its connections see it.
#[derive(Clone)]
pub(super) struct Here {
    pub(super) setting: Arc<Setting>,
    pub(super) hub: Colored<Hub>,
    /// All colors and tasks of connections.
    pub(super) group: Group,
    pub(super) stop: Stop,
}

impl Here {
    /// A place for a peer of this role, or hosts to try instead.
    pub(super) async fn reserve(
        &self,
        role: Role,
        line: &Colored<Line>,
    ) -> Result<Result<Seat, Vec<SocketAddrV4>>, CallError> {
        let (line, hub) = (line.clone(), self.hub.clone());
        // The seat is made there: nobody forgets it on the way.
        let reserve = move |state: &mut Hub, _: &mut mely::Context<'_, Hub>| {
            state.reserve(role, line).map(|peer| Seat::new(hub, peer))
        };
        self.hub.call(reserve).await
    }

    /// Waits for `future` unless the node is to end first.
    pub(super) async fn unless_stopped<F: Future>(&self, future: F) -> Option<F::Output> {
        let (mut stopped, mut future) = (self.stop.stopped(), pin!(future));
        poll_fn(|cx| {
            if Pin::new(&mut stopped).poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            future.as_mut().poll(cx).map(Some)
        })
        .await
    }
}
