//! Keeps short what a refusal repeats of the caller's own words.
//!
//! Every refusal passes here on its way out. A value that contains blanks cannot be told from the
//! words around it in a message, so whoever writes such a message shortens it with [`text::echo`].

use muster_core::text;
use serde_json::{Map, Value};

use crate::ApiError;

/// Cuts overlong values in the facts of a refusal and overlong words in its sentences.
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
            ("message" | "recovery", Value::String(sentence)) => shorten_words(sentence),
            (_, value) => shorten_value(value),
        }
    }
}

fn shorten_value(value: &mut Value) {
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

/// Cuts overlong words of a sentence.
pub(crate) fn shorten_words(sentence: &mut String) {
    let is_long = |word: &str| word.len() > text::ECHO_CHARS_MAX;
    if sentence.split(char::is_whitespace).any(is_long) {
        let words = sentence.split(char::is_whitespace).map(text::echo);
        *sentence = words.collect::<Vec<_>>().join(" ");
    }
}
