//! The checks, each a function from a book to what is wrong with it.

use super::book::{Block, Book, Page};

pub(crate) fn the_summary_names_each_page_once(book: &Book) -> Vec<String> {
    let mut found = Vec::new();
    for path in book.pages.keys() {
        let links = book.summary.links.iter();
        let times = links.filter(|link| *link == path).count();
        if times != 1 {
            found.push(format!("{path}: SUMMARY.md names it {times} times"));
        }
    }
    found
}

pub(crate) fn the_pages_that_are_tested_are_all(book: &Book) -> Vec<String> {
    let is_tested = |path: &&String| book.tested.contains(*path);
    let untested = book.pages.keys().filter(|path| !is_tested(path));
    let untested = untested.map(|path| format!("{path}: the crate mely-guide does not test it"));
    let is_there = |path: &&String| book.pages.contains_key(*path);
    let missing = book.tested.iter().filter(|path| !is_there(path));
    let missing =
        missing.map(|path| format!("{path}: the crate mely-guide tests it, and it is not there"));
    untested.chain(missing).collect()
}

/// Links of pages stay in the book: mdBook renders nothing else.
pub(crate) fn links_lead_somewhere(book: &Book) -> Vec<String> {
    let summary = ("SUMMARY.md".to_owned(), &book.summary);
    let pages = book.pages.iter().map(|(path, page)| (path.clone(), page));
    let mut found = Vec::new();
    for (path, page) in pages.chain([summary]) {
        for link in &page.links {
            if !link.contains(':') && !leads(book, &path, page, link) {
                found.push(format!("{path}: `{link}` leads nowhere"));
            }
        }
    }
    found
}

fn leads(book: &Book, from: &str, page: &Page, link: &str) -> bool {
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (link, None),
    };
    let target = match file {
        "" => Some(page),
        file => resolved(from, file).and_then(|path| book.pages.get(&path)),
    };
    target.is_some_and(|page| anchor.is_none_or(|anchor| page.anchors.contains(anchor)))
}

fn resolved(from: &str, file: &str) -> Option<String> {
    let mut names: Vec<_> = from.split('/').collect();
    names.pop();
    for name in file.split('/') {
        match name {
            "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

pub(crate) fn each_page_begins_with_a_program_that_runs(book: &Book) -> Vec<String> {
    let begins = |page: &Page| {
        let first = page.blocks.first();
        page.begins_with_block && first.is_some_and(|block| block.info == "rust")
    };
    let pages = book.pages.iter().filter(|(_, page)| !begins(page));
    pages
        .map(|(path, _)| format!("{path}: it does not begin with a title and a program that runs"))
        .collect()
}

pub(crate) fn each_block_names_its_language(book: &Book) -> Vec<String> {
    let has_none = |page: &Page| page.blocks.iter().any(|block| block.info.is_empty());
    let pages = book.pages.iter().filter(|(_, page)| has_none(page));
    pages
        .map(|(path, _)| format!("{path}: a block has no language"))
        .collect()
}

/// As many characters as mdBook shows beside each other.
const CODE_WIDTH: usize = 84;

pub(crate) fn code_fits_its_page(book: &Book) -> Vec<String> {
    let mut found = Vec::new();
    for (path, page) in &book.pages {
        for line in page.blocks.iter().flat_map(Block::lines) {
            if line.chars().count() > CODE_WIDTH {
                found.push(format!(
                    "{path}: longer than {CODE_WIDTH} characters: {line}"
                ));
            }
        }
    }
    found
}

/// Pages for those who come from elsewhere have programs of other libraries.
pub(crate) fn only_code_of_others_is_not_tested(book: &Book) -> Vec<String> {
    let is_tested = |path: &str, page: &Page| {
        page.blocks
            .iter()
            .filter(|block| block.is_rust())
            .all(|block| {
                !block.has("no_run") && (!block.has("ignore") || path.starts_with("from/"))
            })
    };
    let pages = book
        .pages
        .iter()
        .filter(|(path, page)| !is_tested(path, page));
    pages
        .map(|(path, _)| format!("{path}: a block of Rust is not tested"))
        .collect()
}
