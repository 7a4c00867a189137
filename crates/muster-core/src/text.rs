//! Small string functions: lengths in characters, cutting, whitespace, the nearest name.

use std::fmt;

/// A string that is not of the expected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadForm {
    pub expected: &'static str,
}

impl fmt::Display for BadForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

/// A value that does not have the form of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormFault {
    pub expected: String,
    /// The value in short, where it helps to see it.
    pub got: Option<String>,
}

impl FormFault {
    /// A string that a message repeats.
    pub fn repeating(text: &str, bad: BadForm) -> Self {
        Self { got: Some(format!("{:?}", echo(text))), ..Self::from(bad) }
    }
}

impl From<BadForm> for FormFault {
    fn from(bad: BadForm) -> Self {
        Self { expected: bad.expected.to_owned(), got: None }
    }
}

impl fmt::Display for FormFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)?;
        self.got.iter().try_for_each(|got| write!(f, ", got {got}"))
    }
}

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

/// Characters of a caller's own value that a rejection repeats.
pub const ECHO_CHARS_MAX: usize = 200;

/// A caller's own value as a rejection repeats it.
pub fn echo(value: &str) -> String {
    cut(value, ECHO_CHARS_MAX)
}

/// The first `max` characters of a string.
pub fn start(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// Words of a name that is made of a longer text.
const NAME_WORDS_MAX: usize = 8;
/// Characters of such a name.
const NAME_CHARS_MAX: usize = 60;

/// The first words of a text, on one line: a name for what the text describes.
pub fn first_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let whole = words.join(" ");
    let first = words.iter().take(NAME_WORDS_MAX).copied().collect::<Vec<_>>().join(" ");
    let first = start(&first, NAME_CHARS_MAX).trim_end();
    if first.len() < whole.len() { format!("{first} …") } else { whole }
}

/// Characters of the short form of an id.
const SHORT_ID_CHARS: usize = 8;

/// The last characters of a string, at most `max` of them.
pub fn last(text: &str, max: usize) -> String {
    let excess = chars(text).saturating_sub(max);
    text.chars().skip(excess).collect()
}

/// The short form of an id: its end. Ids that are created together begin with the same time.
pub fn short_id(id: &str) -> &str {
    let cut = id.len().saturating_sub(SHORT_ID_CHARS);
    id.get(cut..).unwrap_or(id)
}

/// Whether a person who writes `given` can mean this id: all of it, its prefix or its suffix.
pub fn names_id(id: &str, given: &str) -> bool {
    let given = given.trim().to_ascii_lowercase();
    !given.is_empty() && (id.starts_with(&given) || id.ends_with(&given))
}

/// Whether a character is whitespace: Unicode's White_Space and the four information separators.
///
/// The separators U+001C to U+001F are what the standard library leaves out (MV-2).
pub fn is_whitespace(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// The text without whitespace at its ends (MV-2).
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_whitespace)
}

/// Whether nothing but whitespace is there.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_whitespace)
}

/// The trimmed text with every run of whitespace made one `mark`.
pub fn join_words(text: &str, mark: char) -> String {
    let mut joined = String::with_capacity(text.len());
    for word in text.split(is_whitespace).filter(|word| !word.is_empty()) {
        if !joined.is_empty() {
            joined.push(mark);
        }
        joined.push_str(word);
    }
    joined
}

/// The form by which a title is recognised: one space between words, lower case (MV-3).
pub fn fold(text: &str) -> String {
    join_words(text, ' ').to_lowercase()
}

/// The text on one line: trimmed, every run of whitespace (MV-2) one space.
pub fn one_line(text: &str) -> impl Iterator<Item = char> {
    let mut words = text.split(is_whitespace).filter(|word| !word.is_empty());
    let first = words.next().into_iter().flat_map(str::chars);
    first.chain(words.flat_map(|word| std::iter::once(' ').chain(word.chars())))
}

/// Characters of a name that are compared; no candidate is longer.
const COMPARED_CHARS_MAX: usize = 64;

/// The candidate with the smallest edit distance; ties go to the alphabetically first. Only the
/// beginning of a name counts, so that the work is bounded for any input.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = start(name, COMPARED_CHARS_MAX);
    candidates
        .into_iter()
        .min_by_key(|candidate| (strsim::levenshtein(name, candidate), *candidate))
}

/// The nearest candidate if it is near enough to be a slip of the hand: one change for every three
/// characters.
pub fn mistyped<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = start(name, COMPARED_CHARS_MAX);
    let near = nearest(name, candidates)?;
    (strsim::levenshtein(name, near) <= chars(name) / 3).then_some(near)
}

/// Names shorter than this occur in others by chance.
const PART_CHARS_MIN: usize = 3;

/// The candidate that a name probably means: one that starts with it, else one that contains it,
/// else the nearest. Candidates that are `likelier` win ties.
pub fn likely<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    likelier: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let name = start(name, COMPARED_CHARS_MAX);
    let is_part = chars(name) >= PART_CHARS_MIN;
    let rank = |candidate: &str| match (is_part, candidate.find(name)) {
        (true, Some(0)) => 0,
        (true, Some(_)) => 1,
        (true, None) | (false, _) => 2,
    };
    candidates.into_iter().min_by_key(|candidate| {
        let distance = strsim::levenshtein(name, candidate);
        (rank(candidate), distance, !likelier(candidate), *candidate)
    })
}

#[cfg(test)]
mod tests {
    use super::{
        cut, fold, is_blank, join_words, likely, names_id, nearest, one_line, short_id, trim,
    };

    #[test]
    fn whitespace_includes_the_information_separators() {
        assert_eq!(trim("\u{1c}\u{3000} x\u{200b}\u{a0}\u{1f}"), "x\u{200b}");
        assert!(is_blank("\u{1c}\u{1d}\u{1e}\u{1f}\u{85}\u{2028} \t"));
        assert!(!is_blank("\u{200b}"), "a zero width space is content");
        assert!(!is_blank("\u{feff}"), "so is a byte order mark");
    }

    #[test]
    fn a_part_of_a_name_means_that_name() {
        let names = ["step_id", "path", "plan_title", "task_title", "set"];
        let likely = |name| likely(name, names, |name| name == "task_title").unwrap();
        assert_eq!((likely("step"), likely("title")), ("step_id", "task_title"));
        assert_eq!((likely("pth"), likely("st")), ("path", "set"), "then the nearest");
    }

    #[test]
    fn words_are_joined_and_folded() {
        assert_eq!(join_words("  Lane \t\u{1d} Q ", '_'), "Lane_Q");
        assert_eq!(fold(" Ship\u{a0}\n THE  Größe "), "ship the größe");
        assert_ne!(fold("e\u{301}"), fold("\u{e9}"), "no Unicode normalisation");
    }

    #[test]
    fn cut_keeps_short_text_and_marks_long_text() {
        assert_eq!(cut("größe", 5), "größe");
        assert_eq!(cut("größer", 5), "größ…");
        assert_eq!(cut("abc", 1), "…");
    }

    #[test]
    fn a_line_has_single_spaces_and_no_ends() {
        let line = |text| one_line(text).collect::<String>();
        assert_eq!(line("  one\r\n\ttwo\u{1d} three "), "one two three");
        assert_eq!(line(" \n"), "");
    }

    #[test]
    fn nearest_prefers_small_distance_then_alphabet() {
        assert_eq!(nearest("titel", ["title", "tests", "target"]), Some("title"));
        assert_eq!(nearest("x", ["b", "a"]), Some("a"));
        assert_eq!(nearest("x", []), None);
    }

    /// Comparing all of this name would take minutes.
    #[test]
    fn nearest_looks_at_the_beginning_of_a_huge_name() {
        let huge = "title".repeat(2_000_000);
        assert_eq!(nearest(&huge, ["x", "title".repeat(12).as_str()]), Some(&*"title".repeat(12)));
    }

    #[test]
    fn ids_that_were_made_together_have_different_short_forms() {
        let one = "019a8c3e-5b1f-7d20-8a11-3f2e6c0d4e5f";
        let other = "019a8c3e-5b1f-7d20-9b77-3f2e6c0d9a01";
        assert_eq!((short_id(one), short_id(other)), ("6c0d4e5f", "6c0d9a01"));
        assert_eq!(short_id("ab"), "ab");
        for given in [one, "019a8c3e", "6c0d4e5f", "6C0D4E5F"] {
            assert!(names_id(one, given), "{given}");
        }
        assert!(!names_id(one, "") && !names_id(one, "5b1f") && !names_id(one, "6c0d9a01"));
    }
}
