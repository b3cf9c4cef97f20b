//! A sign of life for long work, where somebody looks.

use std::io::{self, IsTerminal};

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
