//! The pages of a book, and what is on them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

/// A page as mdBook's parser reads it.
#[derive(Default)]
pub(crate) struct Page {
    /// What leads elsewhere: links and pictures.
    pub(crate) links: Vec<String>,
    /// What `#` may be followed by.
    pub(crate) anchors: BTreeSet<String>,
    pub(crate) blocks: Vec<Block>,
    /// Whether the first thing is a title of the first rank and the second a block of code.
    pub(crate) begins_with_block: bool,
}

/// A block of code.
pub(crate) struct Block {
    /// What follows its fence; nothing where it has none.
    pub(crate) info: String,
    pub(crate) text: String,
}

impl Block {
    pub(crate) fn is_rust(&self) -> bool {
        self.info.split(',').next() == Some("rust")
    }

    /// The lines that readers of the book see.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        let is_hidden = |line: &&str| {
            let line = line.trim_start();
            self.is_rust() && (line == "#" || line.starts_with("# "))
        };
        self.text.lines().filter(move |line| !is_hidden(line))
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.info.split(',').any(|own| own == word)
    }
}

/// The pages of a book by their paths, and those that the doctests know.
pub(crate) struct Book {
    pub(crate) summary: Page,
    pub(crate) pages: BTreeMap<String, Page>,
    pub(crate) tested: BTreeSet<String>,
}

impl Book {
    pub(crate) fn of(summary: &str, pages: &[(&str, &str)], tested: &[&str]) -> Self {
        let pages = pages.iter();
        Self {
            summary: Page::parse(summary),
            pages: pages
                .map(|(path, text)| ((*path).to_owned(), Page::parse(text)))
                .collect(),
            tested: tested.iter().map(|&path| path.to_owned()).collect(),
        }
    }

    pub(crate) fn read(folder: &Path, tested: &[&str]) -> io::Result<Self> {
        let mut texts = Vec::new();
        read_into(&mut texts, folder, "")?;
        let is_summary = |path: &str| path == "SUMMARY.md";
        let summary = texts.iter().find(|(path, _)| is_summary(path));
        let summary = summary.map_or("", |(_, text)| text);
        let pages: Vec<_> = texts
            .iter()
            .filter(|(path, _)| !is_summary(path))
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        Ok(Self::of(summary, &pages, tested))
    }
}

/// Adds what is in a folder, whose path in the book is `within`.
fn read_into(texts: &mut Vec<(String, String)>, folder: &Path, within: &str) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{within}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_into(texts, &entry.path(), &format!("{path}/"))?;
        } else {
            texts.push((path, std::fs::read_to_string(entry.path())?));
        }
    }
    Ok(())
}

impl Page {
    pub(crate) fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut heading = None;
        let mut is_code = false;
        let mut begun = Vec::new();
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match &event {
                Event::Start(tag) => {
                    if begun.len() < 2 && !matches!(tag, Tag::Link { .. }) {
                        begun.push(kind(tag));
                    }
                    match tag {
                        Tag::Heading { .. } => heading = Some(String::new()),
                        Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                            page.links.push(dest_url.to_string());
                        }
                        Tag::CodeBlock(kind) => {
                            is_code = true;
                            page.blocks.push(Block {
                                info: info(kind).to_string(),
                                text: String::new(),
                            });
                        }
                        _ => {}
                    }
                }
                Event::Text(text) | Event::Code(text) => {
                    match (&mut heading, page.blocks.last_mut()) {
                        (Some(heading), _) => heading.push_str(text),
                        (None, Some(block)) if is_code => block.text.push_str(text),
                        _ => {}
                    }
                }
                Event::End(TagEnd::CodeBlock) => is_code = false,
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors
                        .extend(heading.take().map(|text| anchor(&text)));
                }
                _ => {}
            }
        }
        page.begins_with_block = begun == ["title", "code"];
        page
    }
}

fn kind(tag: &Tag) -> &'static str {
    match tag {
        Tag::Heading { level, .. } if *level as usize == 1 => "title",
        Tag::CodeBlock(_) => "code",
        _ => "words",
    }
}

fn info<'a>(kind: &'a CodeBlockKind) -> &'a str {
    match kind {
        CodeBlockKind::Fenced(CowStr::Borrowed(info)) => info,
        CodeBlockKind::Fenced(info) => info,
        CodeBlockKind::Indented => "",
    }
}

/// As mdBook makes it of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.collect()
}
