//! How the pictures of figures look: SVG with a background of their own, so that they
//! read the same on light and dark pages, and fonts named by family only, as every
//! viewer has them.
//!
//! | file | what |
//! |---|---|
//! | `style` | colors, text and sizes |
//! | `number` | numbers as they stand in pictures and tables |
//! | `curves` | curves over the number of cores |
//! | `command` | the command that gave the figures |

mod command;
mod curves;
mod number;
mod style;

pub use command::published;
pub use curves::{Curve, Panel, Picture};
pub use number::{short, tick};
pub use style::{Area, BACKGROUND, Failed, GREY, GRID, INK, OURS, TEXT, WIDTH, failed, text};
