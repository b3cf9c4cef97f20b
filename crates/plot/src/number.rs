//! Numbers as they stand in pictures: three digits and a prefix.

/// A number with three significant digits and the prefix of its thousands.
///
/// Below a thousand there is no prefix, above a thousand million the last one.
#[must_use]
pub fn short(number: f64) -> String {
    const PREFIXES: [&str; 4] = ["", " k", " M", " G"];
    let (mut number, mut prefix) = (number, 0);
    // What would be rounded up to 1000 gets the next prefix.
    while number >= 999.5 && prefix + 1 < PREFIXES.len() {
        number /= 1000.0;
        prefix += 1;
    }
    let decimals = match number {
        n if n == 0.0 || n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        n if n >= 0.0995 => 2,
        _ => 4,
    };
    format!("{number:.decimals$}{}", PREFIXES[prefix])
}

/// The label of an axis: as short as it can be.
#[must_use]
pub fn tick(number: f64) -> String {
    let text = short(number);
    let (digits, prefix) = match text.split_once(' ') {
        Some((digits, prefix)) => (digits, format!(" {prefix}")),
        None => (text.as_str(), String::new()),
    };
    match digits.contains('.') {
        true => {
            digits
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
                + &prefix
        }
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [
            0.0, 0.00123, 0.456, 9.5, 12.34, 999.6, 28_329.0, 4.06e7, 8e12,
        ];
        let texts = numbers.map(short);
        assert_eq!(
            texts,
            [
                "0", "0.0012", "0.46", "9.50", "12.3", "1.00 k", "28.3 k", "40.6 M", "8000 G"
            ]
        );
    }

    #[test]
    fn ticks_have_no_needless_zeros() {
        assert_eq!(
            [0.0, 0.5, 20.0, 1e6, 2.5e6].map(tick),
            ["0", "0.5", "20", "1 M", "2.5 M"]
        );
    }
}
