//! What about a pass looks like a way around its check, compared with earlier passes
//! (PROOF-GUARD). A finding stops nothing; it is shown wherever the pass is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    changes::{ChangesSince, ThinnedFile},
    ledger::{CheckLedger, LedgerEntry},
    record::{CheckRecord, CheckTests, TEST_NAMES_MAX},
    verdict::TestCounts,
};
use crate::{Timestamp, tasks::id::CheckRunId};

/// Tests that a finding names.
const FINDING_NAMES_MAX: usize = 20;
/// Tests or files named in the sentence of a finding.
const SENTENCE_NAMES_MAX: usize = 3;
/// Characters of a commit in it.
const COMMIT_CHARS: usize = 12;

/// A finding about a pass.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckFinding {
    pub kind: FindingKind,
    /// Name of the check.
    pub check: String,
    /// The pass it is about.
    pub run: CheckRunId,
    /// The earlier pass that differs.
    pub before: CheckRunId,
    /// How many tests or files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The tests, if both runs have a report that names them; 20 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// The files it is about; 20 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// For people.
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum FindingKind {
    /// There are fewer tests than before.
    TestsGone,
    /// More tests are skipped than before.
    TestsSkipped,
    /// The command resolved to another program.
    ProgramChanged,
    /// Another definition passed before.
    DefinitionChanged,
    /// Test files only lost lines.
    TestsThinned,
    /// Files changed that no check depends on.
    FilesUncovered,
}

/// A run that passed, with its tests as far as a report named them.
#[derive(Clone, Copy)]
pub struct CheckPass<'a> {
    pub record: &'a CheckRecord,
    pub tests: Option<&'a CheckTests>,
}

/// The earlier passes that a pass is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlierPasses {
    /// The newest from before the work began, else the oldest since then.
    pub base: CheckRunId,
    /// The one with the most tests, from the base on.
    pub fullest: CheckRunId,
}

impl EarlierPasses {
    /// What a pass is compared with if the work began at this time. Repeating a check does not
    /// move it: removing a test and running the check twice is still found out.
    #[must_use]
    pub fn of(ledger: &CheckLedger, began: Timestamp, pass: CheckRunId) -> Option<Self> {
        let earlier = ledger.entries.iter().take_while(|entry| entry.run != pass);
        let passes: Vec<&LedgerEntry> = earlier.filter(|entry| entry.verdict.is_pass()).collect();
        let base = passes.iter().rposition(|entry| entry.at <= began).unwrap_or(0);
        let since = passes.get(base..).unwrap_or_default();
        // The last of equals: the closest to the pass.
        let fullest = since.iter().max_by_key(|entry| entry.counts.map_or(0, TestCounts::all))?;
        Some(Self { base: since.first()?.run, fullest: fullest.run })
    }
}

/// What differs from the base: the program and the definition.
#[must_use]
pub fn changed_since(pass: &CheckRecord, base: &CheckRecord) -> Vec<CheckFinding> {
    let mut findings = Vec::new();
    if let (Some(now), Some(then)) = (&pass.program, &base.program)
        && now != then
    {
        let message = if now.path == then.path {
            format!("{} is not the file it was at {}", now.path, base.id)
        } else {
            format!("it ran {}; at {} it ran {}", now.path, base.id, then.path)
        };
        findings.push(CheckFinding::plain(FindingKind::ProgramChanged, pass, base, message));
    }
    if pass.definition != base.definition {
        let message = format!("its definition was another one at {}", base.id);
        findings.push(CheckFinding::plain(FindingKind::DefinitionChanged, pass, base, message));
    }
    findings
}

/// What a person should look at in the files that changed since the commit of an earlier pass: test
/// files that only lost lines, and files that no check depends on (PROOF-GUARD-3).
#[must_use]
pub fn files_since(
    pass: &CheckRecord,
    base: &CheckRecord,
    changes: &ChangesSince,
) -> Vec<CheckFinding> {
    let commit: String = base.files.commit.chars().take(COMMIT_CHARS).collect();
    let mut findings = Vec::new();
    let lost = |file: &ThinnedFile| match (file.is_gone, file.lines) {
        (true, _) => format!("{} (gone)", file.path),
        (false, lines) => format!("{} ({lines})", file.path),
    };
    if !changes.thinned.is_empty() {
        let (noun, names) = listed("test file", changes.thinned.iter().map(lost));
        let message = format!("{noun} only lost lines since commit {commit}: {names}");
        let files = changes.thinned.iter().map(|file| file.path.clone()).collect();
        findings.push(FindingKind::TestsThinned.of_files(pass, base, files, message));
    }
    if !changes.uncovered.is_empty() {
        let (noun, names) = listed("file", changes.uncovered.iter().cloned());
        let message = format!("{noun} changed since commit {commit} that no check covers: {names}");
        let files = changes.uncovered.clone();
        findings.push(FindingKind::FilesUncovered.of_files(pass, base, files, message));
    }
    findings
}

/// How many there are, and the first of them.
fn listed(noun: &str, names: impl ExactSizeIterator<Item = String>) -> (String, String) {
    let count = names.len();
    let more = if count > SENTENCE_NAMES_MAX { ", …" } else { "" };
    let first: Vec<String> = names.take(SENTENCE_NAMES_MAX).collect();
    let plural = if count == 1 { "" } else { "s" };
    (format!("{count} {noun}{plural}"), format!("{}{more}", first.join(", ")))
}

/// Tests that are gone or skipped since a pass with more of them (PROOF-GUARD-2).
#[must_use]
pub fn missing_since(pass: CheckPass<'_>, before: CheckPass<'_>) -> Vec<CheckFinding> {
    let (Some(now), Some(then)) = (pass.record.counts, before.record.counts) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    if now.all() < then.all() {
        let names = named(pass, before, |then, now| now.is_none() && then.is_some());
        let count = (then.all() - now.all()).max(names.len() as u64);
        let finding = FindingKind::TestsGone.about(pass.record, before.record, count, names);
        findings.push(finding);
    }
    if now.skipped > then.skipped {
        let names = named(pass, before, |then, now| now == Some(true) && then == Some(false));
        let count = now.skipped - then.skipped;
        let finding = FindingKind::TestsSkipped.about(pass.record, before.record, count, names);
        findings.push(finding);
    }
    findings
}

/// The tests of the earlier pass that are of interest, by whether they were skipped then and now;
/// none unless both runs name all of theirs.
fn named(
    pass: CheckPass<'_>,
    before: CheckPass<'_>,
    is_wanted: impl Fn(Option<bool>, Option<bool>) -> bool,
) -> Vec<String> {
    let (Some(now), Some(then)) = (pass.tests, before.tests) else { return Vec::new() };
    if [now, then].iter().any(|tests| tests.names.len() >= TEST_NAMES_MAX) {
        return Vec::new();
    }
    let wanted = then
        .names
        .iter()
        .filter(|(name, skipped)| is_wanted(Some(**skipped), now.names.get(*name).copied()));
    wanted.map(|(name, _)| name.clone()).collect()
}

impl FindingKind {
    fn about(
        self,
        pass: &CheckRecord,
        before: &CheckRecord,
        count: u64,
        mut tests: Vec<String>,
    ) -> CheckFinding {
        let what = match self {
            Self::TestsGone => "gone",
            Self::TestsSkipped => "skipped",
            Self::ProgramChanged
            | Self::DefinitionChanged
            | Self::TestsThinned
            | Self::FilesUncovered => "changed",
        };
        let (noun, verb) = if count == 1 { ("test", "is") } else { ("tests", "are") };
        let mut message = format!("{count} {noun} of {} {verb} {what}", before.id);
        if !tests.is_empty() {
            let first = tests.get(..SENTENCE_NAMES_MAX).unwrap_or(&tests);
            let more = if first.len() < tests.len() { ", …" } else { "" };
            message += &format!(": {}{more}", first.join(", "));
        }
        tests.truncate(FINDING_NAMES_MAX);
        let plain = CheckFinding::plain(self, pass, before, message);
        CheckFinding { count: Some(count), tests, ..plain }
    }

    fn of_files(
        self,
        pass: &CheckRecord,
        base: &CheckRecord,
        mut files: Vec<String>,
        message: String,
    ) -> CheckFinding {
        let count = Some(files.len() as u64);
        files.truncate(FINDING_NAMES_MAX);
        CheckFinding { count, files, ..CheckFinding::plain(self, pass, base, message) }
    }
}

impl CheckFinding {
    fn plain(kind: FindingKind, pass: &CheckRecord, before: &CheckRecord, message: String) -> Self {
        Self {
            kind,
            check: pass.check.clone(),
            run: pass.id,
            before: before.id,
            count: None,
            tests: Vec::new(),
            files: Vec::new(),
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        CheckFinding, CheckPass, EarlierPasses, FindingKind, changed_since, files_since,
        missing_since,
    };
    use crate::{
        Timestamp,
        checks::{
            changes::{ChangesSince, ThinnedFile},
            ledger::{CheckLedger, LedgerEntry},
            record::{CheckRecord, ProgramRecord, tests::record},
        },
        tasks::id::CheckRunId,
    };

    fn plain(record: &CheckRecord) -> CheckPass<'_> {
        CheckPass { record, tests: None }
    }

    fn kinds(findings: &[CheckFinding]) -> Vec<(FindingKind, Option<u64>)> {
        findings.iter().map(|found| (found.kind, found.count)).collect()
    }

    #[test]
    fn without_names_only_the_numbers_are_compared() {
        let (now, then) = (record(2, 5, 2), record(1, 9, 0));
        let found = missing_since(plain(&now), plain(&then));
        let expected = [(FindingKind::TestsGone, Some(2)), (FindingKind::TestsSkipped, Some(2))];
        assert_eq!(kinds(&found), expected);
        assert_eq!(found[0].message, "2 tests of CHK-000001 are gone");
        assert!(missing_since(plain(&then), plain(&now)).is_empty(), "more tests are fine");
        let uncounted = CheckRecord { counts: None, ..record(3, 0, 0) };
        assert!(missing_since(plain(&uncounted), plain(&then)).is_empty());
    }

    #[test]
    fn another_program_or_definition_is_found() {
        let program = |path: &str, digest: &str| {
            Some(ProgramRecord { path: path.to_owned(), digest: digest.to_owned() })
        };
        let base = CheckRecord { program: program("/bin/cargo", "a"), ..record(1, 1, 0) };
        let now = CheckRecord {
            program: program("/tmp/cargo", "b"),
            definition: "two".to_owned(),
            ..record(2, 1, 0)
        };
        let found = changed_since(&now, &base);
        let expected =
            [(FindingKind::ProgramChanged, None), (FindingKind::DefinitionChanged, None)];
        assert_eq!(kinds(&found), expected);
        assert_eq!(found[0].message, "it ran /tmp/cargo; at CHK-000001 it ran /bin/cargo");
        assert!(changed_since(&base, &base).is_empty());
    }

    #[test]
    fn files_are_named_with_the_commit_that_they_are_compared_with() {
        let mut base = record(1, 1, 0);
        base.files.commit = "0123456789abcdef".to_owned();
        let thinned = |path: &str, lines, is_gone| {
            let path = path.to_owned();
            ThinnedFile { path, lines, is_gone }
        };
        let changes = ChangesSince {
            thinned: vec![thinned("tests/a.rs", 12, false), thinned("tests/b.rs", 3, true)],
            uncovered: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
        };
        let found = files_since(&record(2, 1, 0), &base, &changes);
        let said: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(
            said,
            [
                "2 test files only lost lines since commit 0123456789ab: tests/a.rs (12), \
                 tests/b.rs (gone)",
                "4 files changed since commit 0123456789ab that no check covers: a, b, c, …",
            ]
        );
        assert_eq!(found[1].files, ["a", "b", "c", "d"]);
        assert!(files_since(&base, &base, &ChangesSince::default()).is_empty());
    }

    #[test]
    fn the_base_is_the_last_pass_before_the_work_began() {
        let mut ledger = CheckLedger::new("tests");
        for (number, passed) in [(1, 50), (2, 10), (3, 12), (4, 8)] {
            ledger.add(LedgerEntry::of(&record(number, passed, 0)).unwrap());
        }
        let compared = |began, pass| {
            let earlier = EarlierPasses::of(&ledger, Timestamp(began), CheckRunId(pass));
            earlier.map(|earlier| (earlier.base.0, earlier.fullest.0))
        };
        assert_eq!(compared(2, 4), Some((2, 3)));
        assert_eq!(compared(0, 4), Some((1, 1)), "the oldest if none is from before");
        assert_eq!(compared(9, 4), Some((3, 3)));
        assert_eq!(compared(9, 1), None);
    }
}
