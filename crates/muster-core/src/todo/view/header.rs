//! The line above the rows: name, counts, how many are hidden, whether the list is stale (UI-4).

use std::fmt;

use super::{cut, shown};

/// Default label, which is not shown.
const PLAIN_LABEL: &str = "main";

/// The header in two parts, because only the label may be shortened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    label: Option<String>,
    tail: String,
}

impl Header {
    pub(super) fn of(label: &str, done: usize, total: usize) -> Self {
        let label = (label != PLAIN_LABEL).then(|| shown(label));
        Self { label, tail: format!(": {done}/{total}") }
    }

    pub(super) fn with_hidden(mut self, hidden: usize) -> Self {
        if hidden > 0 {
            self.tail.push_str(&format!(" · +{hidden}"));
        }
        self
    }

    pub(super) fn with_stale(mut self, stale: bool) -> Self {
        if stale {
            self.tail.push_str(" · stale");
        }
        self
    }

    /// The line in at most `columns` columns: the label is shortened first, counts and mark stay.
    ///
    /// `width` measures a string in columns. A label of which nothing would be left goes entirely.
    pub fn within(&self, columns: usize, width: impl Fn(&str) -> usize) -> String {
        let whole = self.to_string();
        let Some(label) = self.label.as_ref().filter(|_| width(&whole) > columns) else {
            return whole;
        };
        let with = |label: Option<String>| Self { label, tail: self.tail.clone() }.to_string();
        let room = columns.saturating_sub(width(&with(Some(String::new()))));
        // A label of one column would be the mark alone.
        if room < 2 { with(None) } else { with(Some(cut(label, room, width))) }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TODOs")?;
        if let Some(label) = &self.label {
            write!(formatter, " ({label})")?;
        }
        formatter.write_str(&self.tail)
    }
}
