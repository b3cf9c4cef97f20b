//! Rules about plain text: blanks, paths of one machine, unfinished work.

use super::Violation;
use super::source::{code_only, is_ident, line_of, word_places};
use super::tree::{Text, Tree};

/// The beginnings of paths that only exist on somebody's machine. Written in
/// two parts, or this file would break its own rule.
const MACHINE_PATHS: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
];

const UNFINISHED: &[&str] = &["todo", "unimplemented"];

pub(super) fn whitespace_is_clean(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for text in tree.texts() {
        // Go's own formatter indents with tabs.
        let is_go = text.path.ends_with(".go");
        let has_tab = |line: &str| match is_go {
            true => line.trim_start_matches('\t').contains('\t'),
            false => line.contains('\t'),
        };
        found.extend(lines_with(text, has_tab, "a tab: use spaces"));
        let trails = |line: &str| line.ends_with([' ', '\t', '\r']);
        found.extend(lines_with(text, trails, "blanks at the end of the line"));
        if !text.content.is_empty() && !text.content.ends_with('\n') {
            found.push(Violation::of_file(
                &text.path,
                "no line break at the end of the file",
            ));
        }
    }
    found
}

pub(super) fn no_machine_paths(tree: &Tree) -> Vec<Violation> {
    let what = "an absolute path of one machine";
    tree.texts()
        .iter()
        .flat_map(|text| lines_with(text, names_machine_path, what))
        .collect()
}

pub(super) fn nothing_is_left_to_do(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for text in tree.rust() {
        let code = code_only(&text.content);
        for name in UNFINISHED {
            let calls =
                word_places(&code, name).filter(|at| code[at + name.len()..].starts_with('!'));
            found.extend(calls.map(|at| {
                let what = format!("`{name}!`: finish it or leave it out");
                Violation::at(&text.path, line_of(&code, at), what)
            }));
        }
    }
    found
}

/// Inside a longer path (`src/work/`) or an address it is no absolute path.
fn names_machine_path(line: &str) -> bool {
    MACHINE_PATHS.iter().any(|path| {
        let mut places = line.match_indices(path);
        places.any(|(at, _)| !line[..at].ends_with(|c| is_ident(c) || ".-/~}".contains(c)))
    })
}

fn lines_with(text: &Text, is_bad: impl Fn(&str) -> bool, what: &str) -> Vec<Violation> {
    // `str::lines` would hide a carriage return.
    let lines = text.content.split('\n').zip(1..);
    let bad = lines.filter(|(line, _)| is_bad(line));
    bad.map(|(_, number)| Violation::at(&text.path, number, what))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(content: &str) -> Tree {
        Tree::of(&[("a.rs", content)])
    }

    fn lines(found: Vec<Violation>) -> Vec<usize> {
        found.into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn tabs_and_trailing_blanks_are_caught() {
        assert_eq!(
            lines(whitespace_is_clean(&tree("a\n\tb\nc \nd\r\n"))),
            [2, 3, 4]
        );
        assert_eq!(lines(whitespace_is_clean(&tree("no line break"))), [0]);
        assert_eq!(lines(whitespace_is_clean(&tree("a\n\n    b\n"))), []);
        assert_eq!(lines(whitespace_is_clean(&tree(""))), []);
    }

    #[test]
    fn go_is_indented_with_tabs_and_has_them_nowhere_else() {
        let go = Tree::of(&[("a.go", "func a() {\n\t\tb()\n\tc\td\n}\n")]);
        assert_eq!(lines(whitespace_is_clean(&go)), [3]);
    }

    #[test]
    fn paths_of_one_machine_are_caught() {
        for path in MACHINE_PATHS {
            let planted = format!("ok\nsee {path}me/notes\n(\"{path}x\")\n");
            assert_eq!(lines(no_machine_paths(&tree(&planted))), [2, 3], "{path}");
            let inside = format!("src{path}x https://example.com{path}x ..{path}x\n");
            assert_eq!(lines(no_machine_paths(&tree(&inside))), [], "{path}");
        }
    }

    #[test]
    fn unfinished_work_is_caught_in_code_only() {
        let planted =
            "fn a() {\n    todo!()\n}\n// todo!() \"todo!\"\nfn b() { unimplemented!(\"x\") }\n";
        assert_eq!(lines(nothing_is_left_to_do(&tree(planted))), [2, 5]);
        assert_eq!(
            lines(nothing_is_left_to_do(&tree(
                "let todo = 1; if todo != 2 {}\n"
            ))),
            []
        );
    }
}
