//! The servers that are compared, and their settings.
//!
//! All serve the same folder with as many workers, keep connections open as long as
//! the client does, log no requests, and may have more connections than any load has.
//! Where a peer's default is otherwise it is raised; what is left is as its makers
//! chose it.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use crate::measure::Error;
use crate::measure::server::{Server, failed, free_port};

/// Another web server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// nginx.
    Nginx,
    /// lighttpd.
    Lighttpd,
    /// h2o.
    H2o,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What all servers are told.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    /// The folder that is served.
    pub(super) root: &'a Path,
    pub(super) workers: u16,
}

/// Debian leaves this out of an ordinary user's PATH; nginx and lighttpd live there.
const SYSTEM_FOLDER: &str = "/usr/sbin";

impl Peer {
    pub(super) const ALL: [Peer; 3] = [Peer::Nginx, Peer::Lighttpd, Peer::H2o];

    /// Its name, as its program and its Debian package have it too.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Lighttpd => "lighttpd",
            Self::H2o => "h2o",
        }
    }

    /// Starts it.
    pub(super) fn start(self, site: Site<'_>) -> Result<Server, Error> {
        let port = free_port()?;
        let name = self.name();
        let file = site.root.join(format!("{name}.conf"));
        std::fs::write(&file, self.settings(site, port))
            .map_err(|source| failed(&format!("the settings of {name}"), source))?;
        let mut command = Command::new(self.program());
        match self {
            Self::Nginx => command.arg("-e").arg("stderr").arg("-c"),
            Self::Lighttpd => command.arg("-D").arg("-f"),
            Self::H2o => command.arg("-c"),
        };
        command.arg(&file);
        Server::start(name, port, &command)
    }

    fn program(self) -> String {
        let in_system_folder = format!("{SYSTEM_FOLDER}/{}", self.name());
        match Path::new(&in_system_folder).is_file() {
            true => in_system_folder,
            false => self.name().to_owned(),
        }
    }

    fn settings(self, site: Site<'_>, port: u16) -> String {
        match self {
            Self::Nginx => nginx(site, port),
            Self::Lighttpd => lighttpd(site, port),
            Self::H2o => h2o(site, port),
        }
    }

    /// What to say of one that did not start.
    pub(super) fn skipped(self, error: &Error) -> String {
        match error {
            Error::Server { source, .. } if source.kind() == ErrorKind::NotFound => {
                format!("skipped {self}: it is not installed: apt-get install {self}")
            }
            error => format!("skipped {self}: {error}"),
        }
    }
}

/// Opened files are remembered; a connection has as many requests as it likes.
fn nginx(Site { root, workers }: Site<'_>, port: u16) -> String {
    let root = root.display();
    let user = match rustix::process::geteuid().is_root() {
        true => "user root;\n",
        false => "",
    };
    format!(
        "daemon off;\n{user}worker_processes {workers};\npid {root}/nginx.pid;\n\
         error_log {root}/nginx.log;\nworker_rlimit_nofile 16384;\n\
         events {{ worker_connections 8192; }}\n\
         http {{\n access_log off;\n keepalive_requests 1000000000;\n tcp_nodelay on;\n\
         sendfile on;\n open_file_cache max=1000 inactive=60s;\n\
         open_file_cache_valid 60s;\n types {{ text/plain txt; }}\n\
         client_body_temp_path {root}/t1; proxy_temp_path {root}/t2;\n\
         fastcgi_temp_path {root}/t3; uwsgi_temp_path {root}/t4; scgi_temp_path {root}/t5;\n\
         server {{ listen 127.0.0.1:{port} backlog=4096; root {root}; }}\n}}\n"
    )
}

/// 65535 requests are the most that it can be told; ten seconds of one connection.
/// It logs requests only with a module that is not loaded.
fn lighttpd(Site { root, workers }: Site<'_>, port: u16) -> String {
    let root = root.display();
    format!(
        "server.bind = \"127.0.0.1\"\nserver.port = {port}\n\
         server.document-root = \"{root}\"\nserver.errorlog = \"{root}/lighttpd.log\"\n\
         server.max-worker = {workers}\nserver.max-fds = 16384\n\
         server.max-connections = 8192\nserver.listen-backlog = 4096\n\
         server.max-keep-alive-requests = 65535\nserver.max-keep-alive-idle = 60\n\
         mimetype.assign = ( \".txt\" => \"text/plain\" )\n"
    )
}

/// It logs no requests unless told to, and never counts those of a connection.
fn h2o(Site { root, workers }: Site<'_>, port: u16) -> String {
    let root = root.display();
    let user = match rustix::process::geteuid().is_root() {
        true => "user: root\n",
        false => "",
    };
    format!(
        "{user}num-threads: {workers}\nmax-connections: 16384\n\
         error-log: {root}/h2o.log\nlisten:\n  host: 127.0.0.1\n  port: {port}\n\
         hosts:\n  default:\n    paths:\n      /:\n        file.dir: {root}\n"
    )
}

/// `mely web` with options of its own.
pub(super) fn mely(program: &Path, site: Site<'_>, flags: &str) -> Result<Server, Error> {
    let port = free_port()?;
    let mut command = Command::new(program);
    command
        .arg("web")
        .arg(site.root)
        .args(["--quiet", "--listen", &format!("127.0.0.1:{port}")])
        .args(["--workers", &site.workers.to_string()])
        .args(flags.split_whitespace());
    Server::start(format!("mely {flags}").trim(), port, &command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn every_peer_is_told_the_workers_the_port_and_the_folder() {
        let site = Site {
            root: Path::new("/a/folder"),
            workers: 31,
        };
        for peer in Peer::ALL {
            let settings = peer.settings(site, 12_345);
            for told in ["31", "12345", "/a/folder"] {
                assert!(settings.contains(told), "{peer}: {settings}");
            }
        }
    }

    #[test]
    fn a_peer_that_is_missing_is_named_with_its_package() {
        let error = failed("h2o", io::ErrorKind::NotFound.into());
        let said = Peer::H2o.skipped(&error);
        assert!(said.ends_with("apt-get install h2o"), "{said}");
        let error = failed("h2o", io::Error::other("ended: exit status: 1"));
        let said = Peer::H2o.skipped(&error);
        assert!(said.contains("exit status: 1"), "{said}");
    }
}
