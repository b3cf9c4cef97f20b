//! `unsafe` lives only in the files that ARCHITECTURE.md names.

use super::Violation;
use super::source::{code_only, has_word, line_of, word_places};
use super::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- unsafe-files:begin -->";
const END: &str = "<!-- unsafe-files:end -->";

pub(super) fn unsafe_only_where_listed(tree: &Tree) -> Vec<Violation> {
    let listed = listed(tree).unwrap_or_default();
    let mut found = Vec::new();
    for text in tree
        .rust()
        .filter(|text| !listed.iter().any(|(path, _)| *path == text.path))
    {
        let code = code_only(&text.content);
        if let Some(at) = word_places(&code, "unsafe").next() {
            let what = format!("`unsafe` in a file that {MAP} does not list");
            found.push(Violation::at(&text.path, line_of(&code, at), what));
        }
    }
    found
}

/// Every listed file is there and still needs to be listed.
pub(super) fn list_is_current(tree: &Tree) -> Vec<Violation> {
    let Some(listed) = listed(tree) else {
        let what = format!("no list of unsafe files between `{BEGIN}` and `{END}`");
        return vec![Violation::of_file(MAP, what)];
    };
    let mut found = Vec::new();
    for (path, line) in listed {
        match tree.text(&path) {
            None => found.push(Violation::at(MAP, line, format!("`{path}` is not there"))),
            Some(text) if !has_word(&code_only(&text.content), "unsafe") => {
                found.push(Violation::at(
                    MAP,
                    line,
                    format!("`{path}` has no `unsafe` any more"),
                ));
            }
            Some(_) => {}
        }
    }
    found
}

/// The paths of the list with their lines, or nothing when there is no list.
fn listed(tree: &Tree) -> Option<Vec<(String, usize)>> {
    let map = &tree.text(MAP)?.content;
    let begin = map.find(BEGIN)?;
    let end = begin + map[begin..].find(END)?;
    let first_line = line_of(map, begin);
    let bullets = map[begin..end]
        .lines()
        .zip(first_line..)
        .filter_map(|(line, number)| {
            let item = line.trim_start().strip_prefix(['-', '*'])?;
            Some((item.split('`').nth(1)?.to_owned(), number))
        });
    Some(bullets.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(items: &str) -> String {
        format!("# Map\n\n{BEGIN}\n{items}{END}\n\n- `not/listed.rs`\n")
    }

    fn places(found: Vec<Violation>) -> Vec<(String, usize)> {
        found
            .into_iter()
            .map(|violation| (violation.path, violation.line))
            .collect()
    }

    #[test]
    fn unsafe_outside_the_list_is_caught() {
        let map = map("- `a/node.rs`: queue nodes\n");
        let tree = Tree::of(&[
            (MAP, &map),
            ("a/node.rs", "unsafe impl Send for Node {}\n"),
            ("a/other.rs", "fn a() {\n    unsafe { b() }\n}\n"),
            ("not/listed.rs", "unsafe fn c() {}\n"),
            ("a/fine.rs", "#![deny(unsafe_code)] // unsafe\n"),
        ]);
        let expected = [
            ("a/other.rs".to_owned(), 2),
            ("not/listed.rs".to_owned(), 1),
        ];
        assert_eq!(places(unsafe_only_where_listed(&tree)), expected);
        assert_eq!(places(list_is_current(&tree)), []);
    }

    #[test]
    fn a_listed_file_that_is_gone_or_safe_is_caught() {
        let map = map("- `a/gone.rs`\n- `a/safe.rs`: was unsafe once\n");
        let tree = Tree::of(&[(MAP, &map), ("a/safe.rs", "fn a() {}\n")]);
        assert_eq!(
            places(list_is_current(&tree)),
            [(MAP.to_owned(), 4), (MAP.to_owned(), 5)]
        );
    }

    #[test]
    fn without_a_list_nothing_may_be_unsafe() {
        for map in ["# Map\n", BEGIN] {
            let tree = Tree::of(&[(MAP, map), ("a.rs", "unsafe fn a() {}\n")]);
            assert_eq!(list_is_current(&tree).len(), 1);
            assert_eq!(unsafe_only_where_listed(&tree).len(), 1);
        }
        assert_eq!(list_is_current(&Tree::of(&[])).len(), 1);
    }
}
