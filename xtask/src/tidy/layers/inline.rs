//! Modules within a file, and code that only tests are built with.

use std::ops::Range;

use super::super::source::{has_word, is_ident, word_places};

/// What begins an item that has commas of its own.
const ITEMS: &[&str] = &[
    "fn",
    "impl",
    "struct",
    "enum",
    "union",
    "trait",
    "mod",
    "use",
    "const",
    "static",
    "type",
    "unsafe",
    "async",
    "extern",
    "let",
    "macro_rules",
];

/// The code with all that is under `#[cfg(test)]` blanked out, and the modules whose
/// files are. A file that is under it as a whole has no code left.
pub(super) fn without_tests(code: &str) -> (String, Vec<String>) {
    if code
        .match_indices("#![cfg(")
        .any(|(at, _)| is_test(&code[at..]))
    {
        return (String::new(), Vec::new());
    }
    let mut left = code.to_owned();
    let mut files = Vec::new();
    for (at, _) in code.match_indices("#[cfg(") {
        // What a blanked item has within is gone already.
        if !left[at..].starts_with("#[cfg(") || !is_test(&code[at..]) {
            continue;
        }
        let item = item_after(code, at);
        let text = &code[item.clone()];
        if let Some(name) = text
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(';'))
        {
            files.push(name.trim().to_owned());
        }
        let blank: String = code[at..item.end]
            .chars()
            .map(|c| {
                if c == '\n' {
                    "\n".to_owned()
                } else {
                    " ".repeat(c.len_utf8())
                }
            })
            .collect();
        left.replace_range(at..item.end, &blank);
    }
    (left, files)
}

fn is_test(attribute: &str) -> bool {
    let end = attribute.find(']').unwrap_or(attribute.len());
    let condition = &attribute[..end];
    has_word(condition, "test") && !has_word(condition, "any") && !has_word(condition, "not")
}

/// What an attribute stands before, without other attributes and visibility.
fn item_after(code: &str, attribute: usize) -> Range<usize> {
    let mut at = attribute;
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        if code[at..].starts_with("#[") {
            at = closed(code, at + 1);
        } else if let Some(rest) = code[at..].strip_prefix("pub")
            && !rest.starts_with(is_ident)
        {
            at += "pub".len();
            if code[at..].starts_with('(') {
                at = closed(code, at);
            }
        } else {
            return at..item_end(code, at);
        }
    }
}

fn item_end(code: &str, begin: usize) -> usize {
    let word_end = code[begin..].find(|c| !is_ident(c)).unwrap_or(0);
    let is_item = ITEMS.contains(&&code[begin..begin + word_end]);
    let is_use = &code[begin..begin + word_end] == "use";
    let mut at = begin;
    while let Some(c) = code[at..].chars().next() {
        match c {
            ';' => return at + 1,
            ',' if !is_item => return at + 1,
            '}' | ')' | ']' => return at,
            '{' if !is_use => return closed(code, at),
            '(' | '[' | '{' => at = closed(code, at),
            _ => at += c.len_utf8(),
        }
    }
    code.len()
}

/// The place after the bracket that closes the one at `open`.
fn closed(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code[open..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return open + at + c.len_utf8();
        }
    }
    code.len()
}

/// The modules that are written within a file, and where.
pub(super) fn modules(code: &str) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    for at in word_places(code, "mod") {
        let rest = code[at + "mod".len()..].trim_start();
        let end = rest.find(|c| !is_ident(c)).unwrap_or(rest.len());
        if end > 0 && rest[end..].trim_start().starts_with('{') {
            let open = at + code[at..].find('{').unwrap_or_default();
            found.push((rest[..end].to_owned(), open..closed(code, open)));
        }
    }
    found
}

/// The modules that a place is in, from the outside in.
pub(super) fn around(modules: &[(String, Range<usize>)], at: usize) -> Vec<String> {
    let inside = modules.iter().filter(|(_, range)| range.contains(&at));
    inside.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_tests_are_built_with_goes() {
        let code = concat!(
            "#[cfg(test)]\nmod far;\n",
            "#[cfg(test)]\n#[allow(x)]\npub(crate) fn a<B, C>(b: [u8; 2]) { GONE }\n",
            "#[cfg(not(test))]\nfn kept() { STAYS }\n",
            "struct S { #[cfg(test)] gone: GONE, stays: STAYS }\n",
            "#[cfg(test)]\nuse x::{GONE, y};\nuse STAYS;\n",
            "#[cfg(all(test, loom))]\nmod tests {\n    use GONE;\n}\nfn b() { STAYS }\n",
        );
        let (left, files) = without_tests(code);
        assert!(!left.contains("GONE"), "{left}");
        assert_eq!(left.matches("STAYS").count(), 4, "{left}");
        assert_eq!(left.lines().count(), code.lines().count());
        assert_eq!(files, ["far"]);
        assert_eq!(without_tests("#![cfg(test)]\nuse GONE;\n").0, "");
    }

    #[test]
    fn modules_within_a_file_have_their_place() {
        let code = "mod file;\nmod a { mod b { X } Y }\nZ";
        let all = modules(code);
        let names = |word: &str| around(&all, code.find(word).unwrap());
        assert_eq!(names("X"), ["a", "b"]);
        assert_eq!(names("Y"), ["a"]);
        assert!(names("Z").is_empty());
    }
}
