//! Bytes of a peer to messages: what the neighbour alone has to know is done here, the rest is the
//! hub's.

use crate::error::{Error, Treatment};
use crate::header::Kind;
use crate::message::Message;
use crate::node::outlet::{Line, Outlet};
use crate::qrp::RouteTable;
use crate::routing::DropReason;
use std::sync::Arc;

/// After so many bytes the hub is asked first: inflated, one read may be many.
const GATHERED_BYTES: usize = 64 * 1024;

/// Messages that have come.
#[derive(Default)]
pub(super) struct Gathered {
    /// Those that the hub decides about, one behind the other.
    pub(super) bytes: Vec<u8>,
    /// What the peer has, if that is another now.
    pub(super) table: Option<Arc<RouteTable>>,
    /// Why there are no more; nothing where more bytes are needed.
    pub(super) end: Option<Stop>,
}

/// Why no more messages are gathered.
pub(super) enum Stop {
    /// They are many: come again.
    Full,
    /// Nothing follows a bye.
    Bye,
    Broken(Error),
}

/// Takes bytes from the front of `input`, and gathers the messages that are whole.
pub(super) fn gather(line: &mut Line, input: &mut &[u8]) -> Gathered {
    let mut gathered = Gathered::default();
    let Some(outlet) = line else {
        return gathered;
    };
    loop {
        if gathered.bytes.len() >= GATHERED_BYTES {
            gathered.end = Some(Stop::Full);
            break;
        }
        match outlet.next(input, &mut gathered) {
            Ok(true) => {}
            Ok(false) => break,
            Err(stop) => {
                gathered.end = Some(stop);
                break;
            }
        }
    }
    gathered
}

impl Outlet {
    /// Takes one message: whether there was one.
    fn next(&mut self, input: &mut &[u8], gathered: &mut Gathered) -> Result<bool, Stop> {
        let (counts, limits) = (&self.setting.counts, &self.setting.options.protocol);
        let frame = match self.link.receive(input) {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(false),
            Err(error) => return Err(Stop::Broken(error)),
        };
        counts.received(frame.header.kind);
        match frame.header.kind {
            Kind::Bye if frame.header.hops == 0 => return Err(Stop::Bye),
            Kind::RouteTable if frame.header.hops == 0 => match Message::parse(&frame, limits) {
                Ok(Message::RouteTable(update)) => {
                    let changed = self.table.apply(&update, limits);
                    if changed.map_err(Stop::Broken)? {
                        gathered.table = self.table.table().cloned().map(Arc::new);
                    }
                }
                Ok(_) => {}
                Err(error) if error.treatment() == Treatment::CloseConnection => {
                    return Err(Stop::Broken(error));
                }
                Err(_) => counts.dropped(DropReason::Malformed),
            },
            _ => frame.write(&mut gathered.bytes),
        }
        Ok(true)
    }
}
