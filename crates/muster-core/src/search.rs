//! What documents and events are found by.
//!
//! A document is found by its searched fields in lower case, in one string that is stored with it.
//! An event is found by the strings that it brings in ([`EventStrings`]); they are indexed later.

mod topic;
mod words;

use std::borrow::Cow;

pub use topic::{EventStrings, SearchTopic};
pub use words::{MatchGrade, SearchWords};

/// Between two fields, and in the place of a character that ends strings in some programs. A search
/// that contains either cannot be answered from the joined string.
pub const FIELD_SEPARATOR: char = '\u{1f}';

/// The part of a filter that wants a document to contain a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextCondition<'a> {
    /// In lower case.
    pub text: &'a str,
    /// Whether the filter has no other condition.
    pub alone: bool,
}

/// The string that a document with these fields is found by; `None` without fields.
///
/// Each field is lowered on its own: the lower case of a letter can depend on its neighbours.
pub fn searched_text(fields: &[Cow<'_, str>]) -> Option<String> {
    let lowered: Vec<String> = fields.iter().map(|field| field.to_lowercase()).collect();
    let separator = FIELD_SEPARATOR.to_string();
    (!lowered.is_empty()).then(|| lowered.join(&separator).replace('\0', &separator))
}
