//! The list that the todo tool takes: strings in order, trimmed, none blank.

use serde_json::Value;

use super::update::redacted;
use crate::text;

/// A checked list of titles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Titles(Vec<String>);

/// Why a value is not a list of titles; the first fault from the front (TT-5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TitleFault {
    /// The value is not an array.
    NotAnArray,
    /// The entry at this index is not a string.
    NotAString(usize),
    /// The entry at this index is blank.
    Blank(usize),
}

impl Titles {
    /// Parses a list; nothing is coerced (TT-6).
    pub fn read(value: &Value) -> Result<Self, TitleFault> {
        let entries = value.as_array().ok_or(TitleFault::NotAnArray)?;
        let title = |(at, entry): (usize, &Value)| match entry.as_str().map(text::trim) {
            None => Err(TitleFault::NotAString(at)),
            Some("") => Err(TitleFault::Blank(at)),
            Some(title) => Ok(title.to_owned()),
        };
        entries.iter().enumerate().map(title).collect::<Result<_, _>>().map(Self)
    }

    /// Checks a list of strings.
    pub fn of(entries: &[String]) -> Result<Self, TitleFault> {
        let title = |(at, entry): (usize, &String)| match text::trim(entry) {
            "" => Err(TitleFault::Blank(at)),
            title => Ok(title.to_owned()),
        };
        entries.iter().enumerate().map(title).collect::<Result<_, _>>().map(Self)
    }

    /// The titles, in order.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Replaces secrets; returns whether there was one. Must be called before the list is written.
    pub fn redact(&mut self) -> bool {
        self.0.iter_mut().fold(false, |found, title| redacted(Some(title)) | found)
    }
}

impl TitleFault {
    /// Index of the entry at fault, if it is about one.
    pub fn index(self) -> Option<usize> {
        match self {
            Self::NotAnArray => None,
            Self::NotAString(at) | Self::Blank(at) => Some(at),
        }
    }

    /// Where the fault is: `items` or `items[2]`.
    pub fn path(self) -> String {
        match self.index() {
            None => "items".to_owned(),
            Some(at) => format!("items[{at}]"),
        }
    }
}
