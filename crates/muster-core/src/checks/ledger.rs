//! The verdicts of one check, newest last: what holds for which files.
//!
//! A verdict holds for every tree with the same definition and the same scope digest (PROOF-RUN-4).
//! Runs of another store never get here: anybody can write an export, so what an import brings is
//! shown, but proves nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    record::{CheckRecord, CheckedWork},
    verdict::{TestCounts, Verdict},
};
use crate::{Timestamp, tasks::id::CheckRunId};

/// Verdicts that are kept of a check.
pub const LEDGER_ENTRIES_MAX: usize = 200;

/// The verdicts of one check in a workspace.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CheckLedger {
    /// Name of the check.
    pub check: String,
    /// Oldest first.
    pub entries: Vec<LedgerEntry>,
    /// The newest pass, however long ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    passed: Option<LedgerEntry>,
}

/// A verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LedgerEntry {
    pub run: CheckRunId,
    /// Digest of the definition.
    pub definition: String,
    pub scope: String,
    pub tree: String,
    pub verdict: Verdict,
    /// It served only the call that ran it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unbound: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
    /// When the run finished.
    pub at: Timestamp,
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_for: Option<CheckedWork>,
}

/// How often a check passed and failed on the same files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Flakiness {
    pub passed: u64,
    pub failed: u64,
}

impl LedgerEntry {
    /// The entry of a finished run of this store.
    #[must_use]
    pub fn of(record: &CheckRecord) -> Option<Self> {
        if record.imported || record.answered_by.is_some() {
            return None;
        }
        Some(Self {
            run: record.id,
            definition: record.definition.clone(),
            scope: record.files.scope.clone(),
            tree: record.files.tree.clone(),
            verdict: record.verdict?,
            unbound: record.files.unbound.is_some(),
            counts: record.counts,
            at: record.finished_at?,
            duration_ms: record.duration_ms,
            asked_for: record.asked_for,
        })
    }

    /// Whether it says anything about these files.
    fn speaks_of(&self, definition: &str, scope: &str) -> bool {
        self.speaks() && !self.unbound && self.definition == definition && self.scope == scope
    }

    /// Whether it says anything about the files that it ran on.
    fn speaks(&self) -> bool {
        !matches!(self.verdict, Verdict::Moved | Verdict::Interrupted)
    }
}

impl CheckLedger {
    /// An empty one.
    #[must_use]
    pub fn new(check: &str) -> Self {
        Self { check: check.to_owned(), ..Self::default() }
    }

    /// Adds the newest verdict and forgets the oldest ones.
    pub fn add(&mut self, entry: LedgerEntry) {
        if entry.verdict.is_pass() {
            self.passed = Some(entry.clone());
        }
        self.entries.push(entry);
        let excess = self.entries.len().saturating_sub(LEDGER_ENTRIES_MAX);
        self.entries.drain(..excess);
    }

    /// The verdict that counts for a definition and the files of its scope. Unbound, moved and
    /// interrupted runs say nothing about them.
    #[must_use]
    pub fn newest(&self, definition: &str, scope: &str) -> Option<&LedgerEntry> {
        self.entries.iter().rev().find(|entry| entry.speaks_of(definition, scope))
    }

    /// The pass that holds for a definition and the files of its scope.
    #[must_use]
    pub fn holding(&self, definition: &str, scope: &str) -> Option<&LedgerEntry> {
        self.newest(definition, scope).filter(|entry| entry.verdict.is_pass())
    }

    /// How often it passed and failed on the same files, if both (PROOF-RUN-7).
    #[must_use]
    pub fn is_flaky(&self, definition: &str, scope: &str) -> Option<Flakiness> {
        let count = |verdict: Verdict| {
            let same = self.entries.iter().filter(|entry| entry.speaks_of(definition, scope));
            same.filter(|entry| entry.verdict == verdict).count() as u64
        };
        let flakiness =
            Flakiness { passed: count(Verdict::Passed), failed: count(Verdict::Failed) };
        (flakiness.passed > 0 && flakiness.failed > 0).then_some(flakiness)
    }

    /// The newest verdict on any files.
    #[must_use]
    pub fn last(&self) -> Option<&LedgerEntry> {
        self.entries.iter().rev().find(|entry| entry.speaks())
    }

    /// The newest pass on any files.
    #[must_use]
    pub fn last_pass(&self) -> Option<&LedgerEntry> {
        self.passed.as_ref()
    }

    /// Whether it ever passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.passed.is_some()
    }
}
