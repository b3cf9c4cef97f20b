//! A panel: a bar for each implementation, with a whisker from least to most.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::number;
use super::picture::{Area, Failed, GREY, INK, TEXT, failed, text};
use crate::report::Row;

/// The default policy, and the server that runs it.
const OURS: RGBColor = RGBColor(0xd9, 0x48, 0x0f);
/// Mely's other policies.
const POLICY: RGBColor = RGBColor(0x4c, 0x78, 0xa8);
/// Everybody else.
const PEER: RGBColor = RGBColor(0x9a, 0xa5, 0xb1);
const GRID: RGBColor = RGBColor(0xe3, 0xe6, 0xea);

/// In pixels.
const BAR_PITCH: u32 = 22;
const CAPTION: u32 = 28;
const AXIS: u32 = 26;
const MARGIN: u32 = 10;

/// How much longer the axis is than the longest bar: room for its figure.
const ROOM: f64 = 1.25;
/// The part of its pitch that a bar takes.
const BAR: f64 = 0.68;

/// The height of a panel of so many bars.
pub(super) fn height(bars: usize) -> u32 {
    u32::try_from(bars).unwrap_or(u32::MAX / BAR_PITCH) * BAR_PITCH + CAPTION + AXIS + 2 * MARGIN
}

fn color(implementation: &str) -> RGBColor {
    match implementation {
        "mely" | "mely/adaptive" => OURS,
        name if name.starts_with("mely/") => POLICY,
        _ => PEER,
    }
}

/// Draws the rows of one unit; `labels` is the width of the longest name.
pub(super) fn draw(area: &Area<'_>, unit: &str, rows: &[&Row], labels: u32) -> Result<(), Failed> {
    let most = rows.iter().map(|row| row.max).fold(0.0, f64::max);
    let axis = if most > 0.0 { most * ROOM } else { 1.0 };
    let bars = rows.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .caption(unit, text(TEXT + 1, INK))
        .x_label_area_size(AXIS)
        .y_label_area_size(labels)
        .build_cartesian_2d(0.0..axis, 0.0..bars)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .y_labels(0)
        .x_labels(5)
        .x_label_formatter(&|x| number::tick(*x))
        .label_style(text(TEXT - 1, GREY))
        .axis_style(GREY)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(failed)?;
    for (at, row) in rows.iter().enumerate() {
        // The first row is on top; the axis goes upwards.
        let middle = bars - at as f64 - 0.5;
        let (low, high) = (middle - BAR / 2.0, middle + BAR / 2.0);
        let bar = Rectangle::new(
            [(0.0, low), (row.median, high)],
            color(&row.implementation).filled(),
        );
        let whisker = |points: Vec<(f64, f64)>| PathElement::new(points, INK);
        let end = |x: f64| whisker(vec![(x, middle - BAR / 5.0), (x, middle + BAR / 5.0)]);
        let elements = [
            whisker(vec![(row.min, middle), (row.max, middle)]),
            end(row.min),
            end(row.max),
        ];
        chart.draw_series([bar]).map_err(failed)?;
        if row.min < row.max {
            chart.draw_series(elements).map_err(failed)?;
        }
        let right = text(TEXT, INK).pos(Pos::new(HPos::Left, VPos::Center));
        let left = text(TEXT, INK).pos(Pos::new(HPos::Right, VPos::Center));
        let figure = EmptyElement::at((row.max, middle))
            + Text::new(number::short(row.median), (6, 0), right);
        let name =
            EmptyElement::at((0.0, middle)) + Text::new(row.implementation.clone(), (-6, 0), left);
        chart.draw_series([figure]).map_err(failed)?;
        chart.draw_series([name]).map_err(failed)?;
    }
    Ok(())
}
