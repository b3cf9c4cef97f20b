//! The text format of Prometheus, read.

/// One line: what was measured, and of what.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) value: f64,
}

impl Sample {
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(label, _)| label == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The samples of a text. What is a comment is left out.
///
/// # Errors
///
/// The number of a line that is no sample.
pub(super) fn samples(text: &str) -> Result<Vec<Sample>, usize> {
    let mut samples = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            samples.push(sample(line).ok_or(at + 1)?);
        }
    }
    Ok(samples)
}

fn sample(line: &str) -> Option<Sample> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let end = line.find(|c| !is_name(c))?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside.trim_start();
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once('=')?;
            let (value, after) = quoted(after.trim_start())?;
            labels.push((label.trim().to_owned(), value));
            let after = after.trim_start();
            rest = after.strip_prefix(',').unwrap_or(after).trim_start();
        }
        rest = &rest[1..];
    }
    // A time may follow.
    let value = rest.split_whitespace().next()?;
    (!name.is_empty()).then_some(Sample {
        name: name.to_owned(),
        labels,
        value: value.parse().ok()?,
    })
}

/// What is between quotes, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('"')?;
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let text = "# HELP a A.\n# TYPE a counter\na 3\n\nb{x=\"1\"} 2.5e3 1700000000\n\
                    c_bucket{h=\"a\\\"b\\\\c\\nd, {}\",le=\"+Inf\",} +Inf\nd{} NaN\n";
        let samples = samples(text).expect("they are samples");
        let names: Vec<_> = samples.iter().map(|sample| sample.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c_bucket", "d"]);
        assert_eq!((samples[0].value, samples[1].value), (3.0, 2500.0));
        assert_eq!(samples[1].label("x"), Some("1"));
        assert_eq!(samples[2].label("h"), Some("a\"b\\c\nd, {}"));
        assert_eq!(samples[2].label("le"), Some("+Inf"));
        assert!(samples[2].value.is_infinite() && samples[3].value.is_nan());
    }

    #[test]
    fn what_is_no_sample_is_told_by_its_line() {
        for (text, line) in [
            ("a 1\nb", 2),
            ("<html>", 1),
            ("a one", 1),
            ("a{x=1} 1", 1),
            ("a{x=\"1} 1", 1),
            ("a{x=\"1\"", 1),
            ("a{", 1),
            ("é 1", 1),
        ] {
            assert_eq!(samples(text).map(drop), Err(line), "{text}");
        }
    }
}
