//! The words of a search, and how well a string matches them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FIELD_SEPARATOR;
use crate::text;

/// Characters of an excerpt before and after the match.
const EXCERPT_CHARS_BEFORE: usize = 40;
const EXCERPT_CHARS_BEHIND: usize = 160;
/// Characters of the shortest string that an index finds.
const INDEXED_CHARS_MIN: usize = 3;

/// The search: words that must all occur, in any order and case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchWords(Vec<String>);

/// How well something matches; the best comes first.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum MatchGrade {
    /// Its id, or its whole title.
    Exact,
    /// Its title begins with the search.
    TitleStart,
    /// Words of its title begin with the words of the search.
    TitleWord,
    /// Its title contains them.
    Title,
    /// They are somewhere else in it.
    Text,
}

impl SearchWords {
    /// The words of a string; `None` if it has none.
    pub fn of(text: &str) -> Option<Self> {
        let words = text.split(is_gap).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(folded).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// The words with one space between them.
    pub fn joined(&self) -> String {
        self.0.join(" ")
    }

    /// How well a title matches, or one of the other strings.
    pub fn grade(&self, title: &str, others: &[&str]) -> Option<MatchGrade> {
        let title = folded_fields(&[title]);
        let title = title.trim_start_matches([FIELD_SEPARATOR, ' ']);
        let whole = self.joined();
        if title == whole {
            Some(MatchGrade::Exact)
        } else if title.starts_with(&whole) {
            Some(MatchGrade::TitleStart)
        } else if self.0.iter().all(|word| begins_a_word(title, word)) {
            Some(MatchGrade::TitleWord)
        } else if self.are_in(title) {
            Some(MatchGrade::Title)
        } else {
            let other = others.iter().any(|text| self.are_in(&folded(text)));
            other.then_some(MatchGrade::Text)
        }
    }

    /// The text around the first word, if all of them occur.
    pub fn excerpt(&self, text: &str) -> Option<String> {
        let folded = folded(text);
        if !self.are_in(&folded) {
            return None;
        }
        let first = folded.find(self.0.first()?)?;
        let at = text::chars(&folded[..first]);
        let begin = at.saturating_sub(EXCERPT_CHARS_BEFORE);
        let mut rest = text.chars().skip(begin);
        let wanted = at - begin + EXCERPT_CHARS_BEHIND;
        let piece: String = rest.by_ref().take(wanted).collect();
        let mark = |is: bool| if is { "…" } else { "" };
        let piece = text::join_words(&piece, ' ');
        Some(format!("{}{piece}{}", mark(begin > 0), mark(rest.next().is_some())))
    }

    /// Strings that an index has of everything that these words find; `None` if it cannot have
    /// them, because the words are too short.
    pub fn indexed(&self) -> Option<Vec<String>> {
        let long = self.0.iter().filter(|word| text::chars(word) >= INDEXED_CHARS_MIN);
        let long: Vec<String> = long.cloned().collect();
        (!long.is_empty()).then_some(long)
    }

    /// What to look for in an index, one query after the other: where a field begins with the
    /// search, where words begin with its words, and wherever they are. Each but the last leaves
    /// something out; the last leaves nothing out if no word is too short for the index.
    ///
    /// `lead` is what is written between the separator and the field.
    pub fn probes(&self, lead: &str) -> Vec<Vec<String>> {
        let begins = vec![format!("{FIELD_SEPARATOR}{lead}{}", self.joined())];
        let words: Vec<String> = self.0.iter().map(|word| format!(" {word}")).collect();
        let probes = [Some(begins), Some(words), self.indexed()];
        let has_enough = |probe: &Vec<String>| {
            probe.iter().all(|string| text::chars(string) >= INDEXED_CHARS_MIN)
        };
        probes.into_iter().flatten().filter(has_enough).collect()
    }

    fn are_in(&self, folded: &str) -> bool {
        self.0.iter().all(|word| folded.contains(word))
    }
}

/// Fields for an index of events: each after a separator and a space, so that a search can ask for
/// where a field or a word begins.
pub(super) fn folded_fields(fields: &[&str]) -> String {
    let mut all = String::new();
    for field in fields {
        all.push(FIELD_SEPARATOR);
        for word in field.split(is_gap).filter(|word| !word.is_empty()) {
            all.push(' ');
            all.push_str(&folded(word));
        }
    }
    all
}

/// What separates words. U+0000 ends strings in some programs.
fn is_gap(character: char) -> bool {
    text::is_whitespace(character) || character == '\0'
}

fn begins_a_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric())
    })
}

/// The text in lower case, character for character, so that positions in both are the same.
fn folded(text: &str) -> String {
    let small = |character: char| {
        let mut small = character.to_lowercase();
        match (small.next(), small.next()) {
            (Some(one), None) => one,
            (_, _) => character,
        }
    };
    text.chars().map(small).collect()
}

#[cfg(test)]
mod tests {
    use super::{MatchGrade, SearchWords, folded_fields};

    fn words(text: &str) -> SearchWords {
        SearchWords::of(text).unwrap()
    }

    #[test]
    fn a_title_counts_more_than_other_text_and_its_beginning_most() {
        let grade = |search: &str| words(search).grade("Rotate  the\nkeys", &["in the cellar"]);
        assert_eq!(grade("rotate the KEYS"), Some(MatchGrade::Exact));
        assert_eq!(grade("Rotate th"), Some(MatchGrade::TitleStart));
        assert_eq!(grade("key rot"), Some(MatchGrade::TitleWord));
        assert_eq!(grade("tate"), Some(MatchGrade::Title));
        assert_eq!(grade("cellar the"), Some(MatchGrade::Text));
        assert_eq!(grade("cellar keys"), None, "all words must be in one of them");
    }

    #[test]
    fn every_probe_finds_what_the_grade_admits() {
        let entry = folded_fields(&["Rotate  the\nkeys", "Übung (zwei)"]);
        assert_eq!(entry, "\u{1f} rotate the keys\u{1f} übung (zwei)");
        let found = |search: &str| {
            let probes = words(search).probes(" ");
            let has = |probe: &Vec<String>| probe.iter().all(|text| entry.contains(text));
            (probes.iter().filter(|probe| has(probe)).count(), probes.len())
        };
        assert_eq!(found("rotate"), (3, 3));
        assert_eq!(found("the rotate"), (2, 3));
        assert_eq!(found("wei"), (1, 3), "inside a word only");
        assert_eq!(found("ke"), (1, 2), "two characters where a word begins");
        assert_eq!(found("ü"), (1, 1), "one character where a field begins");
        assert_eq!(found("cellar"), (0, 3));
    }

    #[test]
    fn separators_and_marks_of_the_index_are_not_words() {
        assert!(SearchWords::of("\u{1f}\u{1d} \0").is_none());
        assert_eq!(words("a\u{1f}b\0c").joined(), "a b c");
    }
}
