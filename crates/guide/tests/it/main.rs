//! The form of the guide's pages: what no compiler sees.

mod book;
mod checks;

use std::path::Path;

use book::Book;

/// What each check finds in a book, as lines that name the page.
const CHECKS: &[fn(&Book) -> Vec<String>] = &[
    checks::the_summary_names_each_page_once,
    checks::the_pages_that_are_tested_are_all,
    checks::links_lead_somewhere,
    checks::each_page_begins_with_a_program_that_runs,
    checks::each_block_names_its_language,
    checks::only_code_of_others_is_not_tested,
    checks::code_fits_its_page,
];

fn found(book: &Book) -> Vec<String> {
    CHECKS.iter().flat_map(|check| check(book)).collect()
}

#[test]
fn the_guide_keeps_its_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/src");
    let book = Book::read(&folder, mely_guide::CHAPTERS).expect("the guide is there");
    assert_eq!(found(&book), Vec::<String>::new());
}

const PROGRAM: &str = "# Title\n\n```rust\nfn main() {}\n```\n";

fn book(summary: &str, pages: &[(&str, &str)]) -> Book {
    let tested: Vec<_> = pages.iter().map(|(path, _)| *path).collect();
    Book::of(summary, pages, &tested)
}

#[test]
fn a_book_in_form_is_let_be() {
    let page = format!("{PROGRAM}\n## A part\n\n[itself](#a-part), [out](https://example.com/x)\n");
    let back = format!("{PROGRAM}\n[back](../a.md#a-part)\n");
    let book = book(
        "# Summary\n\n- [A](a.md)\n- [B](from/b.md)\n",
        &[("a.md", &page), ("from/b.md", &back)],
    );
    assert_eq!(found(&book), Vec::<String>::new());
}

#[test]
fn a_page_that_the_summary_or_the_tests_miss_is_found() {
    let two = [("a.md", PROGRAM), ("b.md", PROGRAM)];
    assert_eq!(
        found(&book("[A](a.md)\n", &two)),
        ["b.md: SUMMARY.md names it 0 times"]
    );
    let twice = book("[A](a.md) [B](b.md) [A](a.md)\n", &two);
    assert_eq!(found(&twice), ["a.md: SUMMARY.md names it 2 times"]);
    let nowhere = book("[A](a.md) [C](c.md)\n", &two[..1]);
    assert_eq!(found(&nowhere), ["SUMMARY.md: `c.md` leads nowhere"]);
    let untested = Book::of("[A](a.md) [B](b.md)\n", &two, &["a.md", "c.md"]);
    assert_eq!(
        found(&untested),
        [
            "b.md: the crate mely-guide does not test it",
            "c.md: the crate mely-guide tests it, and it is not there"
        ]
    );
}

#[test]
fn a_link_to_nowhere_is_found() {
    for (link, target) in [
        ("[x](none.md)", "none.md"),
        ("[x](#none)", "#none"),
        ("[x](a.md#none)", "a.md#none"),
        ("[x](../README.md)", "../README.md"),
        ("![x](none.svg)", "none.svg"),
        ("[x][y]\n\n[y]: none.md", "none.md"),
    ] {
        let page = format!("{PROGRAM}\n{link}\n");
        let found = found(&book("[A](a.md)\n", &[("a.md", &page)]));
        assert_eq!(found, [format!("a.md: `{target}` leads nowhere")]);
    }
}

#[test]
fn a_page_that_does_not_begin_with_a_program_is_found() {
    for page in [
        "# Title\n\nWords first.\n\n```rust\nfn main() {}\n```\n",
        "# Title\n\n```rust,no_run\nfn main() {}\n```\n",
        "# Title\n\n```rust,compile_fail\nfn main() {}\n```\n",
        "# Title\n\n```text\nfn main() {}\n```\n",
        "```rust\nfn main() {}\n```\n",
        "",
    ] {
        let found = found(&book("[A](a.md)\n", &[("a.md", page)]));
        let what = "a.md: it does not begin with a title and a program that runs";
        assert!(found.iter().any(|line| line == what), "{page}: {found:?}");
    }
}

#[test]
fn a_block_that_nothing_tests_is_found() {
    for (block, what) in [
        ("```\nlet x = 1;\n```", "a block has no language"),
        ("    let x = 1;", "a block has no language"),
        (
            "```rust,ignore\nlet x = 1;\n```",
            "a block of Rust is not tested",
        ),
        (
            "```rust,no_run\nlet x = 1;\n```",
            "a block of Rust is not tested",
        ),
    ] {
        let page = format!("{PROGRAM}\n{block}\n");
        let found = found(&book("[A](a.md)\n", &[("a.md", &page)]));
        assert_eq!(found, [format!("a.md: {what}")], "{block}");
    }
    let of_others = format!("{PROGRAM}\n```rust,ignore\nuse tokio::sync::mpsc;\n```\n");
    let book = book("[A](from/a.md)\n", &[("from/a.md", &of_others)]);
    assert_eq!(found(&book), Vec::<String>::new());
}

#[test]
fn a_line_that_its_reader_must_move_is_found() {
    let line = "x".repeat(85);
    let page = format!("{PROGRAM}\n```text\n{line}\n```\n");
    let wide = found(&book("[A](a.md)\n", &[("a.md", &page)]));
    assert_eq!(wide, [format!("a.md: longer than 84 characters: {line}")]);
    let hidden = format!("{PROGRAM}\n```rust\n    # {line}\n```\n\n{line}\n");
    let hidden = book("[A](a.md)\n", &[("a.md", &hidden)]);
    assert_eq!(found(&hidden), Vec::<String>::new());
}
