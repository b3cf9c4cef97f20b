use super::*;
use crate::date::DateCache;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::SystemTime;
use tempfile::TempDir;

struct Tree {
    directory: TempDir,
    start: Instant,
}

impl Tree {
    fn new() -> Self {
        let tree = Self {
            directory: tempfile::tempdir().unwrap(),
            start: Instant::now(),
        };
        tree.write("a.txt", "alpha");
        tree.write("docs/index.html", "<p>docs");
        tree.write("old/index.htm", "<p>old");
        tree.write("empty/.hidden", "secret");
        tree.write(".env", "secret");
        tree.write("sp ace%20.txt", "space");
        tree
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.directory.path().join(path)
    }

    fn at_ms(&self, ms: u64) -> Now {
        DateCache::new().at(self.start + Duration::from_millis(ms), SystemTime::now())
    }

    fn site(&self, options: Options) -> Site {
        self.limited(options, &Limits::default())
    }

    fn limited(&self, options: Options, limits: &Limits) -> Site {
        Site::open(self.directory.path(), options, limits, &self.at_ms(0)).unwrap()
    }
}

fn describe(lookup: Lookup) -> String {
    match lookup {
        Lookup::Cached(entry) => String::from_utf8_lossy(entry.content()).into_owned(),
        Lookup::File(file) => format!("file {}", file.representation.length_bytes()),
        Lookup::Page(html) => String::from_utf8(html).unwrap(),
        Lookup::Redirect(location) => format!("to {location}"),
        Lookup::Refused(status) => status.code().to_string(),
    }
}

#[test]
fn paths_lead_to_files() {
    let tree = Tree::new();
    let site = tree.site(Options::default());
    // Twice: from the disk, then from memory.
    for _ in 0..2 {
        for (target, expected) in [
            ("/a.txt", "alpha"),
            ("/%61.txt", "alpha"),
            ("/docs/../a.txt", "alpha"),
            ("/a.txt/", "404"),
            ("/a.txt/b", "404"),
            ("/docs", "to /docs/"),
            ("//docs", "to /docs/"),
            ("/docs/", "<p>docs"),
            ("/docs/index.html", "<p>docs"),
            ("/old/", "<p>old"),
            ("/sp%20ace%2520.txt", "space"),
            ("/sp%20ace%20.txt", "404"),
            ("/", "403"),
            ("/empty/", "403"),
            ("/empty/.hidden", "404"),
            ("/.env", "404"),
            ("/nothing", "404"),
            ("/a%2f", "404"),
            ("/../a.txt", "400"),
            ("/%00", "400"),
        ] {
            assert_eq!(
                describe(site.lookup(target.as_bytes(), &tree.at_ms(0))),
                expected,
                "{target}"
            );
        }
    }
    let long = format!("/{}", "x".repeat(5000));
    assert_eq!(
        describe(site.lookup(long.as_bytes(), &tree.at_ms(0))),
        "404"
    );
}

#[test]
fn dotfiles_are_shown_when_asked() {
    let tree = Tree::new();
    let site = tree.site(Options {
        dotfiles: true,
        ..Options::default()
    });
    assert_eq!(describe(site.lookup(b"/.env", &tree.at_ms(0))), "secret");
}

#[test]
fn what_a_thread_knows_is_what_a_lookup_would_give() {
    let tree = Tree::new();
    let site = tree.site(Options::default());
    let known = |site: &Site, ms| {
        site.known(b"/a.txt", &tree.at_ms(ms))
            .map(|k| content(k.entry()))
    };
    let look = |ms| describe(site.lookup(b"/a.txt", &tree.at_ms(ms)));
    assert_eq!(known(&site, 0), None);
    // Loaded, and then found by its spelling.
    assert_eq!([look(0), look(0)], ["alpha", "alpha"]);
    assert_eq!(known(&site, 999).as_deref(), Some("alpha"));
    assert_eq!(known(&site, 1000), None, "the disk is to be asked");
    let elsewhere = std::thread::scope(|s| s.spawn(|| known(&site, 0)).join().unwrap());
    assert_eq!(elsewhere, None);
    let other = Tree::new();
    other.write("a.txt", "another site");
    assert_eq!(known(&other.site(Options::default()), 0), None);
    // Another thread finds out that the file has changed.
    tree.write("a.txt", "changed");
    let seen = std::thread::scope(|s| s.spawn(|| look(1000)).join().unwrap());
    assert_eq!(seen, "changed");
    assert_eq!(known(&site, 1000), None);
    assert_eq!([look(1000), look(1000)], ["changed", "changed"]);
    assert_eq!(known(&site, 1001).as_deref(), Some("changed"));
}

fn content(entry: &Entry) -> String {
    String::from_utf8(entry.content().to_vec()).unwrap()
}

#[test]
fn changes_on_disk_are_noticed_after_the_interval() {
    let tree = Tree::new();
    let site = tree.site(Options::default());
    let at = |ms| describe(site.lookup(b"/a.txt", &tree.at_ms(ms)));
    assert_eq!(at(0), "alpha");
    let alias = || describe(site.lookup(b"/%61.txt", &tree.at_ms(1500)));
    site.lookup(b"/%61.txt", &tree.at_ms(0));
    tree.write("a.txt", "changed");
    assert_eq!(at(999), "alpha");
    assert_eq!(at(1000), "changed");
    assert_eq!(alias(), "changed");
    fs::remove_file(tree.path("a.txt")).unwrap();
    assert_eq!(at(1999), "changed");
    assert_eq!(at(2000), "404");
    assert_eq!(site.cached_files(), 0);
    tree.write("a.txt", "back");
    assert_eq!(at(2001), "back");
    fs::remove_file(tree.path("a.txt")).unwrap();
    tree.write("a.txt/index.html", "now a directory");
    assert_eq!(at(9000), "to /a.txt/");
    assert_eq!(
        describe(site.lookup(b"/a.txt/", &tree.at_ms(9000))),
        "now a directory"
    );
}

#[test]
fn an_earlier_index_wins_as_soon_as_it_appears() {
    let tree = Tree::new();
    let site = tree.site(Options::default());
    assert_eq!(describe(site.lookup(b"/old/", &tree.at_ms(0))), "<p>old");
    tree.write("old/index.html", "new");
    assert_eq!(describe(site.lookup(b"/old/", &tree.at_ms(0))), "new");
}

#[test]
fn memory_is_bounded_and_given_back() {
    let tree = Tree::new();
    tree.write("big.bin", &"x".repeat(10_000));
    let limits = Limits {
        cache_bytes: 5_000,
        cache_file_bytes: 4_000,
        ..Limits::default()
    };
    let site = tree.limited(Options::default(), &limits);
    assert_eq!(
        describe(site.lookup(b"/big.bin", &tree.at_ms(0))),
        "file 10000"
    );
    for name in 0..10 {
        tree.write(&format!("{name}.txt"), &"y".repeat(1000));
        site.lookup(format!("/{name}.txt").as_bytes(), &tree.at_ms(0));
        assert!(site.cached_bytes() <= 5_000);
    }
    assert_eq!(site.cached_files(), 2);
    assert_eq!(
        describe(site.lookup(b"/9.txt", &tree.at_ms(0))),
        "file 1000"
    );
    fs::remove_file(tree.path("0.txt")).unwrap();
    let before = site.cached_bytes();
    assert_eq!(describe(site.lookup(b"/0.txt", &tree.at_ms(5000))), "404");
    // Its spelling still leads to the stale entry until it is asked for again or pushed out.
    assert!(site.cached_bytes() <= before);
}

#[test]
fn spellings_are_bounded() {
    let tree = Tree::new();
    let site = tree.limited(
        Options::default(),
        &Limits {
            cached_targets: 64,
            ..Limits::default()
        },
    );
    for count in 0..500 {
        let target = format!("/{}a.txt", "./".repeat(count));
        assert_eq!(
            describe(site.lookup(target.as_bytes(), &tree.at_ms(0))),
            "alpha"
        );
    }
    assert!(site.by_target.len() <= 64);
    assert_eq!(site.cached_files(), 1);
}

fn with_links(follow_symlinks: FollowSymlinks, with_openat2: bool) -> (Tree, TempDir, Site) {
    let tree = Tree::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.txt"), "outside").unwrap();
    symlink("a.txt", tree.path("inside.txt")).unwrap();
    symlink("docs", tree.path("linked")).unwrap();
    symlink(outside.path().join("secret.txt"), tree.path("escape.txt")).unwrap();
    symlink(outside.path(), tree.path("away")).unwrap();
    symlink("..", tree.path("up")).unwrap();
    symlink("loop", tree.path("loop")).unwrap();
    symlink("missing", tree.path("dangling")).unwrap();
    let site = tree.site(Options {
        follow_symlinks,
        ..Options::default()
    });
    if !with_openat2 {
        site.root.forget_openat2();
    }
    (tree, outside, site)
}

#[test]
fn links_are_followed_as_far_as_allowed() {
    let cases = [
        ("/inside.txt", ["403", "alpha", "alpha"]),
        ("/linked/index.html", ["403", "<p>docs", "<p>docs"]),
        ("/linked", ["403", "to /linked/", "to /linked/"]),
        ("/escape.txt", ["403", "403", "outside"]),
        ("/away/secret.txt", ["403", "403", "outside"]),
        ("/up/", ["403", "403", "403"]),
        ("/loop", ["403", "403", "403"]),
        ("/a.txt", ["alpha", "alpha", "alpha"]),
    ];
    let policies = [
        FollowSymlinks::No,
        FollowSymlinks::InsideRoot,
        FollowSymlinks::Anywhere,
    ];
    for (column, policy) in policies.into_iter().enumerate() {
        let (tree, _outside, site) = with_links(policy, true);
        for (target, expected) in cases {
            let found = describe(site.lookup(target.as_bytes(), &tree.at_ms(0)));
            assert_eq!(found, expected[column], "{target} with {policy:?}");
        }
    }
}

#[test]
fn without_openat2_no_link_is_followed() {
    for policy in [FollowSymlinks::No, FollowSymlinks::InsideRoot] {
        let (tree, _outside, site) = with_links(policy, false);
        for target in [
            "/inside.txt",
            "/linked/index.html",
            "/escape.txt",
            "/away/secret.txt",
            "/up/",
            "/loop",
            "/dangling",
        ] {
            assert_eq!(
                describe(site.lookup(target.as_bytes(), &tree.at_ms(0))),
                "403",
                "{target}"
            );
        }
        assert_eq!(
            describe(site.lookup(b"/docs/index.html", &tree.at_ms(0))),
            "<p>docs"
        );
        assert_eq!(describe(site.lookup(b"/docs/", &tree.at_ms(0))), "<p>docs");
        assert_eq!(describe(site.lookup(b"/a.txt/b", &tree.at_ms(0))), "404");
        assert_eq!(describe(site.lookup(b"/", &tree.at_ms(0))), "403");
    }
}

#[test]
fn a_cached_file_replaced_by_a_link_outside_is_dropped() {
    let (tree, outside, site) = with_links(FollowSymlinks::InsideRoot, true);
    assert_eq!(describe(site.lookup(b"/a.txt", &tree.at_ms(0))), "alpha");
    fs::remove_file(tree.path("a.txt")).unwrap();
    symlink(outside.path().join("secret.txt"), tree.path("a.txt")).unwrap();
    assert_eq!(describe(site.lookup(b"/a.txt", &tree.at_ms(1000))), "403");
}

#[test]
fn pipes_and_sockets_are_refused_without_waiting() {
    let tree = Tree::new();
    for (name, kind) in [
        ("pipe", rustix::fs::FileType::Fifo),
        ("socket", rustix::fs::FileType::Socket),
    ] {
        let path = tree.path(name);
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, 0o644.into(), 0).unwrap();
    }
    let site = tree.site(Options::default());
    assert_eq!(describe(site.lookup(b"/pipe", &tree.at_ms(0))), "403");
    assert_eq!(describe(site.lookup(b"/socket", &tree.at_ms(0))), "403");
}

#[test]
fn listings_escape_names_and_hide_dotfiles() {
    let tree = Tree::new();
    tree.write("list/<b>&\"'.txt", "");
    tree.write("list/sub/x", "");
    tree.write("list/.hidden", "");
    tree.write("list/javascript:1", "");
    let site = tree.site(Options {
        listing: true,
        ..Options::default()
    });
    let page = describe(site.lookup(b"/list/", &tree.at_ms(0)));
    assert!(
        page.contains("<a href=\"%3Cb%3E%26%22%27.txt\">&lt;b&gt;&amp;&quot;&#39;.txt</a>"),
        "{page}"
    );
    assert!(page.contains("<a href=\"sub/\">sub/</a>"), "{page}");
    assert!(page.contains("href=\"javascript%3A1\""), "{page}");
    assert!(
        page.contains("href=\"../\"") && !page.contains("hidden"),
        "{page}"
    );
    assert_eq!(describe(site.lookup(b"/docs/", &tree.at_ms(0))), "<p>docs");
}

#[test]
fn preload_fills_the_cache_and_counts() {
    let (tree, _outside, site) = with_links(FollowSymlinks::InsideRoot, true);
    let mut reports = 0;
    let progress = site.preload(&tree.at_ms(0), |_| reports += 1);
    assert_eq!((progress.directories, reports), (4, 4));
    // a.txt, its link, two index files, the one with spaces; escape, up, loop, away, dangling fail.
    assert_eq!(
        (
            progress.cached_files,
            progress.streamed_files,
            progress.refused
        ),
        (5, 0, 5)
    );
    assert_eq!(site.cached_files(), 5);
    fs::remove_file(tree.path("a.txt")).unwrap();
    assert_eq!(
        describe(site.lookup(b"/a.txt", &tree.at_ms(10))),
        "alpha",
        "served from memory"
    );
}

#[test]
fn what_cannot_be_a_root_is_said_clearly() {
    let tree = Tree::new();
    let open = |path: &Path, options| {
        Site::open(path, options, &Limits::default(), &tree.at_ms(0)).unwrap_err()
    };
    let missing = open(&tree.path("missing"), Options::default());
    assert!(
        matches!(missing, SiteError::NotFound { .. }) && missing.to_string().contains("missing")
    );
    assert!(matches!(
        open(&tree.path("a.txt"), Options::default()),
        SiteError::NotADirectory { .. }
    ));
    for name in ["", "a/b", "..", "/", "."] {
        let options = Options {
            index_files: vec![name.into()],
            ..Options::default()
        };
        assert!(
            matches!(
                open(tree.directory.path(), options),
                SiteError::BadIndexName { .. }
            ),
            "{name}"
        );
    }
}

#[test]
fn unreadable_files_are_forbidden() {
    let tree = Tree::new();
    fs::set_permissions(tree.path("a.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    let found = describe(
        tree.site(Options::default())
            .lookup(b"/a.txt", &tree.at_ms(0)),
    );
    // The superuser reads everything.
    let expected = if fs::File::open(tree.path("a.txt")).is_ok() {
        "alpha"
    } else {
        "403"
    };
    assert_eq!(found, expected);
}

#[test]
fn readers_and_writers_meet_without_harm() {
    let tree = Tree::new();
    let site = tree.site(Options {
        revalidate_interval: Duration::ZERO,
        ..Options::default()
    });
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..300 {
                    let found = describe(site.lookup(b"/a.txt", &tree.at_ms(0)));
                    // Replaced by renaming, so never half written.
                    assert!(matches!(found.as_str(), "alpha" | "beta"), "{found}");
                }
            });
        }
        for turn in 0..100 {
            tree.write("next", if turn % 2 == 0 { "beta" } else { "alpha" });
            fs::rename(tree.path("next"), tree.path("a.txt")).unwrap();
        }
    });
    assert!(site.cached_bytes() < 100_000);
}
