//! What a file imports: its `use` items, and paths in its code.

use super::super::source::{is_ident, line_of, word_places};

/// A path that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) segments: Vec<String>,
    /// What it is called from then on; nothing for a glob or a path in code.
    pub(super) binds: Option<String>,
    pub(super) line: usize,
    /// The place in the code.
    pub(super) at: usize,
}

/// All that a file names. Paths in code count where they begin at the crate, at this
/// module or at its parent: others begin with a name that was imported.
pub(super) fn named(code: &str) -> Vec<Named> {
    let mut found = Vec::new();
    let mut rest_of_code = code.to_owned();
    for at in word_places(code, "use") {
        let item = &code[at + "use".len()..];
        let Some(end) = item
            .find(';')
            .filter(|_| !item.trim_start().starts_with('<'))
        else {
            continue;
        };
        let mut leaves = Vec::new();
        parse(&item[..end], &[], &mut leaves);
        let line = line_of(code, at);
        found.extend(leaves.into_iter().map(|(segments, binds)| Named {
            segments,
            binds,
            line,
            at,
        }));
        let item = at..at + "use".len() + end;
        rest_of_code.replace_range(item.clone(), &" ".repeat(item.len()));
    }
    for root in ["crate", "super", "self"] {
        for at in word_places(&rest_of_code, root) {
            let before = &rest_of_code[..at];
            let is_visibility = before.trim_end().ends_with("(in");
            if before.ends_with("::") || is_visibility {
                continue;
            }
            let segments = path_at(&rest_of_code[at..]);
            if segments.len() > 1 {
                found.push(Named {
                    segments,
                    binds: None,
                    line: line_of(code, at),
                    at,
                });
            }
        }
    }
    found
}

fn path_at(code: &str) -> Vec<String> {
    let mut segments = Vec::new();
    let mut rest = code;
    loop {
        let end = rest.find(|c| !is_ident(c)).unwrap_or(rest.len());
        if end == 0 {
            return segments;
        }
        segments.push(rest[..end].to_owned());
        match rest[end..].strip_prefix("::") {
            Some(after) => rest = after,
            None => return segments,
        }
    }
}

type Leaf = (Vec<String>, Option<String>);

/// The paths of one tree of imports: `a::{b, c::{self, D as E}, f::*}` has four.
fn parse(tree: &str, prefix: &[String], leaves: &mut Vec<Leaf>) {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let mut prefix = prefix.to_vec();
        prefix.extend(segments(&tree[..open]));
        let close = tree.rfind('}').unwrap_or(tree.len());
        for item in items(&tree[open + 1..close]) {
            parse(item, &prefix, leaves);
        }
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    let mut all = prefix.to_vec();
    all.extend(segments(path));
    if all.last().is_some_and(|last| last == "*") {
        all.pop();
        leaves.push((all, None));
        return;
    }
    if !prefix.is_empty() && all.last().is_some_and(|last| last == "self") {
        all.pop();
    }
    let binds = alias.or_else(|| all.last().cloned());
    if !all.is_empty() {
        leaves.push((all, binds));
    }
}

fn segments(path: &str) -> impl Iterator<Item = String> {
    let names = path.split("::").map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The items of a group, split at its own commas.
fn items(group: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut begin = 0;
    let mut found = Vec::new();
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&group[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&group[begin..]);
    found.retain(|item| !item.trim().is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<(String, Option<String>, usize)> {
        let all = named(code).into_iter();
        all.map(|named| (named.segments.join("::"), named.binds, named.line))
            .collect()
    }

    fn bound(path: &str, name: &str, line: usize) -> (String, Option<String>, usize) {
        (path.to_owned(), Some(name.to_owned()), line)
    }

    #[test]
    fn groups_are_taken_apart() {
        let code = "use crate::a;\npub(crate) use super::{b::{self, C as D}, e::*};\n";
        let expected = [
            bound("crate::a", "a", 1),
            bound("super::b", "b", 2),
            bound("super::b::C", "D", 2),
            ("super::e".to_owned(), None, 2),
        ];
        assert_eq!(paths(code), expected);
    }

    #[test]
    fn paths_in_code_count_and_visibility_does_not() {
        let code = "pub(in crate::x) fn a() -> impl F + use<> {\n    crate::b::c(self::d::E)\n}\n";
        let expected = [
            ("crate::b::c".to_owned(), None, 2),
            ("self::d::E".to_owned(), None, 2),
        ];
        assert_eq!(paths(code), expected);
        assert_eq!(paths("pub(crate) fn a(self) { self.b() }"), []);
    }
}
