//! Findings about a pass that follow from the records of runs alone. Findings about files need the
//! disk, and are made in the view of the proof.

use crate::{
    Timestamp,
    checks::{
        finding::{CheckFinding, CheckPass, EarlierPasses, changed_since, missing_since},
        ledger::CheckLedger,
        project::AcceptedCheck,
    },
    tasks::{TaskDocs, TaskDocument, TaskKey, TaskLookup, id::CheckRunId, lookup},
};

/// What about a pass differs from the passes before it, for work that began at this time.
pub(in crate::tasks::view) fn of_pass(
    docs: &TaskDocs,
    check: &AcceptedCheck,
    ledger: &CheckLedger,
    (began, run): (Timestamp, CheckRunId),
) -> TaskLookup<Vec<CheckFinding>> {
    let Some(earlier) = EarlierPasses::of(ledger, began, run) else { return Ok(Vec::new()) };
    let Some(pass) = pass(docs, run)? else { return Ok(Vec::new()) };
    let mut findings = Vec::new();
    if check.guard_count
        && let Some(fullest) = self::pass(docs, earlier.fullest)?
    {
        findings.extend(missing_since(pass, fullest));
    }
    if let Some(base) = self::pass(docs, earlier.base)? {
        findings.extend(changed_since(pass.record, base.record));
    }
    Ok(findings)
}

fn pass(docs: &TaskDocs, run: CheckRunId) -> TaskLookup<Option<CheckPass<'_>>> {
    let Some(record) = lookup::check_run(docs, run)? else { return Ok(None) };
    let tests = match docs.get(&TaskKey::CheckTests(run))? {
        Some(TaskDocument::CheckTests(tests)) => Some(tests),
        Some(_) | None => None,
    };
    Ok(Some(CheckPass { record, tests }))
}
