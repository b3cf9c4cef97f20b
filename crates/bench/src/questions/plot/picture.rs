//! A picture: a title, and a panel for each unit.

use mely_plot::{Area, BACKGROUND, Failed, GREY, INK, TEXT, WIDTH, failed, text};
use plotters::prelude::*;

use super::figures::Group;
use super::panel::{self, Names};
use crate::measure::report::Row;

/// In pixels.
const TITLE: u32 = 64;

/// Draws a group as SVG.
pub(super) fn draw(group: &Group) -> Result<String, Failed> {
    let panels: Vec<(&str, Vec<&Row>)> = group
        .units()
        .into_iter()
        .map(|unit| {
            (
                unit,
                group.rows.iter().filter(|row| row.unit == unit).collect(),
            )
        })
        .collect();
    let height_of = |at: usize| {
        panels
            .get(at)
            .map_or(0, |(_, rows)| panel::height(rows.len()))
    };
    // The first is the most important one; the others stand in pairs below it.
    let heights = (1..panels.len())
        .step_by(2)
        .map(|at| height_of(at).max(height_of(at + 1)));
    let heights: Vec<u32> = std::iter::once(height_of(0)).chain(heights).collect();
    let size = (WIDTH, TITLE + heights.iter().sum::<u32>());

    let names = Names::of(&group.rows);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&BACKGROUND).map_err(failed)?;
        let (title, mut rest) = root.split_vertically(TITLE);
        draw_title(&title, group)?;
        let mut panels = panels.iter();
        for (row, &height) in heights.iter().enumerate() {
            let (line, below) = rest.split_vertically(height);
            rest = below;
            let columns = if row == 0 { 1 } else { 2 };
            for (area, (unit, rows)) in line.split_evenly((1, columns)).iter().zip(&mut panels) {
                let (area, _) = area.split_vertically(panel::height(rows.len()));
                panel::draw(&area, unit, rows, &names)?;
            }
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

fn draw_title(area: &Area<'_>, group: &Group) -> Result<(), Failed> {
    let title = format!("{}: {}", group.bench, group.workload);
    let draw = |line: &str, size, color, y| {
        area.draw(&Text::new(line.to_owned(), (14, y), text(size, color)))
            .map_err(failed)
    };
    draw(&title, TEXT + 5, INK, 12)?;
    let runs = group.rows.iter().map(|row| row.runs);
    let (least, most) = (runs.clone().min().unwrap_or(0), runs.max().unwrap_or(0));
    let runs = match least == most {
        true => most.to_string(),
        false => format!("{least} to {most}"),
    };
    let what = format!("median of {runs} runs, whiskers from least to most");
    let line = match &group.machine {
        Some(machine) => format!("{what}; {machine}"),
        None => what,
    };
    draw(&line, TEXT - 2, GREY, 40)
}
