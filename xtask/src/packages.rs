//! The programs that the tests call, the libraries they compile with, and the Debian
//! packages these come in.

use std::path::PathBuf;

use crate::error::Error;
use crate::run::Call;

/// What the tests need, and its package.
struct Tool {
    /// A program, by any of its names; or a header, by the name that includes it.
    programs: &'static [&'static str],
    package: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        programs: &["curl"],
        package: "curl",
    },
    Tool {
        programs: &["wrk"],
        package: "wrk",
    },
    Tool {
        programs: &["h2load"],
        package: "nghttp2-client",
    },
    Tool {
        programs: &["nginx"],
        package: "nginx",
    },
    Tool {
        programs: &["lighttpd"],
        package: "lighttpd",
    },
    Tool {
        programs: &["h2o"],
        package: "h2o",
    },
    Tool {
        programs: &["redis-server"],
        package: "redis-server",
    },
    Tool {
        programs: &["redis-cli"],
        package: "redis-tools",
    },
    Tool {
        programs: &["chromium", "chromium-browser", "google-chrome"],
        package: "chromium",
    },
    Tool {
        programs: &["tshark"],
        package: "tshark",
    },
    Tool {
        programs: &["g++"],
        package: "g++",
    },
    Tool {
        programs: &["boost/asio.hpp"],
        package: "libboost-dev",
    },
];

/// Where the headers of libraries are.
const HEADER_FOLDER: &str = "/usr/include";

/// Debian leaves these out of an ordinary user's PATH, and web servers live there.
const SYSTEM_FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Another apt at work (a machine's own updates) is waited for this long.
const LOCK_WAIT: &str = "DPkg::Lock::Timeout=300";

pub(crate) fn description() -> String {
    let all: Vec<_> = TOOLS.iter().map(|tool| tool.package).collect();
    format!("apt-get install what is missing of {}", all.join(" "))
}

pub(crate) fn print_missing() {
    let missing = missing(&search_path());
    if !missing.is_empty() {
        println!("not installed, as asked: {}", missing.join(", "));
    }
}

pub(crate) fn install_missing() -> Result<(), Error> {
    let path = search_path();
    let missing = missing(&path);
    if missing.is_empty() {
        println!("nothing is missing");
        return Ok(());
    }
    println!("missing: {}", missing.join(", "));
    let prefix = privilege(&missing, &path)?;
    if let Err(error) = apt_get(&prefix, &["update"]).run() {
        // One broken source must not stop packages that another one has.
        println!("going on with the package lists at hand: {error}");
    }
    let args = [
        &["install", "--yes", "--no-install-recommends"][..],
        &missing,
    ]
    .concat();
    let installed = apt_get(&prefix, &args).run();
    judge(installed.err(), self::missing(&path))
}

/// The packages of web servers start a service on port 80, and say that they failed
/// where that is taken: the tests need no service, only the programs.
fn judge(error: Option<Error>, missing: Vec<&'static str>) -> Result<(), Error> {
    match error {
        None => Ok(()),
        Some(error) if missing.is_empty() => {
            println!("going on, as every program is there now: {error}");
            Ok(())
        }
        Some(error) => Err(Error::Packages {
            missing,
            reason: error.to_string(),
        }),
    }
}

/// What to put before `apt-get` to be allowed to install.
fn privilege(missing: &[&'static str], path: &[PathBuf]) -> Result<Vec<&'static str>, Error> {
    let refuse = |reason: &str| Error::Packages {
        missing: missing.to_vec(),
        reason: reason.to_owned(),
    };
    if !is_in(path, "apt-get") {
        return Err(refuse("there is no apt-get here"));
    }
    if Call::new("id", &["-u"]).output()? == "0" {
        return Ok(Vec::new());
    }
    if is_in(path, "sudo") && Call::new("sudo", &["-n", "true"]).output().is_ok() {
        return Ok(vec!["sudo", "-n"]);
    }
    Err(refuse("this user is not root and sudo asks for a password"))
}

/// sudo drops the environment, so the variables travel as arguments of `env`.
fn apt_get(prefix: &[&str], args: &[&str]) -> Call {
    let quiet = [
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "-q",
        "-o",
        LOCK_WAIT,
    ];
    let words = [prefix, &quiet, args].concat();
    Call::new(words[0], &words[1..])
}

fn missing(path: &[PathBuf]) -> Vec<&'static str> {
    let absent = TOOLS
        .iter()
        .filter(|tool| !tool.programs.iter().any(|name| is_in(path, name)));
    absent.map(|tool| tool.package).collect()
}

fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_FOLDERS.iter().map(PathBuf::from))
        .chain([PathBuf::from(HEADER_FOLDER)])
        .collect()
}

fn is_in(folders: &[PathBuf], program: &str) -> bool {
    folders.iter().any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_an_empty_path_everything_is_missing() {
        let all: Vec<_> = TOOLS.iter().map(|tool| tool.package).collect();
        assert_eq!(missing(&[]), all);
    }

    #[test]
    fn a_machine_without_apt_is_told_the_packages() {
        let message = privilege(&["wrk", "nginx"], &[]).unwrap_err().to_string();
        assert!(message.contains("wrk, nginx"), "{message}");
        assert!(message.contains("--no-install"), "{message}");
    }

    #[test]
    fn a_service_that_cannot_start_is_no_failure_but_a_missing_program_is() {
        let failed = || Some(Call::new("no-such-program", &[]).run().unwrap_err());
        assert!(judge(None, vec![]).is_ok());
        assert!(judge(failed(), vec![]).is_ok());
        let error = judge(failed(), vec!["h2o"]).unwrap_err();
        assert!(error.to_string().contains("h2o"), "{error}");
    }

    #[test]
    fn apt_never_asks() {
        let typed = apt_get(&["sudo", "-n"], &["install", "--yes", "wrk"]).to_string();
        assert!(
            typed.starts_with("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get"),
            "{typed}"
        );
    }

    #[test]
    fn a_shell_is_found_where_it_is() {
        assert!(is_in(&search_path(), "sh"));
        assert!(!is_in(&search_path(), "no-such-program"));
    }
}
