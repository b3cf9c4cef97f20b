//! A panel: a bar for each implementation, with a whisker from least to most.

use mely_plot::{Area, Failed, GREY, GRID, INK, OURS, TEXT, WIDTH, failed, short, text, tick};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::measure::report::Row;

/// Mely's other policies.
const POLICY: RGBColor = RGBColor(0x4c, 0x78, 0xa8);
/// Everybody else.
const PEER: RGBColor = RGBColor(0x9a, 0xa5, 0xb1);

/// In pixels.
const BAR_PITCH: u32 = 22;
/// The figures of the axis, and its name.
const AXIS: u32 = 44;
const MARGIN: u32 = 10;
/// The widest letter of the names; most are narrower.
const LETTER: u32 = 8;
/// What the figure of a bar takes: `28.3 k`, with some space on both sides.
const FIGURE: u32 = 64;

/// The part of its pitch that a bar takes.
const BAR: f64 = 0.68;

/// The height of a panel of so many bars.
pub(super) fn height(bars: usize) -> u32 {
    u32::try_from(bars).unwrap_or(u32::MAX / BAR_PITCH) * BAR_PITCH + AXIS + 2 * MARGIN
}

fn color(implementation: &str) -> RGBColor {
    match implementation {
        "mely" | "mely/adaptive" => OURS,
        name if name.starts_with("mely/") || name.starts_with("mely ") => POLICY,
        _ => PEER,
    }
}

/// Names as they stand beside the bars.
pub(super) struct Names {
    /// What all names begin with, and need not say.
    prefix: &'static str,
    /// The width of the longest, in pixels.
    width: u32,
}

impl Names {
    /// Where all are Mely's policies, no name needs to say so.
    pub(super) fn of(rows: &[Row]) -> Self {
        const MELY: &str = "mely/";
        let all = rows.iter().all(|row| row.implementation.starts_with(MELY));
        let mut names = Self {
            prefix: if all { MELY } else { "" },
            width: 0,
        };
        let letters = rows.iter().map(|row| names.short(row).chars().count());
        let letters = u32::try_from(letters.max().unwrap_or(0)).unwrap_or(u32::MAX / LETTER);
        names.width = (letters * LETTER).min(WIDTH / 4);
        names
    }

    fn short<'a>(&self, row: &'a Row) -> &'a str {
        let name = &row.implementation;
        name.strip_prefix(self.prefix).unwrap_or(name)
    }
}

/// The end of the axis: behind the longest bar there is room for its figure.
fn axis_end(rows: &[&Row], width: u32) -> f64 {
    let most = rows.iter().map(|row| row.max).fold(0.0, f64::max);
    let bars = width.saturating_sub(FIGURE).max(1);
    match most > 0.0 {
        true => most * f64::from(width.max(1)) / f64::from(bars),
        false => 1.0,
    }
}

/// Draws the rows of one unit.
pub(super) fn draw(
    area: &Area<'_>,
    unit: &str,
    rows: &[&Row],
    names: &Names,
) -> Result<(), Failed> {
    let (width, _) = area.dim_in_pixel();
    let axis = axis_end(rows, width.saturating_sub(names.width + 2 * MARGIN));
    let bars = rows.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .x_label_area_size(AXIS)
        .y_label_area_size(names.width)
        .build_cartesian_2d(0.0..axis, 0.0..bars)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .y_labels(0)
        .x_labels(5)
        .x_desc(unit)
        .axis_desc_style(text(TEXT, INK))
        .x_label_formatter(&|x| tick(*x))
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
        chart.draw_series([bar]).map_err(failed)?;
        if row.min < row.max {
            chart.draw_series(whisker(row, middle)).map_err(failed)?;
        }
        let right = text(TEXT, INK).pos(Pos::new(HPos::Left, VPos::Center));
        let left = text(TEXT, INK).pos(Pos::new(HPos::Right, VPos::Center));
        let figure =
            EmptyElement::at((row.max, middle)) + Text::new(short(row.median), (6, 0), right);
        let name = names.short(row).to_owned();
        let name = EmptyElement::at((0.0, middle)) + Text::new(name, (-6, 0), left);
        chart.draw_series([figure]).map_err(failed)?;
        chart.draw_series([name]).map_err(failed)?;
    }
    Ok(())
}

/// A line from the least to the most, with its two ends.
fn whisker(row: &Row, middle: f64) -> [PathElement<(f64, f64)>; 3] {
    let line = |points: [(f64, f64); 2]| PathElement::new(points, INK);
    let end = |x| line([(x, middle - BAR / 5.0), (x, middle + BAR / 5.0)]);
    [
        line([(row.min, middle), (row.max, middle)]),
        end(row.min),
        end(row.max),
    ]
}
