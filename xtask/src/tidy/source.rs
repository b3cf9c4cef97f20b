//! Rust text as the rules see it: without comments and literals.

/// The code with every comment, string and character blanked out. Lines stay
/// where they are, so that a rule can name one.
pub(super) fn code_only(text: &str) -> String {
    let mut scanner = Scanner {
        rest: text,
        code: String::with_capacity(text.len()),
    };
    while !scanner.rest.is_empty() {
        let literal = scanner.literal_len();
        if literal > 0 {
            scanner.blank(literal);
        } else {
            scanner.keep();
        }
    }
    scanner.code
}

struct Scanner<'a> {
    rest: &'a str,
    code: String,
}

impl Scanner<'_> {
    /// The length of the comment or literal that begins here, or 0.
    fn literal_len(&self) -> usize {
        let rest = self.rest;
        if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment_len(rest)
        } else if rest.starts_with('"') {
            quoted_len(rest, '"')
        } else if rest.starts_with('\'') {
            char_len(rest)
        } else if self.code.ends_with(is_ident) {
            0
        } else {
            raw_string_len(rest)
        }
    }

    fn blank(&mut self, len: usize) {
        let (literal, rest) = self.rest.split_at(len);
        self.code
            .extend(literal.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }

    fn keep(&mut self) {
        let mut chars = self.rest.chars();
        self.code.extend(chars.next());
        self.rest = chars.as_str();
    }
}

/// Block comments nest.
fn block_comment_len(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn quoted_len(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `'a'` is a character, `'a` a lifetime: a lifetime has no quote behind it.
fn char_len(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => quoted_len(rest, '\''),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// `r"…"`, `r#"…"#` and their byte and C forms.
fn raw_string_len(rest: &str) -> usize {
    let prefix = ["br", "cr", "r"]
        .into_iter()
        .find(|prefix| rest.starts_with(prefix));
    let Some(prefix) = prefix else { return 0 };
    let after = &rest[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let opening = prefix.len() + hashes + 1;
    if !after[hashes..].starts_with('"') {
        return 0;
    }
    let closing = format!("\"{}", "#".repeat(hashes));
    match rest[opening..].find(&closing) {
        Some(at) => opening + at + closing.len(),
        None => rest.len(),
    }
}

pub(super) fn is_ident(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The places where a word stands alone.
pub(super) fn word_places<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |&at| {
            !code[..at].ends_with(is_ident) && !code[at + word.len()..].starts_with(is_ident)
        })
}

pub(super) fn has_word(code: &str, word: &str) -> bool {
    word_places(code, word).next().is_some()
}

/// The line of a place in a text, counted from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_vanish_and_lines_stay() {
        let source = concat!(
            "a // unsafe\n",
            "b /* unsafe /* unsafe */ unsafe\n */ c\n",
            "\"unsafe \\\" unsafe\" d r#\"unsafe \" unsafe\"# e br\"unsafe\" f\n",
            "'\"' g '\\'' h b'x' i\n",
        );
        let code = code_only(source);
        assert!(!code.contains("unsafe"), "{code}");
        assert_eq!(code.lines().count(), source.lines().count());
        let words: Vec<_> = code.split_whitespace().collect();
        assert_eq!(words, ["a", "b", "c", "d", "e", "f", "g", "h", "b", "i"]);
    }

    #[test]
    fn lifetimes_and_names_that_look_like_literals_stay() {
        let source = "fn for_r<'a>(r: &'a str, b: u8) -> Foo<'_> { r#type(var) }";
        assert_eq!(code_only(source), source);
    }

    #[test]
    fn an_open_literal_ends_with_the_file() {
        for open in ["\"abc", "/* abc", "r#\"abc", "// abc", "'\\"] {
            assert_eq!(code_only(open).trim(), "", "{open}");
        }
    }

    #[test]
    fn a_word_stands_alone() {
        assert!(has_word("pub unsafe fn", "unsafe"));
        assert!(has_word("#[unsafe(no_mangle)]", "unsafe"));
        assert!(!has_word("deny(unsafe_code) un_unsafe", "unsafe"));
    }
}
