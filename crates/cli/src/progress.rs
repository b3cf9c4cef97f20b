//! What a job says while it goes on.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What turns on the terminal while work goes on of which nobody knows the length, if
/// standard error is one and nobody wants quiet.
pub(crate) fn spinner(template: &str, quiet: bool) -> ProgressBar {
    let target = match io::stderr().is_terminal() && !quiet {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// On standard output, for scripts; who closed it does not want to know.
pub(crate) fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// On standard error, for people; whoever closed it does not want to know.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "mely: {line}");
}
