//! What this node shares, and what of it a search finds.

use crate::error::Error;
use crate::extension::EXTENSION_SEPARATOR;
use crate::ggep::Ggep;
use crate::limits::Limits;
use crate::message::{HitResult, Query};
use crate::qrp::RouteTable;
use crate::urn::Sha1Urn;
use crate::words::words;
use std::collections::{BTreeMap, HashMap};

/// A file that is shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    index: u32,
    name: String,
    bytes: u64,
    sha1: Option<Sha1Urn>,
    extensions: Vec<u8>,
}

impl SharedFile {
    /// The number by which others ask for it.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The name of its content, if that is known.
    pub fn sha1(&self) -> Option<Sha1Urn> {
        self.sha1
    }

    /// The file as a result of a search.
    pub fn result(&self) -> HitResult<'_> {
        HitResult {
            index: self.index,
            bytes: u32::try_from(self.bytes).unwrap_or(u32::MAX),
            name: self.name.as_bytes(),
            extensions: &self.extensions,
        }
    }
}

/// The files that are shared, by number, word and content.
///
/// ```
/// use mely_gnutella::{FileIndex, Limits, Query, QueryFlags};
/// let limits = Limits::default();
/// let mut files = FileIndex::new(&limits);
/// let index = files.add("Free Song.ogg", 3_000_000, None)?;
/// let query = Query { flags: QueryFlags::default(), text: b"song FREE", extensions: b"" };
/// let found = files.search(&query, &limits)?;
/// assert_eq!((found.len(), found[0].index()), (1, index));
/// # Ok::<(), mely_gnutella::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FileIndex {
    files: BTreeMap<u32, SharedFile>,
    /// The numbers of the files that have a word, in their order.
    by_word: HashMap<String, Vec<u32>>,
    by_sha1: HashMap<Sha1Urn, Vec<u32>>,
    next: u32,
    files_max: usize,
    name_bytes_max: usize,
}

impl FileIndex {
    /// An index without files.
    pub fn new(limits: &Limits) -> Self {
        Self {
            files: BTreeMap::new(),
            by_word: HashMap::new(),
            by_sha1: HashMap::new(),
            next: 1,
            files_max: limits.max_files,
            name_bytes_max: limits.max_file_name_bytes,
        }
    }

    /// Shares a file, and gives its number, which no other file will have.
    ///
    /// # Errors
    /// [`Error::TooMany`] files; [`Error::TooLong`] and [`Error::Malformed`] for a name that is too
    /// long or nothing, or has control characters, which end names on their way.
    pub fn add(&mut self, name: &str, bytes: u64, sha1: Option<Sha1Urn>) -> Result<u32, Error> {
        let what = "the name of a file";
        if name.is_empty() || name.contains(char::is_control) {
            return Err(Error::Malformed { what });
        }
        if name.len() > self.name_bytes_max {
            return Err(Error::TooLong {
                what,
                max: self.name_bytes_max,
            });
        }
        if self.files.len() >= self.files_max || self.next == u32::MAX {
            return Err(Error::TooMany {
                what: "shared files",
                max: self.files_max,
            });
        }
        let index = self.next;
        self.next += 1;
        for word in words_once(name) {
            self.by_word.entry(word).or_default().push(index);
        }
        if let Some(sha1) = sha1 {
            self.by_sha1.entry(sha1).or_default().push(index);
        }
        let file = SharedFile {
            index,
            name: name.to_owned(),
            bytes,
            sha1,
            extensions: result_extensions(bytes, sha1)?,
        };
        self.files.insert(index, file);
        Ok(index)
    }

    /// Shares a file no longer, and gives it back.
    pub fn remove(&mut self, index: u32) -> Option<SharedFile> {
        let file = self.files.remove(&index)?;
        for word in words_once(&file.name) {
            take_out(&mut self.by_word, &word, index);
        }
        if let Some(sha1) = file.sha1 {
            take_out(&mut self.by_sha1, &sha1, index);
        }
        Some(file)
    }

    /// The file with this number.
    pub fn get(&self, index: u32) -> Option<&SharedFile> {
        self.files.get(&index)
    }

    /// The first file with this content.
    pub fn with_sha1(&self, sha1: Sha1Urn) -> Option<&SharedFile> {
        self.get(*self.by_sha1.get(&sha1)?.first()?)
    }

    /// All files, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &SharedFile> + '_ {
        self.files.values()
    }

    /// The number of files, and their bytes in KiB, as a pong tells them.
    pub fn counts(&self) -> (u32, u32) {
        let kbytes: u64 = self.iter().map(|file| file.bytes / 1024).sum();
        (
            u32::try_from(self.files.len()).unwrap_or(u32::MAX),
            u32::try_from(kbytes).unwrap_or(u32::MAX),
        )
    }

    /// The files that a query looks for: those with the content that it names, if it names any; else
    /// those whose names have all of its words. The first of them, as many as the limit says.
    ///
    /// # Errors
    /// Those of [`Query::extensions`].
    pub fn search(&self, query: &Query<'_>, limits: &Limits) -> Result<Vec<&SharedFile>, Error> {
        let extensions = query.extensions(limits)?;
        let wanted: Vec<_> = extensions.iter().filter_map(|one| one.sha1()).collect();
        let mut found = if wanted.is_empty() {
            self.with_words(&query.text_lossy(), limits.max_results)
        } else {
            let lists = wanted.iter().filter_map(|sha1| self.by_sha1.get(sha1));
            lists.flatten().copied().collect()
        };
        found.sort_unstable();
        found.dedup();
        found.truncate(limits.max_results);
        Ok(found.iter().filter_map(|&index| self.get(index)).collect())
    }

    fn with_words(&self, text: &str, max: usize) -> Vec<u32> {
        let mut lists = Vec::new();
        for word in words_once(text) {
            match self.by_word.get(&word) {
                Some(list) => lists.push(list),
                None => return Vec::new(),
            }
        }
        // The rarest word leaves the least to look up in the others.
        lists.sort_by_key(|list| list.len());
        let Some((rarest, others)) = lists.split_first() else {
            return Vec::new();
        };
        let in_all = |index: &&u32| others.iter().all(|list| list.binary_search(index).is_ok());
        rarest.iter().filter(in_all).take(max).copied().collect()
    }

    /// What this node tells its ultrapeers of its files.
    ///
    /// # Errors
    /// Those of [`RouteTable::new`].
    pub fn route_table(&self, slots: u32, limits: &Limits) -> Result<RouteTable, Error> {
        let mut table = RouteTable::new(slots, limits)?;
        for file in self.iter() {
            table.insert_name(&file.name);
            if let Some(sha1) = file.sha1 {
                table.insert_urn(sha1);
            }
        }
        Ok(table)
    }
}

fn words_once(text: &str) -> Vec<String> {
    let mut words: Vec<_> = words(text).collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn take_out<K: std::hash::Hash + Eq>(lists: &mut HashMap<K, Vec<u32>>, key: &K, index: u32) {
    if let Some(list) = lists.get_mut(key) {
        list.retain(|&one| one != index);
        if list.is_empty() {
            lists.remove(key);
        }
    }
}

/// What stands behind the name in every result: the content's name, and a length of more than 32
/// bits.
fn result_extensions(bytes: u64, sha1: Option<Sha1Urn>) -> Result<Vec<u8>, Error> {
    let mut extensions = Vec::new();
    if let Some(sha1) = sha1 {
        extensions.extend_from_slice(sha1.to_string().as_bytes());
    }
    if bytes > u64::from(u32::MAX) {
        if !extensions.is_empty() {
            extensions.push(EXTENSION_SEPARATOR);
        }
        let length = bytes.to_le_bytes();
        let mut block = Ggep::default();
        block.push(b"LF", crate::bytes::without_nuls(&length))?;
        block.write(true, &mut extensions);
    }
    Ok(extensions)
}

#[cfg(test)]
mod tests;
