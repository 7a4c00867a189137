//! What events are found by: strings that they bring in, and what those belong to.

use super::words::folded_fields;

/// What the strings of an event belong to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SearchTopic {
    Step,
    Note,
    Session,
    Run,
    /// A node of a run.
    Node,
    /// Artifacts and the files that turns changed.
    File,
    /// Messages, answers, thoughts and handoffs.
    Message,
}

impl SearchTopic {
    /// A string of three characters that nothing but entries of this topic has.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Step => "\u{1d}s\u{1d}",
            Self::Note => "\u{1d}t\u{1d}",
            Self::Session => "\u{1d}c\u{1d}",
            Self::Run => "\u{1d}r\u{1d}",
            Self::Node => "\u{1d}n\u{1d}",
            Self::File => "\u{1d}f\u{1d}",
            Self::Message => "\u{1d}m\u{1d}",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventStrings<'a> {
    pub topic: SearchTopic,
    pub fields: Vec<&'a str>,
}

impl<'a> EventStrings<'a> {
    /// Those of this topic, if there are any.
    pub fn of(topic: SearchTopic, fields: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let fields: Vec<&str> = fields.into_iter().filter(|field| !field.is_empty()).collect();
        (!fields.is_empty()).then_some(Self { topic, fields })
    }

    /// The string that an index finds the event by.
    pub fn entry(&self) -> String {
        let mut entry = self.topic.mark().to_owned();
        entry.push_str(&folded_fields(&self.fields));
        entry
    }
}
