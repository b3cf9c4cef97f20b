//! The nightly toolchain, with the parts that Miri and ThreadSanitizer need.

use crate::error::Error;
use crate::run::Call;

/// Checks that nightly is there and adds what it lacks.
pub(crate) fn require(dry_run: bool) -> Result<(), Error> {
    let add = [
        "component",
        "add",
        "miri",
        "rust-src",
        "--toolchain",
        "nightly",
    ];
    let add = Call::new("rustup", &add);
    if dry_run {
        println!("{:<10} {add}", "nightly");
        return Ok(());
    }
    let installed = Call::new(
        "rustup",
        &["component", "list", "--installed", "--toolchain", "nightly"],
    )
    .output()
    .map_err(|error| Error::Nightly {
        reason: format!("there is no nightly toolchain: {error}"),
    })?;
    if is_complete(&installed) {
        return Ok(());
    }
    add.run().map_err(|error| Error::Nightly {
        reason: error.to_string(),
    })
}

fn is_complete(installed: &str) -> bool {
    let has = |name: &str| installed.lines().any(|line| line.starts_with(name));
    has("miri") && has("rust-src")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_are_needed() {
        assert!(is_complete(
            "cargo-x\nmiri-x86_64-unknown-linux-gnu\nrust-src\n"
        ));
        assert!(!is_complete("cargo-x\nrust-src\n"));
        assert!(!is_complete("miri-x86_64-unknown-linux-gnu\nrust-std\n"));
    }
}
