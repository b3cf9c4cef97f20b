//! The modules of a crate, what each imports, and where that is.

use std::collections::{BTreeMap, BTreeSet};

use super::super::source::code_only;
use super::super::tree::Tree;
use super::imports;
use super::inline;

/// Names from the crate's root down; the root itself has none.
pub(super) type Path = Vec<String>;

/// Renamed imports of renamed imports are followed this far.
const HOPS_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Import {
    pub(super) file: String,
    pub(super) line: usize,
    segments: Vec<String>,
    binds: Option<String>,
    /// The modules within the file that it stands in.
    inline: Path,
}

/// The modules that are files, without those of tests.
#[derive(Debug, Default)]
pub(super) struct Modules {
    files: BTreeMap<Path, Vec<Import>>,
}

impl Modules {
    pub(super) fn read(tree: &Tree, folder: &str) -> Self {
        let mut modules = Self::default();
        let mut of_tests: Vec<Path> = Vec::new();
        for text in tree.rust() {
            let Some(path) = module_of(&text.path, folder) else {
                continue;
            };
            let (code, tests) = inline::without_tests(&code_only(&text.content));
            let within = |name| path.iter().cloned().chain([name]).collect();
            of_tests.extend(tests.into_iter().map(within));
            let inner = inline::modules(&code);
            let imports = imports::named(&code).into_iter().map(|named| Import {
                file: text.path.clone(),
                line: named.line,
                segments: named.segments,
                binds: named.binds,
                inline: inline::around(&inner, named.at),
            });
            modules.files.entry(path).or_default().extend(imports);
        }
        let is_of_tests = |path: &Path| of_tests.iter().any(|test| path.starts_with(test));
        modules.files.retain(|path, _| !is_of_tests(path));
        modules
    }

    /// The modules of the root.
    pub(super) fn rooms(&self) -> BTreeSet<String> {
        self.files
            .keys()
            .filter_map(|path| path.first().cloned())
            .collect()
    }

    /// Every import with the modules that it is from and to.
    pub(super) fn targets(&self) -> Vec<(Path, &Import, Path)> {
        let mut found = Vec::new();
        for (path, imports) in &self.files {
            for import in imports {
                let from = [&path[..], &import.inline].concat();
                if let Some(to) = self.resolve(&from, &import.segments, HOPS_MAX) {
                    found.push((path.clone(), import, to));
                }
            }
        }
        found
    }

    /// The module that has what a path names; nothing for what other crates have.
    fn resolve(&self, from: &[String], segments: &[String], hops: usize) -> Option<Path> {
        let (first, rest) = segments.split_first()?;
        let parents = segments.iter().take_while(|name| *name == "super").count();
        match first.as_str() {
            "crate" => self.walk(&[], rest, hops),
            "self" => self.walk(from, rest, hops),
            "super" => {
                let parent = from.len().checked_sub(parents)?;
                self.walk(&from[..parent], &segments[parents..], hops)
            }
            _ if self.files.contains_key(&child(from, first)) => self.walk(from, segments, hops),
            _ => self.follow(from, segments, hops)?,
        }
    }

    fn walk(&self, base: &[String], names: &[String], hops: usize) -> Option<Path> {
        let mut module = base.to_vec();
        for (index, name) in names.iter().enumerate() {
            let deeper = child(&module, name);
            if !self.files.contains_key(&deeper) {
                let imported = self.follow(&module, &names[index..], hops);
                return imported.unwrap_or_else(|| Some(self.file_of(&module)));
            }
            module = deeper;
        }
        Some(self.file_of(&module))
    }

    /// Where a name leads that a module has imported; nothing if it has not.
    fn follow(&self, module: &[String], names: &[String], hops: usize) -> Option<Option<Path>> {
        let (name, rest) = names.split_first()?;
        let file = self.file_of(module);
        let inline = &module[file.len()..];
        let imports = self.files.get(&file)?;
        let is_it = |i: &&Import| i.inline == inline && i.binds.as_ref() == Some(name);
        let import = imports.iter().find(is_it)?;
        let path = [&import.segments[..], rest].concat();
        Some(
            hops.checked_sub(1)
                .and_then(|hops| self.resolve(module, &path, hops)),
        )
    }

    /// The file that a module is in.
    fn file_of(&self, module: &[String]) -> Path {
        let lengths = (0..=module.len()).rev();
        let mut prefixes = lengths.map(|length| module[..length].to_vec());
        prefixes
            .find(|path| self.files.contains_key(path))
            .unwrap_or_default()
    }
}

fn child(module: &[String], name: &str) -> Path {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The module of a file: `a/mod.rs` and `a.rs` are both `a`, and `lib.rs` and `main.rs`
/// both the root.
fn module_of(file: &str, folder: &str) -> Option<Path> {
    let inner = file.strip_prefix(folder)?.strip_prefix('/')?;
    let mut names: Path = inner
        .strip_suffix(".rs")?
        .split('/')
        .map(str::to_owned)
        .collect();
    let is_root = names.len() == 1 && (names[0] == "lib" || names[0] == "main");
    if is_root || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    Some(names)
}
