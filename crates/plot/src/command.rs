//! The command that gave figures, as it stands beside them.

use std::ffi::OsString;
use std::path::Path;

/// A command line as it can be published beside the figures that it gave: paths of this
/// machine become names.
///
/// ```
/// let line = ["/opt/mely", "bench", "peers", "--json=/srv/peers.json"];
/// let said = mely_plot::published(line.map(Into::into));
/// assert_eq!(said, "mely bench peers --json=peers.json");
/// ```
pub fn published(args: impl IntoIterator<Item = OsString>) -> String {
    let args = args.into_iter().enumerate().map(|(at, arg)| {
        let arg = arg.to_string_lossy();
        match (at, arg.split_once('=')) {
            (0, _) => name_of(&arg).to_owned(),
            (_, Some((option, value))) => format!("{option}={}", without_directories(value)),
            (_, None) => without_directories(&arg).to_owned(),
        }
    });
    args.collect::<Vec<_>>().join(" ")
}

/// A path in the file system becomes its last name; what only has a slash in it, as
/// `mely/adaptive` or a path inside the repository, stays.
fn without_directories(arg: &str) -> &str {
    match arg.starts_with(['/', '.', '~']) {
        true => name_of(arg),
        false => arg,
    }
}

fn name_of(path: &str) -> &str {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_this_machine_are_left_out() {
        let line = [
            "/opt/build/mely",
            "bench",
            "peers",
            "--impl",
            "mely/mely-base,tokio",
            "--json=/srv/me/peers.json",
            "--mely",
            "../me/mely",
        ];
        let said = published(line.map(OsString::from));
        assert_eq!(
            said,
            "mely bench peers --impl mely/mely-base,tokio --json=peers.json --mely mely"
        );
    }

    #[test]
    fn a_path_inside_the_repository_stays() {
        let outside = [
            "/somewhere/mely",
            "sim",
            "--json",
            "/elsewhere/figures.json",
        ];
        let said = published(outside.map(OsString::from));
        assert_eq!(said, "mely sim --json figures.json");
        let inside = ["mely", "--json", "bench/results/figures.json"];
        assert_eq!(published(inside.map(OsString::from)), inside.join(" "));
    }
}
