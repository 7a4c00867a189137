//! What a run of a check found out, and what that proves.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of failed tests that are kept.
pub const FAILED_TESTS_MAX: usize = 20;

/// How a run of a check ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CheckVerdict")]
pub enum Verdict {
    Passed,
    Failed,
    TimedOut,
    /// It exited with success although no test ran.
    Empty,
    /// The files it depends on changed while it ran.
    Moved,
    /// It was stopped before it ended.
    Interrupted,
}

impl Verdict {
    /// The word for it, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Empty => "empty: no test ran",
            Self::Moved => "moved: its files changed while it ran",
            Self::Interrupted => "interrupted",
        }
    }

    /// The word for it in results and lists.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Empty => "empty",
            Self::Moved => "moved",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether it proves anything.
    #[must_use]
    pub fn is_pass(self) -> bool {
        self == Self::Passed
    }
}

/// Tests of a run, as far as its report or output names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TestCounts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl TestCounts {
    /// Tests that ran.
    #[must_use]
    pub fn ran(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    /// Tests that there are.
    #[must_use]
    pub fn all(self) -> u64 {
        self.ran().saturating_add(self.skipped)
    }

    /// The sum of two runs.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }
}

/// What the report or the output of a runner says about its tests.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TestResults {
    pub counts: TestCounts,
    /// Names of failed tests.
    pub failed: Vec<String>,
    /// Every test of a report by its name, with whether it was skipped; empty without a report.
    pub names: BTreeMap<String, bool>,
}

/// How the process of a check ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ProcessEnd {
    Exit(i32),
    Signal(i32),
    TimedOut,
}

/// Judges a run on a tree that stayed as it was.
#[must_use]
pub fn judge(end: ProcessEnd, results: Option<&TestResults>) -> Verdict {
    let counts = results.map(|results| results.counts);
    match (end, counts) {
        (ProcessEnd::TimedOut, _) => Verdict::TimedOut,
        (ProcessEnd::Signal(_), _) => Verdict::Failed,
        (_, Some(counts)) if counts.failed > 0 => Verdict::Failed,
        (ProcessEnd::Exit(0), Some(counts)) if counts.ran() == 0 => Verdict::Empty,
        (ProcessEnd::Exit(0), _) => Verdict::Passed,
        (ProcessEnd::Exit(_), _) => Verdict::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessEnd, TestCounts, TestResults, Verdict, judge};

    fn results(passed: u64, failed: u64, skipped: u64) -> TestResults {
        TestResults { counts: TestCounts { passed, failed, skipped }, ..TestResults::default() }
    }

    #[test]
    fn a_failed_test_fails_the_check_whatever_its_exit_code() {
        assert_eq!(judge(ProcessEnd::Exit(0), Some(&results(9, 1, 0))), Verdict::Failed);
        assert_eq!(judge(ProcessEnd::Exit(101), Some(&results(9, 0, 0))), Verdict::Failed);
        assert_eq!(judge(ProcessEnd::Signal(9), Some(&results(9, 0, 0))), Verdict::Failed);
    }

    #[test]
    fn success_without_a_test_is_empty_unless_the_runner_is_unknown() {
        assert_eq!(judge(ProcessEnd::Exit(0), Some(&results(0, 0, 7))), Verdict::Empty);
        assert_eq!(judge(ProcessEnd::Exit(0), None), Verdict::Passed);
        assert_eq!(judge(ProcessEnd::Exit(0), Some(&results(1, 0, 0))), Verdict::Passed);
        assert_eq!(judge(ProcessEnd::TimedOut, Some(&results(1, 0, 0))), Verdict::TimedOut);
    }
}
