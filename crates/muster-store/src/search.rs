//! Searches and their outcome, the same for every store.

use std::{collections::BTreeMap, fmt, num::ParseIntError, str::FromStr};

use muster_core::{Address, ListQuery};

use crate::EventRow;

/// Documents that were found by a string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextMatches {
    /// All of them by status.
    pub counts: BTreeMap<String, u64>,
    /// Addresses and versions of the page, lowest sort number first.
    pub page: Vec<(Address, u64)>,
}

impl TextMatches {
    /// Counts a document that comes next in the list; whether it belongs to the page, which has
    /// `taken` already.
    pub(crate) fn count(
        &mut self,
        query: &ListQuery,
        (status, ord): (&str, u64),
        taken: usize,
    ) -> bool {
        match self.counts.get_mut(status) {
            Some(count) => *count += 1,
            None => drop(self.counts.insert(status.to_owned(), 1)),
        }
        query.after.is_none_or(|after| ord > after)
            && query.limit.is_none_or(|limit| taken < limit as usize)
    }
}

/// Looks for strings that occur together, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringsQuery<'a> {
    /// All of them; one shorter than three characters finds nothing.
    pub strings: &'a [String],
    /// Only in this stream.
    pub stream: Option<&'a str>,
    /// At most this many.
    pub limit: u32,
}

/// Where an event is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPlace {
    pub stream: String,
    /// Number in its stream.
    pub seq: u64,
    /// Its position.
    pub global: u64,
}

/// From which end events are taken if there are more than wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// So that what is left is a tail of every stream.
    Oldest,
    Newest,
}

/// A document that was found by what is stored for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDocument {
    pub stream: String,
    pub address: Address,
    /// What it is found by.
    pub searched: String,
}

/// How far a reader of the events of all streams has come. Only the store that gave it can read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCursor {
    /// What comes first in the order of this store: a position, or the number of a transaction.
    pub(crate) order: u64,
    /// Number of the stream, where that does not decide.
    pub(crate) stream: u64,
    pub(crate) seq: u64,
}

impl LogCursor {
    pub(crate) fn at(position: u64) -> Self {
        Self { order: position, ..Self::default() }
    }
}

impl fmt::Display for LogCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { order, stream, seq } = self;
        write!(f, "{order}.{stream}.{seq}")
    }
}

impl FromStr for LogCursor {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let mut numbers = text.splitn(3, '.').map(str::parse);
        let mut next = || numbers.next().unwrap_or("".parse());
        Ok(Self { order: next()?, stream: next()?, seq: next()? })
    }
}

/// An event of any stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEvent {
    pub stream: String,
    pub event: EventRow,
}

/// What events are found by, to be written.
#[derive(Clone, Copy, Debug)]
pub struct EventEntries<'a> {
    /// Places of events with their strings. Events that nothing should find are left out.
    pub strings: &'a [(LogPlace, String)],
    /// The oldest events that were not indexed, as [`crate::StoreSnapshot::unindexed`] gave them.
    pub covered: &'a [LogPlace],
}
