//! How many tests ran, read from libtest's own `test result:` lines.

use std::ops::AddAssign;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The counts of one line, or nothing when it is not a result line.
    fn of_line(line: &str) -> Option<Self> {
        let line = without_escapes(line);
        let rest = line.trim_start().strip_prefix("test result:")?;
        // "ok. 3 passed; 0 failed; 1 ignored; ..."
        let rest = rest.split_once(". ")?.1;
        let number = |word: &str| {
            rest.split(';')
                .find_map(|part| part.trim().strip_suffix(word)?.trim().parse().ok())
        };
        Some(Self {
            passed: number("passed")?,
            failed: number("failed")?,
        })
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Takes a test program's output in pieces of any size, and sums its results.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    line: Vec<u8>,
    total: Counts,
}

impl Counter {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    pub(crate) fn finish(mut self) -> Counts {
        self.end_line();
        self.total
    }

    fn end_line(&mut self) {
        if let Some(counts) = Counts::of_line(&String::from_utf8_lossy(&self.line)) {
            self.total += counts;
        }
        self.line.clear();
    }
}

/// The line without terminal colors, which CARGO_TERM_COLOR may force on.
fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &str = "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 1 filtered out; finished in 0.01s\n";
    const BAD: &str = "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";

    fn count(pieces: &[&str]) -> Counts {
        let mut counter = Counter::default();
        for piece in pieces {
            counter.feed(piece.as_bytes());
        }
        counter.finish()
    }

    #[test]
    fn results_of_several_binaries_add_up() {
        let all = count(&["running 1 test\ntest a ... ok\n", OK, "\n", BAD]);
        assert_eq!(
            all,
            Counts {
                passed: 16,
                failed: 2
            }
        );
    }

    #[test]
    fn a_line_cut_anywhere_counts_once() {
        for at in 0..OK.len() {
            let (head, tail) = OK.split_at(at);
            assert_eq!(
                count(&[head, tail]),
                Counts {
                    passed: 12,
                    failed: 0
                }
            );
        }
    }

    #[test]
    fn colors_do_not_hide_a_result() {
        let colored = OK.replace("ok.", "\u{1b}[32mok\u{1b}[0m.");
        assert_eq!(count(&[&colored]).passed, 12);
    }

    #[test]
    fn other_lines_and_a_missing_last_line_break_are_fine() {
        assert!(count(&["a test result: ok. 5 passed; 0 failed;\n"]).is_empty());
        assert_eq!(count(&[BAD.trim_end()]).failed, 2);
    }
}
