//! What `muster check` prints about the verdicts.

use muster_api::{
    Timestamp,
    checks::{CheckRecord, CheckTicket, Verdict},
};
use muster_core::{
    checks::{ledger::Flakiness, verdict::TestCounts},
    tasks::id::CheckRunId,
};
use serde::Serialize;

use crate::screen::{Color, Screen, Tone, age};

/// Digits of a digest that people see.
const DIGEST_CHARS: usize = 12;

#[derive(Serialize)]
pub(in crate::commands) struct CheckReport {
    pub(in crate::commands) holds: bool,
    checks: Vec<CheckReportRow>,
}

#[derive(Serialize)]
pub(in crate::commands) struct CheckReportRow {
    name: String,
    run: CheckRunId,
    verdict: Verdict,
    /// Whether it passed before on the same files and did not run again.
    reused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<TestCounts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_tests: Vec<String>,
    duration_ms: u64,
    finished_at_ms: Timestamp,
    tree: String,
    scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unbound: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaky: Option<Flakiness>,
    /// Why it was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl CheckReportRow {
    pub(super) fn of(record: CheckRecord, ticket: &CheckTicket, flaky: Option<Flakiness>) -> Self {
        let reused = ticket.is_reused || record.answered_by.is_some();
        let files = if reused { ticket.files.clone() } else { record.files };
        Self {
            name: record.check,
            run: record.answered_by.unwrap_or(record.id),
            verdict: record.verdict.unwrap_or(Verdict::Interrupted),
            reused,
            tests: record.counts,
            failed_tests: record.failed_tests,
            duration_ms: record.duration_ms,
            finished_at_ms: record.finished_at.unwrap_or(record.requested_at),
            tree: files.tree,
            scope: files.scope,
            unbound: files.unbound,
            flaky,
            reason: record.reason,
        }
    }

    fn text(&self, screen: Screen, now: Timestamp) -> String {
        let tone = if self.verdict.is_pass() { Tone::Good } else { Tone::Bad };
        let mut text = format!("{}  {}", self.name, screen.paint(tone, self.verdict.name()));
        if self.reused {
            text += &format!(" {} on these files, {}", age(self.finished_at_ms, now), self.run);
        }
        if let Some(tests) = self.tests {
            text += &format!("  {} passed, {} failed", tests.passed, tests.failed);
            if tests.skipped > 0 {
                text += &format!(", {} skipped", tests.skipped);
            }
        }
        if !self.reused {
            let seconds = self.duration_ms / 1000;
            let tenths = self.duration_ms / 100 % 10;
            let files = self.scope.get(..DIGEST_CHARS).unwrap_or(&self.scope);
            text += &format!("  {seconds}.{tenths} s  files {files}  {}", self.run);
        }
        text.push('\n');
        for test in &self.failed_tests {
            text += &format!("    {test}\n");
        }
        if let Some(why) = &self.unbound {
            text += &format!("    holds for this run only: {why}\n");
        }
        if let Some(Flakiness { passed, failed }) = self.flaky {
            text +=
                &format!("    flaky: passed {passed} and failed {failed} times on these files\n");
        }
        if let Some(reason) = &self.reason {
            text += &format!("    {reason}\n");
        }
        text
    }
}

impl CheckReport {
    pub(in crate::commands) fn of(checks: Vec<CheckReportRow>) -> Self {
        Self { holds: checks.iter().all(|row| row.verdict.is_pass()), checks }
    }

    /// For people.
    pub(in crate::commands) fn text(&self, now: Timestamp) -> String {
        let screen = Screen::of_stdout(Color::Auto);
        self.checks.iter().map(|row| row.text(screen, now)).collect()
    }
}
