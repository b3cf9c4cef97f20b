//! Consistent overhead byte stuffing: data without NULs (Cheshire and Baker, 1999).

use crate::error::Error;

/// A code that stands for as many bytes less one, with no NUL behind them.
const FULL: u8 = 0xff;

pub(super) fn encoded(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + data.len() / 254 + 1);
    // Every NUL ends a run, and so does the end of the data.
    for run in data.split(|&byte| byte == 0) {
        let mut rest = run;
        while rest.len() >= usize::from(FULL - 1) {
            let (full, behind) = rest.split_at(usize::from(FULL - 1));
            out.push(FULL);
            out.extend_from_slice(full);
            rest = behind;
        }
        out.push(rest.len() as u8 + 1);
        out.extend_from_slice(rest);
    }
    out
}

pub(super) fn decoded(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let malformed = Error::Malformed {
        what: "the stuffing of a GGEP extension",
    };
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&code, behind)) = rest.split_first() {
        let run = usize::from(code).checked_sub(1);
        let Some((run, behind)) = run.and_then(|run| behind.split_at_checked(run)) else {
            return Err(malformed);
        };
        if run.contains(&0) {
            return Err(malformed);
        }
        out.extend_from_slice(run);
        if code != FULL && !behind.is_empty() {
            out.push(0);
        }
        rest = behind;
    }
    Ok(out)
}
