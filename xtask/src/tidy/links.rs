//! Links between the repository's own pages lead somewhere.

use super::Violation;
use super::tree::{Text, Tree};

/// The sample site, whose pages link to each other as Markdown pages do.
const SITE: &str = "site/";

pub(super) fn relative_links_resolve(tree: &Tree) -> Vec<Violation> {
    let is_page = |text: &&Text| {
        text.is_markdown() || (text.path.starts_with(SITE) && text.path.ends_with(".html"))
    };
    let mut found = Vec::new();
    for text in tree.texts().iter().filter(is_page) {
        for (line, target) in links(&text.content) {
            let leads = resolved(&text.path, &target).is_none_or(|path| tree.has(&path));
            if !leads {
                let what = format!("the link `{target}` leads nowhere");
                found.push(Violation::at(&text.path, line, what));
            }
        }
    }
    found
}

/// The targets of a page's links, with their lines. Code is not looked at.
fn links(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (line, number) in page.lines().zip(1..) {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            in_fence = !in_fence;
        } else if !in_fence {
            let line = without_code(line);
            found.extend(line_links(&line).map(|target| (number, target.to_owned())));
        }
    }
    found
}

fn line_links(line: &str) -> impl Iterator<Item = &str> {
    let inline = after(line, "](").filter_map(|rest| rest.split([')', ' ']).next());
    let attributes = ["src=\"", "href=\""]
        .into_iter()
        .flat_map(move |name| after(line, name));
    let attributes = attributes.filter_map(|rest| rest.split('"').next());
    let definition = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "));
    let definition = definition.and_then(|(_, rest)| rest.split_whitespace().next());
    inline.chain(attributes).chain(definition)
}

fn after<'a>(line: &'a str, mark: &'static str) -> impl Iterator<Item = &'a str> {
    line.match_indices(mark)
        .map(move |(at, _)| &line[at + mark.len()..])
}

/// Every second piece between back quotes is code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The file that a link on a page means, or nothing when it leaves the
/// repository or stays on the page.
fn resolved(page: &str, target: &str) -> Option<String> {
    let target = target.trim_matches(['<', '>']);
    let is_elsewhere = target.contains(':') || target.starts_with('/');
    let file = target.split(['#', '?']).next().unwrap_or_default();
    if is_elsewhere || file.is_empty() {
        return None;
    }
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in file.split('/') {
        match name {
            "" | "." => {}
            ".." if names.is_empty() => return Some("..".to_owned()),
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, page: &str) -> Vec<usize> {
        let tree = Tree::of(&[(path, page), ("docs/a.md", "x\n"), ("site/a.css", "x\n")]);
        relative_links_resolve(&tree)
            .into_iter()
            .map(|violation| violation.line)
            .collect()
    }

    #[test]
    fn a_link_to_nowhere_is_caught() {
        assert_eq!(
            found("README.md", "x\n[a](docs/a.md) [b](docs/b.md \"B\")\n"),
            [2]
        );
        assert_eq!(
            found(
                "docs/b.md",
                "[a](a.md) ![b](../docs/a.md#top) [c](../x.md)\n"
            ),
            [1]
        );
        assert_eq!(found("README.md", "[a][b]\n\n[b]: docs/none.md\n"), [3]);
        assert_eq!(
            found("README.md", "<img src=\"docs/none.svg\" alt=\"\">\n"),
            [1]
        );
        assert_eq!(found("README.md", "[out](../../x)\n"), [1]);
    }

    #[test]
    fn pages_of_the_site_are_held_to_it_too() {
        let page = "<link href=\"a.css\">\n<a href=\"none.html\">x</a>\n";
        assert_eq!(found("site/index.html", page), [2]);
        assert_eq!(found("crates/http/tests/index.html", page), []);
    }

    #[test]
    fn what_is_no_link_into_the_repository_is_left_alone() {
        let page = concat!(
            "[a](https://example.com/x) [b](mailto:a@example.com) [c](#part) [d](/x)\n",
            "[e](docs/) [f](./docs/a.md?x#y) `[g](none.md)`\n",
            "```\n[h](none.md)\n```\n[i]: crate::Color\n",
        );
        assert_eq!(found("README.md", page), []);
    }
}
