//! Which crates must not reach for the outside world.

use super::Violation;
use super::source::{code_only, is_ident, line_of, word_places};
use super::tree::{Text, Tree};

/// Where protocols are read and written.
const PROTOCOLS: &[&str] = &["crates/http/src/", "crates/gnutella/src/"];

/// The parts of them that do talk to sockets.
const WITH_SOCKETS: &[&str] = &["crates/http/src/server", "crates/gnutella/src/node/"];

const SCHED: &str = "crates/sched/src/";

/// Modules of the standard library that the scheduler does without.
const SCHED_MODULES: &[&str] = &["thread", "net", "fs"];

/// Time is injected: only the caller knows whether it is real.
const CLOCKS: &[&str] = &["Instant::now", "SystemTime::now"];

/// Names that mean sockets, whatever crate they come from.
const SOCKETS: &[&str] = &[
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "socket2",
];

/// Protocol code takes bytes and gives bytes.
pub(super) fn protocols_do_no_io(tree: &Tree) -> Vec<Violation> {
    let is_protocol = |text: &&Text| {
        let is_in = |folder: &&str| text.path.starts_with(folder);
        PROTOCOLS.iter().any(is_in) && !WITH_SOCKETS.iter().any(is_in)
    };
    let mut found = Vec::new();
    for text in tree.rust().filter(is_protocol) {
        let code = code_only(&text.content);
        let mut places = vec![];
        places.extend(std_places(&code, "net").map(|at| (at, "std::net")));
        places.extend(runtime_places(&code).map(|at| (at, "mely")));
        for name in SOCKETS {
            places.extend(word_places(&code, name).map(|at| (at, *name)));
        }
        found.extend(places.into_iter().map(|(at, name)| {
            let what = format!(
                "`{name}` in protocol code: only a server's or node's own folder may do I/O"
            );
            Violation::at(&text.path, line_of(&code, at), what)
        }));
    }
    found
}

/// The scheduler decides; threads, clocks and I/O are its caller's.
pub(super) fn scheduler_is_pure(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for text in tree.rust().filter(|text| text.path.starts_with(SCHED)) {
        let code = code_only(&text.content);
        let modules = SCHED_MODULES
            .iter()
            .flat_map(|name| std_places(&code, name).map(move |at| (at, format!("std::{name}"))));
        let clocks = CLOCKS
            .iter()
            .flat_map(|name| word_places(&code, name).map(move |at| (at, (*name).to_owned())));
        found.extend(modules.chain(clocks).map(|(at, name)| {
            let what = format!("`{name}` in the scheduler, which is pure");
            Violation::at(&text.path, line_of(&code, at), what)
        }));
    }
    found
}

/// Where a module of the standard library is named: `std::net` as well as
/// `std::{fmt, net::IpAddr}`.
fn std_places<'a>(code: &'a str, module: &'a str) -> impl Iterator<Item = usize> + 'a {
    word_places(code, "std").filter(move |&at| {
        let Some(rest) = code[at..].strip_prefix("std::") else {
            return false;
        };
        match rest.strip_prefix('{') {
            Some(group) => group_names(group).any(|name| name == module),
            None => first_name(rest) == module,
        }
    })
}

/// The first names of the items of an import group, given what follows its
/// opening brace.
fn group_names(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let mut items = Vec::new();
    let mut begin = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' if depth == 0 => {
                items.push(&group[begin..at]);
                begin = at + 1;
            }
            '}' if depth == 0 => {
                items.push(&group[begin..at]);
                break;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    items.into_iter().map(first_name)
}

fn first_name(item: &str) -> &str {
    let item = item.trim_start();
    item.find(|c| !is_ident(c)).map_or(item, |end| &item[..end])
}

/// Where the runtime's crate is named: `mely::…` or `use mely;`.
fn runtime_places(code: &str) -> impl Iterator<Item = usize> {
    word_places(code, "mely").filter(|&at| {
        let is_path = code[at..].starts_with("mely::");
        is_path || code[..at].trim_end().ends_with("use")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(path: &str, code: &str) -> Vec<usize> {
        let tree = Tree::of(&[(path, code)]);
        protocols_do_no_io(&tree)
            .into_iter()
            .map(|violation| violation.line)
            .collect()
    }

    fn sched(code: &str) -> Vec<usize> {
        let tree = Tree::of(&[("crates/sched/src/queue.rs", code)]);
        scheduler_is_pure(&tree)
            .into_iter()
            .map(|violation| violation.line)
            .collect()
    }

    #[test]
    fn sockets_and_the_runtime_are_caught_in_protocol_code() {
        let planted = [
            "use std::net::TcpStream;\n",
            "use std::{\n    fmt,\n    net::{IpAddr, SocketAddr},\n};\n",
            "fn f(rt: &mely::Runtime) {}\n",
            "use mely as runtime;\n",
            "fn f(s: UnixStream) {}\n",
        ];
        for code in planted {
            assert!(
                http("crates/http/src/parse.rs", code).contains(&1),
                "{code}"
            );
            assert!(
                http("crates/gnutella/src/header.rs", code).contains(&1),
                "{code}"
            );
            assert_eq!(http("crates/http/src/server/accept.rs", code), [], "{code}");
            assert_eq!(http("crates/gnutella/src/node/meet.rs", code), [], "{code}");
            assert_eq!(http("crates/http/src/server.rs", code), [], "{code}");
            assert_eq!(http("crates/http/tests/it/main.rs", code), [], "{code}");
        }
    }

    #[test]
    fn words_that_only_resemble_them_are_fine() {
        let code = "//! Used by mely::Runtime over std::net.\nuse mely_http::x;\nlet mely = \"mely::\";\nuse std::{fmt, str::from_utf8};\nuse core::net::SocketAddrV4;\n";
        assert_eq!(http("crates/http/src/parse.rs", code), []);
    }

    #[test]
    fn threads_clocks_and_files_are_caught_in_the_scheduler() {
        assert_eq!(sched("use std::fmt;\nstd::thread::sleep(d);\n"), [2]);
        assert_eq!(
            sched("let a = 1;\nlet t = std::time::Instant::now();\n"),
            [2]
        );
        assert_eq!(
            sched("use std::{collections::{BTreeMap, btree_map}, fs};\n"),
            [1]
        );
        assert_eq!(sched("use std::net::IpAddr;\n"), [1]);
        assert_eq!(sched("use std::time::Duration;\nfn threads() {}\n"), []);
    }
}
