//! Shortens values of the caller that an error repeats.
//!
//! Every error passes here on its way out. An unquoted value with blanks looks
//! like the words around it, so code that writes such a message shortens it with
//! [`text::echo`].

use muster_core::text;
use serde_json::{Map, Value};

use crate::ApiError;

/// Shortens overlong values in the facts of an error and overlong words in its sentences.
pub(crate) fn shorten(error: &mut ApiError) {
    shorten_words(&mut error.message);
    shorten_words(&mut error.recovery);
    shorten_facts(&mut error.details);
}

fn shorten_facts(facts: &mut Map<String, Value>) {
    // What is expected of an argument is the server's own list, however long.
    let about_argument = facts.contains_key("reason");
    for (name, value) in facts.iter_mut() {
        match (name.as_str(), value) {
            ("expected", _) if about_argument => {}
            // The stored todo list: a caller that merges with it must not write back less.
            ("items", _) => {}
            ("message" | "recovery", Value::String(sentence)) => shorten_words(sentence),
            (_, value) => shorten_value(value),
        }
    }
}

/// Shortens the strings of a fact.
pub fn shorten_value(value: &mut Value) {
    match value {
        Value::String(word) => {
            if word.len() > text::ECHO_CHARS_MAX {
                *word = text::echo(word);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_value),
        Value::Object(facts) => shorten_facts(facts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Shortens the words of a sentence. A quoted value is one word, whatever is in it.
pub fn shorten_words(sentence: &mut String) {
    if sentence.len() > text::ECHO_CHARS_MAX {
        *sentence = Words(sentence).map(shortened).collect();
    }
}

fn shortened(word: &str) -> String {
    let mut short = text::echo(word);
    let quote = word.chars().next().filter(|first| QUOTES.contains(first));
    if let Some(quote) = quote.filter(|_| short.len() < word.len()) {
        short.push(quote);
    }
    short
}

/// Quotes around values: Rust's strings have the one, messages of serde and TOML the other.
const QUOTES: [char; 2] = ['"', '`'];

/// The words of a sentence, the quoted values and the blanks between them.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = self.0.chars().next()?;
        let end = if QUOTES.contains(&first) {
            quoted_end(self.0, first)
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            let ends = |character: char| character.is_whitespace() || QUOTES.contains(&character);
            self.0.find(ends).unwrap_or(self.0.len())
        };
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(word)
    }
}

/// Where a quoted value ends, which may hold escaped quotes; one that is not closed is the rest.
fn quoted_end(text: &str, quote: char) -> usize {
    let mut escaped = true;
    for (at, character) in text.char_indices() {
        if character == quote && !escaped {
            return at + character.len_utf8();
        }
        escaped = character == '\\' && !escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::shorten_words;

    fn short(sentence: &str) -> String {
        let mut sentence = sentence.to_owned();
        shorten_words(&mut sentence);
        sentence
    }

    #[test]
    fn a_quoted_value_is_cut_as_one_word() {
        let long = "a \\\" b ".repeat(100);
        for quote in ['"', '`'] {
            let sentence = short(&format!("not {quote}{long}{quote}, use  this one"));
            assert!(sentence.chars().count() < 230, "{sentence}");
            assert!(sentence.ends_with(&format!("…{quote}, use  this one")), "{sentence}");
        }
        assert!(short(&format!("no end: \"{long}")).chars().count() < 220);
    }

    #[test]
    fn other_words_stay_as_they_are() {
        let sentence = "several short words and a \"quoted\" one, ".repeat(20);
        assert_eq!(short(&sentence), sentence);
        assert_eq!(short(&format!("not {}", "é".repeat(300))).chars().count(), 204);
    }
}
