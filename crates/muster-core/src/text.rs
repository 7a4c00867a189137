//! Small questions about text: lengths in characters, cutting, the nearest name.

/// Number of Unicode scalar values.
pub fn chars(text: &str) -> usize {
    text.chars().count()
}

/// The text, or its first `max - 1` characters and `…` when it is longer than `max`.
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max || chars(text) <= max {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(max.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// The candidate with the smallest edit distance; ties go to the alphabetically first.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| (edit_distance(name, candidate), *candidate))
}

/// Levenshtein distance in characters, one row at a time.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{cut, edit_distance, nearest};

    #[test]
    fn cut_keeps_short_text_and_marks_long_text() {
        assert_eq!(cut("größe", 5), "größe");
        assert_eq!(cut("größer", 5), "größ…");
        assert_eq!(cut("abc", 1), "…");
    }

    #[test]
    fn nearest_prefers_small_distance_then_alphabet() {
        assert_eq!(edit_distance("expected_version", "expected_revision"), 3);
        assert_eq!(nearest("titel", ["title", "tests", "target"]), Some("title"));
        assert_eq!(nearest("x", ["b", "a"]), Some("a"));
        assert_eq!(nearest("x", []), None);
    }
}
