//! Searches of this node's own.

use super::Hub;
use super::route::own;
use crate::guid::Guid;
use crate::header::Kind;
use crate::message::{Message, Query, QueryFlags, QueryHit};
use crate::node::setting::QUERY_TTL;
use crate::urn::Sha1Urn;
use std::net::SocketAddrV4;

/// A file that another node has ([`Node::search`](crate::node::Node::search)).
///
/// ```
/// use mely_gnutella::{FileTarget, node::Found};
/// fn url(found: &Found) -> String {
///     let target = match found.sha1 {
///         Some(sha1) => FileTarget::Content(sha1),
///         None => FileTarget::Index { index: found.index, name: found.name.clone() },
///     };
///     format!("http://{}{target}", found.address)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it can be had.
    pub address: SocketAddrV4,
    /// The servent that has it, for pushes.
    pub servent: Guid,
    /// Its number there.
    pub index: u32,
    /// Its length.
    pub bytes: u64,
    /// Its name.
    pub name: String,
    /// The name of its content, if it was told.
    pub sha1: Option<Sha1Urn>,
    /// Whether the servent says that it cannot be connected to.
    pub needs_push: bool,
}

/// What is done with what is found.
pub(in crate::node) type OnFound = Box<dyn FnMut(Found) + Send>;

pub(super) struct Search {
    guid: Guid,
    on_found: OnFound,
}

impl Hub {
    /// Searches the network: whether the search can be made.
    pub(in crate::node) fn search(&mut self, words: &str, on_found: OnFound) -> bool {
        let max = self.setting.options.node.max_searches;
        let Some(header) = own(Kind::Query, QUERY_TTL) else {
            return false;
        };
        if words.contains('\0') || words.len() > self.setting.options.protocol.max_query_text_bytes
        {
            return false;
        }
        let guid = header.guid;
        self.searches.push_back(Search { guid, on_found });
        while self.searches.len() > max {
            self.searches.pop_front();
        }
        // Names of content are wanted.
        let query = Query {
            flags: QueryFlags::default(),
            text: words.as_bytes(),
            extensions: b"urn:",
        };
        self.originate(header, &Message::Query(query))
    }

    /// Tells who searched.
    pub(super) fn found(&mut self, guid: Guid, hit: &QueryHit<'_>) {
        let limits = &self.setting.options.protocol;
        let mut searches = self.searches.iter_mut();
        let Some(search) = searches.find(|search| search.guid == guid) else {
            return;
        };
        let flags = hit
            .trailer
            .map(|trailer| trailer.flags())
            .unwrap_or_default();
        for result in &hit.results {
            let extensions = result.extensions(limits).unwrap_or_default();
            (search.on_found)(Found {
                address: hit.address,
                servent: hit.servent,
                index: result.index,
                bytes: u64::from(result.bytes),
                name: String::from_utf8_lossy(result.name).into_owned(),
                sha1: extensions.iter().find_map(|extension| extension.sha1()),
                needs_push: flags.push == Some(true),
            });
        }
    }
}
