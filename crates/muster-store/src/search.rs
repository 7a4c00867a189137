//! The outcome of a search, the same for every store.

use std::collections::BTreeMap;

use muster_core::{Address, ListQuery};

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
