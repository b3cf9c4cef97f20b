//! Tables on a terminal, and numbers in them.

use mely_plot::short;

/// Lines of aligned columns; the first column is text, and the first row names all.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("  {cell:>width$}"),
        });
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// A time with three significant digits and its unit.
pub(super) fn time(seconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms")];
    let fits = |&&(unit, _): &&(f64, &str)| seconds / unit < 999.5;
    match UNITS.iter().find(fits) {
        Some(&(unit, name)) => format!("{} {name}", short(seconds / unit)),
        None => format!("{} s", short(seconds)),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(
            [0.0, 1.5e-8, 2e-6, 0.25, 75.0].map(time),
            ["0 ns", "15.0 ns", "2.00 µs", "250 ms", "75.0 s"]
        );
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["a", "b"], ["long", "1"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows), "a     b\nlong  1\n");
    }
}
