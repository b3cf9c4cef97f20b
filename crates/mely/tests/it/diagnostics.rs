//! What a compiler says of the mistakes that programs of users make: briefly, and by name.

use std::path::Path;
use std::process::Command;

/// The errors of a program that must not compile.
fn errors_of(program: &str) -> Vec<String> {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diagnostics");
    let mely = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::create_dir_all(package.join("src")).expect("a package");
    let manifest = format!(
        "[package]\nname = \"diagnostics\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nmely = {{ path = {:?} }}\n",
        mely.display()
    );
    std::fs::write(package.join("Cargo.toml"), manifest).expect("a manifest");
    std::fs::write(package.join("src/main.rs"), program).expect("a program");
    let lock = mely.join("../../Cargo.lock");
    std::fs::copy(lock, package.join("Cargo.lock")).expect("the versions of the workspace");
    let compiled = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--message-format=short"])
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .current_dir(&package)
        .output()
        .expect("cargo");
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(!compiled.status.success(), "it compiles: {said}");
    let errors = said.lines().filter(|line| line.starts_with("src/main.rs"));
    errors.map(str::to_owned).collect()
}

/// A context that an event of another color captures is one error, which names what it is.
#[test]
#[cfg_attr(miri, ignore = "starts cargo")]
fn a_context_of_another_event_is_one_error() {
    let errors = errors_of(
        "fn main() {
            let rt = mely::Runtime::new().unwrap();
            let (a, b) = (rt.colored(0), rt.colored(0));
            a.post_or_shed(move |_, cx| {
                b.post_or_shed(move |_, _| println!(\"{}\", cx.worker()));
            });
        }",
    );
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(
        errors[0].contains("ContextOfAnotherEvent") && errors[0].contains("cannot be sent"),
        "{errors:#?}"
    );
}
