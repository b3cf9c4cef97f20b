//! Colors, text and sizes of all pictures.

use std::fmt;

use plotters::coord::Shift;
use plotters::prelude::*;

/// A part of a picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What the plotting library says.
pub type Failed = String;

/// Of titles, names and figures.
pub const INK: RGBColor = RGBColor(0x1f, 0x29, 0x33);
/// Of what is said besides.
pub const GREY: RGBColor = RGBColor(0x5f, 0x6b, 0x7a);
/// Of lines behind figures.
pub const GRID: RGBColor = RGBColor(0xe3, 0xe6, 0xea);
/// Of the default policy, and of what runs it.
pub const OURS: RGBColor = RGBColor(0xd9, 0x48, 0x0f);
/// Pictures bring their own.
pub const BACKGROUND: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// In pixels: text is read at about the width of a page of documentation.
pub const WIDTH: u32 = 840;
/// The size of text, in pixels.
pub const TEXT: u32 = 13;

/// Text of a size and a color.
#[must_use]
pub fn text(size: u32, color: RGBColor) -> TextStyle<'static> {
    TextStyle {
        color: color.to_backend_color(),
        ..TextStyle::from(("sans-serif", size).into_font())
    }
}

/// What the plotting library says, as a text.
pub fn failed(error: impl fmt::Display) -> Failed {
    error.to_string()
}
