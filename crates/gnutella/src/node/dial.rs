//! Connections that this node makes.

use super::handlers::TEND;
use super::here::Here;
use super::hub::{Hub, Seat, Wanted};
use super::meet::{self, Met, NotMet};
use super::outlet::Line;
use super::session;
use super::setting::plain;
use crate::handshake::{ProtocolVersion, Role};
use mely::{Colored, TaskState};
use mely_async::{TcpStream, lookup_host, sleep, timeout};
use std::net::SocketAddr;
use std::time::Instant;

/// Looks after the node until it ends: connections that are missing, tables that are old, pings.
pub(super) async fn tend(here: Here) {
    let limits = here.setting.options.node.clone();
    let (mut pinged, mut saved) = (Instant::now(), Instant::now());
    loop {
        let now = Instant::now();
        let is_due = now.duration_since(pinged) >= limits.ping_every;
        if is_due {
            pinged = now;
        }
        let tended = here.hub.with_handler(&TEND).call(move |hub, _| {
            if is_due {
                hub.ping(None);
            }
            hub.tend(now)
        });
        // The runtime ends.
        let Ok(wanted) = tended.await else { return };
        for host in wanted {
            dial(&here, host);
        }
        if now.duration_since(saved) >= limits.hosts_every {
            saved = now;
            save_hosts(&here).await;
        }
        if !matches!(
            here.unless_stopped(sleep(limits.tend_every)).await,
            Some(Ok(()))
        ) {
            return;
        }
    }
}

/// Writes the hosts to their file, if there is one. What goes wrong will again when the node ends,
/// and be told then.
async fn save_hosts(here: &Here) {
    let Some(path) = here.setting.options.hosts.clone() else {
        return;
    };
    if let Ok(text) = here.hub.call(|hub, _| hub.hosts_text()).await {
        let write = move || super::hosts_file::write(&path, &text);
        let _ = mely_async::spawn_blocking(write).await;
    }
}

/// Connects to a host, under a color of its own.
fn dial(here: &Here, Wanted(host): Wanted) {
    let line: Colored<Line> = here.group.colored(None);
    let attempt = Attempt {
        hub: here.hub.clone(),
        host,
        is_reached: false,
    };
    let here = here.clone();
    line.spawn_with(|line| connect(here, line, attempt))
        .detach();
}

/// Tells how it went with a host, when it is dropped.
struct Attempt {
    hub: Colored<Hub>,
    host: String,
    is_reached: bool,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let (host, is_reached) = (std::mem::take(&mut self.host), self.is_reached);
        // It fails only where the runtime has ended, and the hub with it.
        let _ = self
            .hub
            .post_control(move |hub, cx| hub.ended(&host, is_reached, cx.now()));
    }
}

async fn connect(here: Here, line: TaskState<Line>, mut attempt: Attempt) {
    let meeting = here.unless_stopped(meet(&here, &line, &attempt.host));
    match meeting.await {
        Some(Ok((seat, stream, met))) => {
            attempt.is_reached = true;
            here.setting.counts.handshakes.add(1);
            let (host, address) = (attempt.host.clone(), stream.peer_addr());
            let address = address.ok().and_then(plain);
            let reached = here.hub.call(move |hub, _| hub.reached(&host, address));
            reached.await.ok();
            session::converse(here, seat, line, stream, met).await;
        }
        Some(Err(NotMet::Refused(hosts))) => {
            here.hub.call(move |hub, _| hub.heard(&hosts)).await.ok();
        }
        Some(Err(NotMet::Failed)) => here.setting.counts.failed_handshakes.add(1),
        None => {}
    }
}

/// Meets a host, by the handshake of version 0.4 if it does not know that of 0.6.
async fn meet(
    here: &Here,
    line: &TaskState<Line>,
    host: &str,
) -> Result<(Seat, TcpStream, Met), NotMet> {
    let reserved = here.reserve(Role::Ultrapeer, line.colored()).await;
    let reserved = reserved.map_err(|_| NotMet::Failed)?;
    let seat = reserved.map_err(|_full| NotMet::Failed)?;
    let connect_time = here.setting.options.node.connect_time;
    let looked_up = timeout(connect_time, lookup_host(host.to_owned())).await;
    let addresses = looked_up.map_err(|_| NotMet::Failed)??;
    for address in addresses
        .into_iter()
        .filter(|address| plain(*address).is_some())
    {
        for version in [ProtocolVersion::V06, ProtocolVersion::V04] {
            match once(here, address, version).await {
                Ok((stream, met)) => return Ok((seat, stream, met)),
                Err(NotMet::Failed) => {}
                Err(refused) => return Err(refused),
            }
        }
    }
    Err(NotMet::Failed)
}

async fn once(
    here: &Here,
    address: SocketAddr,
    version: ProtocolVersion,
) -> Result<(TcpStream, Met), NotMet> {
    let limits = &here.setting.options.node;
    let connected = timeout(limits.connect_time, TcpStream::connect(address)).await;
    let mut stream = connected.map_err(|_| NotMet::Failed)??;
    // A peer that is gone already will be noticed.
    let _ = stream.set_nodelay(true);
    let meeting = meet::initiate(here, &mut stream, address, version);
    let met = timeout(limits.handshake_time, meeting).await;
    met.map_err(|_| NotMet::Failed)?.map(|met| (stream, met))
}
