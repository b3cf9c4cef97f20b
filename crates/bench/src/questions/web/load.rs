//! What a server is loaded with.

use std::fmt;
use std::str::FromStr;

use super::answers::Answers;
use super::{clients, wrk};
use crate::measure::Error;

/// Requests on a connection before its client closes it and opens another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// As many as there is time for: connections are kept open.
    All,
    /// So many.
    Each(u32),
}

impl FromStr for Requests {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("all", _) => Ok(Self::All),
            (_, Ok(each @ 1..)) => Ok(Self::Each(each)),
            _ => Err("give a number from 1, or `all` for connections that stay open".to_owned()),
        }
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Each(each) => each.fmt(f),
        }
    }
}

/// A load on a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) connections: u32,
    pub(super) requests: Requests,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1 KB, {} connections", self.connections)?;
        match self.requests {
            Requests::All => Ok(()),
            Requests::Each(each) => write!(f, ", {each} requests each"),
        }
    }
}

impl Load {
    /// Loads the server on a port of this machine.
    ///
    /// wrk is what others measure with, but cannot count the requests of a
    /// connection: its scripts are asked for a request without being told for which
    /// connection. h2load can, but ends with the last of them, so that connections
    /// open and close all at once, never while others are served. So connections that
    /// are opened anew have clients of our own, as in the papers.
    pub(super) fn run(self, port: u16, file: &str, seconds: u64) -> Result<Answers, Error> {
        match self.requests {
            Requests::All => wrk::run(port, file, self.connections, seconds),
            Requests::Each(each) => clients::run(port, file, self.connections, each, seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_a_number_or_all() {
        for requests in [Requests::All, Requests::Each(150)] {
            assert_eq!(requests.to_string().parse(), Ok(requests));
        }
        for wrong in ["0", "-1", "", "some"] {
            let error = wrong.parse::<Requests>().unwrap_err();
            assert!(error.contains("`all`"), "{error}");
        }
    }

    #[test]
    fn a_load_that_closes_connections_says_so() {
        let load = |requests| Load {
            connections: 200,
            requests,
        };
        assert_eq!(load(Requests::All).to_string(), "1 KB, 200 connections");
        let each = load(Requests::Each(150)).to_string();
        assert_eq!(each, "1 KB, 200 connections, 150 requests each");
    }
}
