//! Curves over the number of cores, in panels that share one legend.

use plotters::prelude::*;

use crate::style::{Area, BACKGROUND, Failed, GREY, GRID, INK, OURS, TEXT, WIDTH, failed, text};
use crate::{short, tick};

/// In pixels.
const TITLE: u32 = 64;
const PANEL: u32 = 280;
const MARGIN: u32 = 10;
const AXIS: u32 = 40;
const FIGURES: u32 = 52;
const LEGEND_LINE: u32 = 20;
const LEGEND_COLUMNS: usize = 4;

/// Told apart as well as twelve can be; the default policy has one of its own.
const COLORS: [RGBColor; 12] = [
    RGBColor(0x9a, 0xa5, 0xb1),
    RGBColor(0x4b, 0x55, 0x63),
    RGBColor(0xbf, 0x9b, 0x30),
    RGBColor(0x8c, 0x6d, 0x1f),
    RGBColor(0xc7, 0x7c, 0xa8),
    RGBColor(0x8e, 0x3b, 0x6e),
    RGBColor(0x9f, 0xd3, 0xc7),
    RGBColor(0x2a, 0x9d, 0x8f),
    RGBColor(0x8d, 0xb8, 0xe2),
    RGBColor(0x4c, 0x78, 0xa8),
    RGBColor(0x6a, 0x5a, 0xcd),
    RGBColor(0x1f, 0x3a, 0x6e),
];

/// A line through figures.
#[derive(Clone, Debug)]
pub struct Curve {
    /// As the legend has it.
    pub name: String,
    /// Whether it is the default policy's, which stands out.
    pub ours: bool,
    /// Cores and figures.
    pub points: Vec<(usize, f64)>,
}

/// Curves of one unit.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What the figures are.
    pub title: String,
    /// Whether each step up is twice as much: for rates over hundreds of cores.
    pub doubling: bool,
    /// In the same order in all panels.
    pub curves: Vec<Curve>,
}

/// Panels with a title.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What the picture is of.
    pub title: String,
    /// How the figures came about.
    pub subtitle: String,
    /// Two stand side by side.
    pub panels: Vec<Panel>,
}

fn color(at: usize, curve: &Curve) -> RGBColor {
    match curve.ours {
        true => OURS,
        false => COLORS[at % COLORS.len()],
    }
}

impl Picture {
    /// Draws it as SVG.
    ///
    /// ```
    /// use mely_plot::{Curve, Panel, Picture};
    ///
    /// let curve = Curve { name: "adaptive".into(), ours: true, points: vec![(1, 1e6), (2, 1.9e6)] };
    /// let panel = Panel { title: "events/s".into(), doubling: true, curves: vec![curve] };
    /// let picture = Picture { title: "web".into(), subtitle: String::new(), panels: vec![panel] };
    /// assert!(picture.draw()?.contains("adaptive"));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the plotting library says.
    pub fn draw(&self) -> Result<String, Failed> {
        let names = self.panels.first().map_or(&[][..], |panel| &panel.curves);
        let lines = names.len().div_ceil(LEGEND_COLUMNS) as u32;
        let rows = self.panels.len().div_ceil(2) as u32;
        let legend = lines * LEGEND_LINE + MARGIN;
        let mut svg = String::new();
        {
            let size = (WIDTH, TITLE + legend + rows * PANEL);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&BACKGROUND).map_err(failed)?;
            let (title, rest) = root.split_vertically(TITLE);
            self.draw_title(&title)?;
            let (legend, panels) = rest.split_vertically(legend);
            draw_legend(&legend, names)?;
            let areas = panels.split_evenly((rows as usize, 2));
            for (area, panel) in areas.iter().zip(&self.panels) {
                panel.draw(area)?;
            }
            root.present().map_err(failed)?;
        }
        Ok(svg)
    }

    fn draw_title(&self, area: &Area<'_>) -> Result<(), Failed> {
        let lines = [
            (&self.title, TEXT + 5, INK, 12),
            (&self.subtitle, TEXT - 2, GREY, 40),
        ];
        for (line, size, color, y) in lines {
            let line = Text::new(line.clone(), (14, y), text(size, color));
            area.draw(&line).map_err(failed)?;
        }
        Ok(())
    }
}

fn draw_legend(area: &Area<'_>, curves: &[Curve]) -> Result<(), Failed> {
    let column = WIDTH as usize / LEGEND_COLUMNS;
    for (at, curve) in curves.iter().enumerate() {
        let x = (14 + at % LEGEND_COLUMNS * column) as i32;
        let y = (at / LEGEND_COLUMNS) as i32 * LEGEND_LINE as i32 + 8;
        let line = PathElement::new([(x, y), (x + 22, y)], stroke(at, curve));
        let name = Text::new(curve.name.clone(), (x + 30, y - 7), text(TEXT, INK));
        area.draw(&line).map_err(failed)?;
        area.draw(&name).map_err(failed)?;
    }
    Ok(())
}

fn stroke(at: usize, curve: &Curve) -> ShapeStyle {
    color(at, curve).stroke_width(if curve.ours { 3 } else { 2 })
}

impl Panel {
    /// Where a figure stands on the axis; no rate is less than one.
    fn place(&self, figure: f64) -> f64 {
        match self.doubling {
            true => figure.max(1.0).log2(),
            false => figure,
        }
    }

    fn label(&self, place: f64) -> String {
        match self.doubling {
            true => short(place.exp2()),
            false => tick(place),
        }
    }

    fn draw(&self, area: &Area<'_>) -> Result<(), Failed> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let places = || points().map(|&(_, figure)| self.place(figure));
        let most_cores = points().map(|&(cores, _)| cores).max().unwrap_or(1);
        let doublings = (most_cores as f64).log2().max(1.0);
        let most = places().fold(0.0, f64::max);
        let least = match self.doubling {
            true => places().fold(most, f64::min),
            false => 0.0,
        };
        let most = if most > least { most } else { least + 1.0 };
        let most = most + (most - least) * 0.04;
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .caption(&self.title, text(TEXT, INK))
            .x_label_area_size(AXIS)
            .y_label_area_size(FIGURES)
            .build_cartesian_2d(0.0..doublings, least..most)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .x_labels(doublings.ceil() as usize + 1)
            .y_labels(6)
            .x_desc("cores")
            .axis_desc_style(text(TEXT, INK))
            .x_label_formatter(&|x| tick(x.exp2().round()))
            .y_label_formatter(&|y| self.label(*y))
            .label_style(text(TEXT - 2, GREY))
            .axis_style(GREY)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .draw()
            .map_err(failed)?;
        for (at, curve) in self.curves.iter().enumerate() {
            let place = |&(cores, figure): &(usize, f64)| {
                ((cores.max(1) as f64).log2(), self.place(figure))
            };
            let line = LineSeries::new(curve.points.iter().map(place), stroke(at, curve));
            chart.draw_series(line).map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_well_formed_and_names_what_it_shows() {
        let curve = |name: &str, scale: f64| Curve {
            name: name.to_owned(),
            ours: name == "adaptive",
            points: [1, 2, 256]
                .map(|cores| (cores, scale * cores as f64))
                .to_vec(),
        };
        let panel = |title: &str, doubling, scale| Panel {
            title: title.to_owned(),
            doubling,
            curves: vec![curve("adaptive", scale), curve("a <&> b", 2.0 * scale)],
        };
        let picture = Picture {
            title: "web on <a machine>".to_owned(),
            subtitle: "simulated".to_owned(),
            panels: vec![
                panel("events/s", true, 1e6),
                panel("efficiency", false, 0.0),
                panel("steals/s", true, 0.0),
            ],
        };
        let svg = picture.draw().unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: Vec<_> = document.descendants().filter_map(|n| n.text()).collect();
        for wanted in ["web on <a machine>", "a <&> b", "efficiency", "256", "64"] {
            let found = texts.iter().any(|text| text.trim() == wanted);
            assert!(found, "{wanted}: {texts:?}");
        }
        // Of two curves in three panels.
        assert!(svg.matches("<polyline").count() >= 6);
    }

    #[test]
    fn nothing_is_a_picture_too() {
        let picture = Picture {
            title: String::new(),
            subtitle: String::new(),
            panels: vec![Panel {
                title: "events/s".to_owned(),
                doubling: false,
                curves: Vec::new(),
            }],
        };
        assert!(picture.draw().unwrap().contains("</svg>"));
    }
}
