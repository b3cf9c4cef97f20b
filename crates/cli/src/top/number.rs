//! Numbers and times as people read them.

/// A number as people read it: three digits and a power of a thousand.
pub(super) fn number(of: f64) -> String {
    let units = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    match units.iter().find(|&&(unit, _)| of >= unit * 0.9995) {
        Some(&(unit, name)) => three_digits(of / unit) + name,
        None if of == of.trunc() => format!("{of:.0}"),
        None => three_digits(of),
    }
}

/// A time as people read it.
pub(super) fn time(seconds: f64) -> String {
    let units = [(1.0, " s"), (1e-3, " ms"), (1e-6, " µs")];
    match units.iter().find(|&&(unit, _)| seconds >= unit * 0.9995) {
        Some(&(unit, name)) => three_digits(seconds / unit) + name,
        None => format!("{:.0} ns", seconds * 1e9),
    }
}

fn three_digits(of: f64) -> String {
    match of {
        of if of >= 99.95 => format!("{of:.0}"),
        of if of >= 9.995 => format!("{of:.1}"),
        of => format!("{of:.2}"),
    }
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_have_three_digits() {
        let numbers = [0.0, 7.0, 0.25, 12.34, 999.0, 999.9, 12_345.0, 9.999e6, 2e12].map(number);
        let expected = [
            "0", "7", "0.25", "12.3", "999", "1.00 k", "12.3 k", "10.0 M", "2000 G",
        ];
        assert_eq!(numbers, expected);
        let times = [0.0, 2.5e-7, 1e-6, 3.2e-5, 0.12, 1.5, 100.0].map(time);
        let expected = [
            "0 ns", "250 ns", "1.00 µs", "32.0 µs", "120 ms", "1.50 s", "100 s",
        ];
        assert_eq!(times, expected);
    }
}
