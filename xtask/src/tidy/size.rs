//! How long a file may be.

use super::Violation;
use super::tree::{Text, Tree};

const LINES_MAX: usize = 400;

/// Tests are lists of cases: they stay readable for longer.
const TEST_LINES_MAX: usize = 600;

/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

pub(super) fn files_are_short(tree: &Tree) -> Vec<Violation> {
    let is_listed = |text: &Text| LONG_FILES.iter().any(|(path, _)| *path == text.path);
    tree.rust()
        .filter(|text| !is_listed(text))
        .filter_map(too_long)
        .collect()
}

fn too_long(text: &Text) -> Option<Violation> {
    let lines = text.content.lines().count();
    let max = if is_test(&text.path) {
        TEST_LINES_MAX
    } else {
        LINES_MAX
    };
    (lines > max).then(|| {
        let what = format!("{lines} lines, more than {max}: split it by concept");
        Violation::of_file(&text.path, what)
    })
}

fn is_test(path: &str) -> bool {
    path.split('/')
        .any(|name| name == "tests" || name == "tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, lines: usize) -> usize {
        files_are_short(&Tree::of(&[(path, &"a\n".repeat(lines))])).len()
    }

    #[test]
    fn a_long_file_is_caught() {
        assert_eq!(found("crates/mely/src/worker.rs", 401), 1);
        assert_eq!(found("crates/mely/src/worker.rs", 400), 0);
        assert_eq!(found("docs/guide.md", 4000), 0);
    }

    #[test]
    fn tests_may_be_longer_but_not_endless() {
        for path in ["crates/mely/tests/it/net.rs", "crates/mely/src/tests.rs"] {
            assert_eq!((found(path, 600), found(path, 601)), (0, 1));
        }
    }
}
