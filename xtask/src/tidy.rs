//! `cargo xtask tidy`: the rules of this repository that a machine can hold.
//!
//! A rule is a function from the repository's files to what breaks it, so that
//! its test can plant a violation without touching the disk. How long a
//! function may be is clippy's to say (clippy.toml).

mod layers;
mod links;
mod purity;
mod size;
mod source;
mod text;
mod tree;
mod unsafe_list;

use std::fmt;
use std::path::Path;

use crate::error::Error;
use tree::Tree;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    path: String,
    /// Counted from 1; 0 when the whole file is meant.
    line: usize,
    what: String,
}

impl Violation {
    fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }

    fn of_file(path: &str, what: impl Into<String>) -> Self {
        Self::at(path, 0, what)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: &[Rule] = &[
    size::files_are_short,
    text::whitespace_is_clean,
    text::no_machine_paths,
    text::nothing_is_left_to_do,
    unsafe_list::unsafe_only_where_listed,
    unsafe_list::list_is_current,
    layers::imports_run_down,
    links::relative_links_resolve,
    purity::protocols_do_no_io,
    purity::scheduler_is_pure,
];

pub(crate) fn run(root: &Path) -> Result<(), Error> {
    let tree = Tree::read(root)?;
    let violations = violations(&tree);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => {
            println!("{} files keep {} rules", tree.texts().len(), RULES.len());
            Ok(())
        }
        violations => Err(Error::Untidy { violations }),
    }
}

fn violations(tree: &Tree) -> Vec<Violation> {
    RULES.iter().flat_map(|rule| rule(tree)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "# Map\n<!-- unsafe-files:begin -->\n<!-- unsafe-files:end -->\n\
        <!-- layers:begin -->\n<!-- layers:end -->\n";

    #[test]
    fn a_clean_repository_breaks_no_rule() {
        let listing_sched =
            MAP.replace("<!-- layers:end", "- `crates/sched/src`:\n<!-- layers:end");
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", &listing_sched),
            ("README.md", "See [the map](ARCHITECTURE.md).\n"),
            ("crates/sched/src/lib.rs", "//! Uses no std::thread.\n"),
        ]);
        assert_eq!(violations(&tree), []);
    }

    #[test]
    fn a_violation_names_its_place() {
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", MAP),
            ("src/lib.rs", "fn a() {}\nfn b() {} \n"),
        ]);
        let found = violations(&tree);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].to_string().starts_with("src/lib.rs:2: "),
            "{}",
            found[0]
        );
    }
}
