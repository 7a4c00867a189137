//! Which seqs of a session were handled, in the space of their gaps.

use std::collections::BTreeMap;

/// A set of seqs, kept as runs: first seq to last seq. A log read in order is one run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HandledSeqs {
    runs: BTreeMap<u64, u64>,
}

impl HandledSeqs {
    /// Adds a seq; returns whether it is new.
    pub fn insert(&mut self, seq: u64) -> bool {
        let before = self.runs.range(..=seq).next_back().map(|(first, last)| (*first, *last));
        if before.is_some_and(|(_, last)| seq <= last) {
            return false;
        }
        let joins = before.filter(|(_, last)| last.checked_add(1) == Some(seq));
        let first = joins.map_or(seq, |(first, _)| first);
        let after = seq.checked_add(1).and_then(|next| self.runs.remove(&next));
        self.runs.insert(first, after.unwrap_or(seq));
        true
    }

    /// The highest one.
    pub fn last(&self) -> Option<u64> {
        self.runs.values().next_back().copied()
    }
}
