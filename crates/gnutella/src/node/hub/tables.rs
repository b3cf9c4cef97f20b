//! Route tables: what this node and its leaves have, for others to know.

use super::Hub;
use super::route::{own, written};
use crate::handshake::Role;
use crate::header::Kind;
use crate::message::Message;
use crate::qrp::RouteTable;
use crate::routing::PeerId;
use std::sync::Arc;

impl Hub {
    /// A peer has told all that it has.
    pub(in crate::node) fn set_table(&mut self, from: PeerId, table: Arc<RouteTable>) {
        let is_leaf = |peer: &super::Peer| peer.role == Role::Leaf;
        self.is_table_old |= self.peers.get(&from).is_some_and(is_leaf);
        self.router.set_table(from, table);
    }

    /// Tells all that take tables, if there is something new.
    pub(super) fn tend_tables(&mut self) {
        if !std::mem::take(&mut self.is_table_old) {
            return;
        }
        let takers = self.peers.iter().filter(|(_, peer)| peer.takes_tables);
        let takers: Vec<_> = takers.map(|(&id, _)| id).collect();
        let Some(table) = self.table() else { return };
        for id in takers {
            self.send_this_table(id, &table);
        }
    }

    /// Tells one peer what there is to be had here, if it wants to know.
    pub(super) fn send_table(&mut self, id: PeerId) {
        if self.peers.get(&id).is_some_and(|peer| peer.takes_tables)
            && let Some(table) = self.table()
        {
            self.send_this_table(id, &table);
        }
    }

    fn table(&self) -> Option<RouteTable> {
        let slots = match self.setting.options.role {
            Role::Leaf => RouteTable::LEAF_SLOTS,
            Role::Ultrapeer => RouteTable::ULTRAPEER_SLOTS,
        };
        let limits = &self.setting.options.protocol;
        let files = self.setting.share.index();
        // It fails only where the limits have no room for a table.
        let mut table = files.route_table(slots, limits).ok()?;
        self.router.add_leaves(&mut table);
        Some(table)
    }

    fn send_this_table(&mut self, id: PeerId, table: &RouteTable) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        let updates = table.updates(peer.sent.as_ref());
        peer.sent = Some(table.clone());
        let mut messages = Vec::new();
        for update in updates {
            let Some(header) = own(Kind::RouteTable, 1) else {
                return;
            };
            messages.push(written(&Message::RouteTable(update), header));
        }
        if !messages.is_empty() {
            self.send(id, messages);
        }
    }
}
