//! Where `mely top` shows what it sees.

use std::env;
use std::io::{self, IsTerminal, Stdout, Write};

use crate::error::CliError;

/// How many rows there are where nothing limits them.
const ROWS: usize = 20;

/// What text is to look like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) colored: bool,
    /// What a line has room for.
    pub(super) columns: Option<usize>,
    /// What a table has room for.
    pub(super) rows: Rows,
}

/// How many rows a part of the screen may have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rows {
    Wanted(usize),
    /// All parts together.
    Screen(usize),
}

impl Rows {
    pub(super) const DEFAULT: Rows = Rows::Wanted(ROWS);
}

/// Standard output.
#[derive(Debug)]
pub(super) struct Screen {
    out: Stdout,
    is_terminal: bool,
    once: bool,
    rows: Option<usize>,
}

impl Screen {
    pub(super) fn of(out: Stdout, once: bool, rows: Option<usize>) -> Self {
        let is_terminal = out.is_terminal();
        Self {
            out,
            is_terminal,
            once,
            rows,
        }
    }

    /// Whether each text takes the place of the one before.
    pub(super) fn redraws(&self) -> bool {
        self.is_terminal && !self.once
    }

    pub(super) fn style(&self) -> Style {
        let size = self
            .is_terminal
            .then(|| rustix::termios::tcgetwinsize(&self.out).ok());
        // A terminal that does not know its size has none.
        let size = size
            .flatten()
            .filter(|size| size.ws_row > 0 && size.ws_col > 0);
        let rows = match (self.rows, size) {
            (Some(rows), _) => Rows::Wanted(rows),
            (None, Some(size)) if self.redraws() => Rows::Screen(size.ws_row.into()),
            (None, _) => Rows::DEFAULT,
        };
        Style {
            colored: self.is_terminal && env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()),
            columns: size.map(|size| size.ws_col.into()),
            rows,
        }
    }

    /// Shows a text; whether somebody still looks on.
    pub(super) fn show(&self, text: &str) -> Result<bool, CliError> {
        let text = match self.redraws() {
            // Home; each line is cleared behind its text, and what is below the last: that
            // flickers less than an empty screen.
            true => format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n")),
            false => text.to_owned(),
        };
        let mut out = self.out.lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(CliError::io("write to standard output", error)),
        }
    }
}
