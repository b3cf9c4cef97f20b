//! The words of a name or a search.

/// The words of a text in lower case: runs of letters and digits, as they come.
///
/// Names are split in the same way as searches, so that a word finds what it stands in. Letters keep
/// their accents; some servents strip them, and do not find such words in our tables.
///
/// ```
/// use mely_gnutella::words;
/// let found: Vec<_> = words("The_Free-Song (2003).ogg").collect();
/// assert_eq!(found, ["the", "free", "song", "2003", "ogg"]);
/// ```
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}
