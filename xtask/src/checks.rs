//! Every command that a job runs, in one place.

use crate::run::Call;
use crate::step::{Step, Work};
use crate::toolchain::{self, Part};

/// How often loom may take the processor away from a thread in one schedule.
/// Loom's own guide advises two or three: schedules multiply with each.
pub(crate) const LOOM_PREEMPTIONS: u32 = 2;

/// The same for `verify`, which may take long.
pub(crate) const LOOM_PREEMPTIONS_DEEP: u32 = 3;

/// Which of `mely`'s unit tests Miri runs: those whose path has one of these
/// words. The rest needs system calls that Miri does not have.
const MIRI_FILTERS: &[&str] = &[
    "queue", "held", "node", "pool", "inbox", "mailbox", "block", "states", "panics", "waits",
    "marks",
];

/// The integration tests of `mely` that are programs for Miri.
const MIRI_PROGRAMS: &[&str] = &["miri", "test", "-p", "mely", "--test", "it", "interpreted"];

/// How often each of them is run, each time with other interleavings.
const MIRI_SEEDS: &str = "-Zmiri-many-seeds=0..4";

/// Readiness comes through the C library, whose calls Miri knows.
const MIRI_LIBC: &str = "--cfg rustix_use_libc";

/// Cases of a property test under Miri, which interprets every instruction.
const MIRI_PROPTEST_CASES: &str = "8";

pub(crate) fn packages() -> Step {
    Step {
        name: "packages",
        work: Work::Packages,
    }
}

pub(crate) fn fmt() -> Step {
    Step::check("fmt", Call::cargo(&["fmt", "--all", "--check"]))
}

pub(crate) fn tidy() -> Step {
    Step {
        name: "tidy",
        work: Work::Tidy,
    }
}

/// Clippy also holds the length of functions; clippy.toml has the limit.
const LINTS: &[&str] = &["--", "-D", "warnings", "-D", "clippy::too_many_lines"];

/// What is compiled with spans only. It is built without counters here, and with them in the
/// whole workspace, as `mely-cli` has them.
const SPANS: &[&str] = &["-p", "mely", "--features", "tracing"];

pub(crate) fn clippy() -> Step {
    let args = [&["clippy", "--workspace", "--all-targets"], LINTS].concat();
    Step::check("clippy", Call::cargo(&args))
}

pub(crate) fn spans_clippy() -> Step {
    let args = [&["clippy", "--all-targets"], SPANS, LINTS].concat();
    Step::check("spans-clippy", Call::cargo(&args))
}

/// All that is tested of the runtime, with spans.
pub(crate) fn spans() -> Step {
    let args = [&["test", "--no-fail-fast"], SPANS, &["--tests"]].concat();
    Step::tests("spans", Call::cargo(&args))
}

/// One run tells of every test that fails, not only of the first binary's.
pub(crate) fn unit_and_doc_tests() -> Step {
    Step::tests(
        "tests",
        Call::cargo(&["test", "--workspace", "--no-fail-fast"]),
    )
}

pub(crate) fn rustdoc() -> Step {
    let call = Call::cargo(&["doc", "--workspace", "--no-deps"]);
    Step::check("doc", call.env("RUSTDOCFLAGS", "-D warnings"))
}

/// The guide as a book. Its programs are doctests.
pub(crate) fn guide(install: bool) -> Step {
    let call = Call::new("mdbook", &["build", "docs/guide"]);
    Step::with_part("guide", Part::MdBook, install, call)
}

pub(crate) fn toolchains(install: bool) -> Vec<Step> {
    let mut steps = vec![oldest(install)];
    steps.extend(arm(install));
    steps
}

/// The compiler that the manifests promise builds all that users and developers build.
fn oldest(install: bool) -> Step {
    let call = Call::cargo(&["check", "--workspace", "--all-targets"])
        .toolchain(toolchain::OLDEST)
        .target_dir("oldest");
    let part = Part::Toolchain(toolchain::OLDEST);
    Step::with_part("oldest", part, install, call)
}

/// The other processor: all is checked, and what has instructions of its own is
/// assembled, which a check leaves out. Neither needs a linker.
fn arm(install: bool) -> [Step; 2] {
    let all = ["check", "--workspace", "--all-targets"];
    let assembled = ["build", "--lib", "--package", "mely"];
    [("arm", &all[..]), ("arm-asm", &assembled[..])].map(|(name, words)| {
        let call = Call::cargo(&[words, &["--target", toolchain::ARM]].concat());
        Step::with_part(name, Part::Target(toolchain::ARM), install, call)
    })
}

pub(crate) fn loom(preemptions: u32) -> Step {
    let chosen = std::env::var("LOOM_MAX_PREEMPTIONS").unwrap_or(preemptions.to_string());
    let call = Call::cargo(&["test", "--release", "-p", "mely", "--lib", "loom"])
        .target_dir("loom")
        .env("RUSTFLAGS", "--cfg loom")
        .env("LOOM_MAX_PREEMPTIONS", chosen);
    Step::tests("loom", call)
}

pub(crate) fn miri() -> Vec<Step> {
    let filtered = [
        &["miri", "test", "-p", "mely", "--lib", "--"][..],
        MIRI_FILTERS,
    ]
    .concat();
    vec![
        Step::tests(
            "miri-sched",
            miri_call(&["miri", "test", "-p", "mely-sched"]),
        ),
        Step::tests("miri-mely", miri_call(&filtered)),
        Step::tests("miri-whole", miri_programs(MIRI_SEEDS)),
        Step::tests(
            "miri-trees",
            miri_programs(&format!("{MIRI_SEEDS} -Zmiri-tree-borrows")),
        ),
    ]
}

/// Two policies, once, where the nightly toolchain is there.
pub(crate) fn miri_short(install: bool) -> Step {
    let call = miri_programs("").env("MELY_STRESS", "short");
    Step::tests_with_part("miri", Part::Miri, install, call)
}

/// The whole runtime, interpreted.
fn miri_programs(flags: &str) -> Call {
    let flags = format!("-Zmiri-disable-isolation {flags}");
    Call::nightly(MIRI_PROGRAMS)
        .env("RUSTFLAGS", MIRI_LIBC)
        .env("MIRIFLAGS", flags.trim_end())
}

/// Property tests ask for the current folder, which isolation denies.
fn miri_call(args: &[&str]) -> Call {
    Call::nightly(args)
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("PROPTEST_CASES", MIRI_PROPTEST_CASES)
}

/// The standard library is built with the sanitizer too, or its own
/// synchronisation would look like races. Naming the kinds of targets leaves
/// doctests out: rustdoc does not get the flags.
pub(crate) fn tsan() -> Step {
    let target = gnu_target(std::env::consts::ARCH);
    let args = ["test", "-Zbuild-std", "--target", &target, "--workspace"];
    let kinds = ["--lib", "--bins", "--tests", "--no-fail-fast"];
    let call = Call::nightly(&[&args[..], &kinds].concat())
        .target_dir("tsan")
        .env("RUSTFLAGS", "-Zsanitizer=thread")
        .env("TSAN_OPTIONS", "halt_on_error=1");
    Step::tests("tsan", call)
}

fn gnu_target(arch: &str) -> String {
    format!("{arch}-unknown-linux-gnu")
}

pub(crate) fn stress() -> Step {
    let call = Call::cargo(&["test", "--release", "--workspace", "--no-fail-fast"]);
    Step::tests("stress", call.env("MELY_STRESS", "long"))
}

pub(crate) fn lint() -> Vec<Step> {
    vec![fmt(), tidy(), clippy(), spans_clippy(), rustdoc()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_sanitizer_runs_without_suppressions_and_doctests() {
        let command = tsan().command();
        assert!(!command.contains("suppressions"), "{command}");
        assert!(command.contains("-Zsanitizer=thread") && command.contains("--lib --bins --tests"));
    }

    #[test]
    fn loom_builds_in_its_own_folder() {
        let command = loom(3).command();
        assert!(command.starts_with("CARGO_TARGET_DIR=target/loom RUSTFLAGS=\"--cfg loom\""));
    }

    #[test]
    fn miri_filters_end_the_command() {
        let commands: Vec<_> = miri().iter().map(Step::command).collect();
        assert!(
            commands[1].ends_with("mailbox block states panics waits marks"),
            "{commands:?}"
        );
    }

    #[test]
    fn miri_runs_the_whole_runtime_under_both_models() {
        let commands: Vec<_> = miri().iter().map(Step::command).collect();
        let whole = |command: &String| {
            command.contains(MIRI_SEEDS) && command.ends_with("--test it interpreted")
        };
        assert!(commands[2..].iter().all(whole), "{commands:?}");
        assert!(commands[3].contains("tree-borrows") && !commands[2].contains("tree-borrows"));
        assert!(miri_short(false).command().contains("MELY_STRESS=short"));
    }
}
