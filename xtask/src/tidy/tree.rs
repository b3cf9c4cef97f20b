//! The repository's files, read once for all rules.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::Error;

/// A text file: its path from the root with `/` between names, and its content.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) path: String,
    pub(super) content: String,
}

impl Text {
    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(super) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }
}

#[derive(Debug, Default)]
pub(super) struct Tree {
    texts: Vec<Text>,
    /// Every file and folder, text or not.
    paths: BTreeSet<String>,
}

/// Not part of the repository's own text. In a second work tree `.git` is a file.
const SKIPPED: &[&str] = &[".git", "target"];

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self, Error> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, content) in files {
            tree.add(path, content.as_bytes());
            let folders = path
                .match_indices('/')
                .map(|(end, _)| path[..end].to_owned());
            tree.paths.extend(folders);
        }
        tree
    }

    pub(super) fn texts(&self) -> &[Text] {
        &self.texts
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(|text| text.is_rust())
    }

    pub(super) fn text(&self, path: &str) -> Option<&Text> {
        self.texts.iter().find(|text| text.path == path)
    }

    /// Whether a file or folder is there; the root is the empty path.
    pub(super) fn has(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<(), Error> {
        let at = |path: &Path, source| Error::Io {
            path: path.to_owned(),
            source,
        };
        let mut entries = std::fs::read_dir(folder)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|source| at(folder, source))?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let relative = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(|source| at(&path, source))?;
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            if kind.is_dir() {
                self.read_folder(&path, &format!("{relative}/"))?;
                self.paths.insert(relative);
            } else if kind.is_file() {
                let bytes = std::fs::read(&path).map_err(|source| at(&path, source))?;
                self.add(&relative, &bytes);
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &str, bytes: &[u8]) {
        self.paths.insert(path.to_owned());
        if bytes.contains(&0) {
            return;
        }
        if let Ok(content) = std::str::from_utf8(bytes) {
            self.texts.push(Text {
                path: path.to_owned(),
                content: content.to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_repository_is_seen() {
        let tree = Tree::read(&crate::run::root()).unwrap();
        assert!(tree.text("xtask/src/tidy/tree.rs").is_some());
        assert!(tree.has(".ci/run") && tree.has("xtask/src"));
        assert!(!tree.has("target") && !tree.has(".git"));
    }

    #[test]
    fn binary_files_exist_but_are_no_text() {
        let tree = Tree::of(&[("a/image.png", "\0\u{1}"), ("a/text", "x\n")]);
        assert!(tree.has("a/image.png") && tree.has("a"));
        assert_eq!(tree.texts().len(), 1);
    }
}
