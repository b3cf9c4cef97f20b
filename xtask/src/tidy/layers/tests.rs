use super::*;

fn tree(list: &str, files: &[(&str, &str)]) -> Tree {
    let map = format!("# Map\n{BEGIN}\n{list}\n{END}\n");
    let mut all = vec![(MAP, map.as_str())];
    all.extend_from_slice(files);
    Tree::of(&all)
}

/// The violations of a crate `x` whose floors are `top`, then `mid` and `beside`, then `low`.
fn planted(files: &[(&str, &str)]) -> Vec<String> {
    let mut all = vec![
        ("crates/x/src/lib.rs", "mod top;\npub use mid::Thing;\n"),
        ("crates/x/src/top.rs", ""),
        ("crates/x/src/mid.rs", ""),
        ("crates/x/src/beside.rs", ""),
        ("crates/x/src/low.rs", ""),
    ];
    all.retain(|(path, _)| files.iter().all(|(planted, _)| planted != path));
    all.extend_from_slice(files);
    let tree = tree("- `crates/x/src`: `top` >\n  `mid` `beside` > `low`", &all);
    let found = imports_run_down(&tree);
    found.iter().map(ToString::to_string).collect()
}

fn upward(file: &str, code: &str) -> usize {
    let path = format!("crates/x/src/{file}");
    let found = planted(&[(&path, code)]);
    let ours = found.iter().filter(|v| v.starts_with(&path));
    ours.count()
}

#[test]
fn imports_that_run_down_are_fine() {
    let found = planted(&[
        (
            "crates/x/src/top.rs",
            "use crate::{Thing, low::Low, mid};\n",
        ),
        (
            "crates/x/src/mid.rs",
            "pub(crate) use super::low;\npub struct Thing;\n",
        ),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn every_way_to_name_what_is_above_is_caught() {
    for code in [
        "use crate::top::Top;",
        "use crate::{low::Low, top::{self, Top}};",
        "use super::top::*;",
        "fn a() { crate::top::b() }",
        "fn a() -> super::top::B {}",
        "pub(crate) use crate::top as t;",
        "mod inner { use super::super::top; }",
        "mod inner { use crate::top::Top; }",
    ] {
        assert!(upward("low.rs", code) > 0, "{code}");
        // A floor has no order: its modules import neither each other.
        let code = code.replace("top", "beside");
        assert!(upward("mid.rs", &code) > 0, "{code}");
    }
}

#[test]
fn names_that_the_root_or_another_module_passes_on_are_followed() {
    assert_eq!(upward("low.rs", "use crate::Thing;"), 1);
    assert_eq!(upward("low.rs", "fn a(b: crate::Thing) {}"), 1);
    let found = planted(&[
        (
            "crates/x/src/mid.rs",
            "pub use crate::low::Low as Passed;\n",
        ),
        ("crates/x/src/low.rs", "pub struct Low;\n"),
        (
            "crates/x/src/beside.rs",
            "use std::mem;\nuse crate::mid::Passed;\n",
        ),
    ]);
    assert_eq!(found, [""; 0], "it is from below");
}

#[test]
fn tests_and_other_crates_stand_aside() {
    for code in [
        "#[cfg(test)]\nmod tests {\n    use crate::top::Top;\n}\n",
        "#[cfg(test)]\nuse crate::top::Top;\n",
        "use mely::top::Top;\n// use crate::top;\nconst A: &str = \"crate::top::A\";\n",
    ] {
        assert_eq!(upward("low.rs", code), 0, "{code}");
    }
    let found = planted(&[
        ("crates/x/src/low.rs", "#[cfg(test)]\nmod far;\n"),
        ("crates/x/src/low/far.rs", "use crate::top::Top;\n"),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_module_and_its_children_are_one() {
    let found = planted(&[
        (
            "crates/x/src/low/mod.rs",
            "mod a;\nuse a::A;\npub struct B;\n",
        ),
        ("crates/x/src/low/a.rs", "use super::B;\npub struct A;\n"),
        ("crates/x/src/low.rs", ""),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn children_in_a_circle_are_caught() {
    let found = planted(&[
        (
            "crates/x/src/low.rs",
            "mod a;\nmod b;\nmod c;\npub use c::C;\n",
        ),
        ("crates/x/src/low/a.rs", "use super::b::B;\n"),
        ("crates/x/src/low/b.rs", "use super::C;\n"),
        ("crates/x/src/low/c.rs", "fn c() {\n    super::a::a()\n}\n"),
    ]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[2].starts_with("crates/x/src/low/c.rs:2: `c` uses `a`"),
        "{found:?}"
    );
}

#[test]
fn the_list_follows_the_crates() {
    let missing = planted(&[("crates/x/src/new.rs", "")]);
    assert!(
        missing[0].contains("`new` of `crates/x/src` is on no floor"),
        "{missing:?}"
    );

    let lib = ("crates/x/src/lib.rs", "");
    let gone = imports_run_down(&tree(
        "- `crates/x/src`: `gone`\n- `crates/y/src`: `a`",
        &[lib],
    ));
    assert_eq!(gone.len(), 2, "{gone:?}");

    let files = [
        lib,
        ("crates/x/src/a.rs", "use crate::b;\n"),
        ("crates/x/src/b.rs", ""),
    ];
    let unlisted = imports_run_down(&tree("", &files));
    assert!(
        unlisted[0].to_string().ends_with("as it is: a > b"),
        "{unlisted:?}"
    );

    assert_eq!(
        imports_run_down(&Tree::of(&[lib])).len(),
        1,
        "no list at all"
    );
}
