//! A run of a check as the store keeps it: what was asked for, which process runs it, and what it
//! found out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::{FAILED_TESTS_MAX, ProcessEnd, TestCounts, TestResults, Verdict};
use crate::{
    Author, Timestamp,
    run::node::Process,
    tasks::id::{CheckRunId, StepId, TaskId},
};

/// Names of tests that are kept of a run.
pub const TEST_NAMES_MAX: usize = 5_000;
/// The status of an unfinished run in lists.
pub const RUNNING: &str = "running";
/// The kind of documents that runs are, in lists.
pub const CHECK_RUN_KIND: &str = "check_run";

/// The files that a verdict is bound to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TreeState {
    /// Digest of all files.
    pub tree: String,
    /// Digest of the files that the check depends on.
    pub scope: String,
    /// Why a verdict on them serves only the call that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unbound: Option<String>,
    /// Empty without a repository or a commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// The output of a check, without its middle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OutputRecord {
    pub size: u64,
    pub digest: String,
    /// Redacted and without control characters, like the tail.
    pub head: String,
    pub tail: String,
}

/// The program that a command line resolved to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRecord {
    pub path: String,
    pub digest: String,
}

/// The work that a run of a check was asked for.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[schemars(inline)]
pub struct CheckedWork {
    pub task: TaskId,
    /// Absent if it was asked for the task as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub step: Option<StepId>,
}

/// A run of a check (PROOF-RUN-5).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckRecord {
    pub id: CheckRunId,
    /// Name of the check.
    pub check: String,
    /// Digest of its definition.
    pub definition: String,
    /// The command line.
    pub command: String,
    pub directory: String,
    pub requested_at: Timestamp,
    /// Who asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<Author>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_for: Option<CheckedWork>,
    /// The Muster process that runs it.
    pub runner: Process,
    /// It was made in another store; what it found out proves nothing here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The first process of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    #[serde(default)]
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ProcessEnd>,
    /// None while it is unfinished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
    /// The files at the end of the run; at the time of the request while it is unfinished.
    #[serde(flatten)]
    pub files: TreeState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramRecord>,
    /// The run whose verdict answered this one, which therefore did not have to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<CheckRunId>,
    /// Why it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a run of a check found out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckResult {
    pub verdict: Verdict,
    pub end: ProcessEnd,
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
    /// Every test of a report with whether it was skipped, if the check passed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, bool>,
    pub files: TreeState,
    pub output: OutputRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramRecord>,
}

/// The tests of a run by name, apart from its record: lists of runs need not read them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CheckTests {
    /// With whether the test was skipped.
    pub names: BTreeMap<String, bool>,
}

impl CheckResult {
    /// Takes over what the report or the output of the runner says, within bounds.
    #[must_use]
    pub fn with_tests(mut self, results: Option<TestResults>) -> Self {
        let Some(results) = results else { return self };
        self.counts = Some(results.counts);
        self.failed_tests = results.failed.into_iter().take(FAILED_TESTS_MAX).collect();
        if self.verdict.is_pass() {
            self.names = results.names.into_iter().take(TEST_NAMES_MAX).collect();
        }
        self
    }
}

impl CheckRecord {
    /// Whether nothing more will happen to it.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.verdict.is_some()
    }

    /// Its status in lists: the word of its verdict, or [`RUNNING`].
    #[must_use]
    pub fn status(&self) -> &'static str {
        self.verdict.map_or(RUNNING, Verdict::word)
    }

    /// Whether its verdict may serve other calls on the same files.
    #[must_use]
    pub fn is_binding(&self) -> bool {
        !self.imported && self.files.unbound.is_none() && self.answered_by.is_none()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{CheckRecord, TreeState};
    use crate::{
        Timestamp,
        checks::verdict::{TestCounts, Verdict},
        run::node::Process,
        tasks::id::CheckRunId,
    };

    /// A pass with these numbers of passed and skipped tests.
    pub(in crate::checks) fn record(number: u64, passed: u64, skipped: u64) -> CheckRecord {
        CheckRecord {
            id: CheckRunId(number),
            check: "tests".to_owned(),
            definition: "one".to_owned(),
            command: "run".to_owned(),
            directory: "/project".to_owned(),
            requested_at: Timestamp(0),
            requested_by: None,
            asked_for: None,
            runner: Process { pid: 1, started: 1 },
            imported: false,
            started_at: None,
            process: None,
            finished_at: Some(Timestamp(number as i64)),
            duration_ms: 1,
            end: None,
            verdict: Some(Verdict::Passed),
            counts: Some(TestCounts { passed, failed: 0, skipped }),
            failed_tests: Vec::new(),
            files: TreeState::default(),
            output: None,
            program: None,
            answered_by: None,
            reason: None,
        }
    }
}
