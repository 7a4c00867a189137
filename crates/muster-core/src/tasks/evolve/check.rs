//! Runs of checks and the ledgers of their verdicts.

use super::{Applied, Moment, change_workspace};
use crate::{
    Author,
    checks::{
        ledger::{CheckLedger, LedgerEntry},
        record::{CheckRecord, CheckResult, CheckTests},
        verdict::Verdict,
    },
    tasks::{
        TaskDocs, TaskDocument, TaskKey,
        event::{CheckEnding, CheckFinished, CheckRequested, CheckStarted},
        id::CheckRunId,
        lookup,
    },
};

pub(super) fn requested(
    docs: &mut TaskDocs,
    requested: &CheckRequested,
    by: Option<&Author>,
    moment: Moment,
) -> Applied {
    let run = requested.run;
    change_workspace(docs, |workspace| workspace.last_check = workspace.last_check.max(run.0))?;
    let record = CheckRecord {
        id: run,
        check: requested.check.clone(),
        definition: requested.definition.clone(),
        command: requested.command.clone(),
        directory: requested.directory.clone(),
        requested_at: moment.at,
        requested_by: by.cloned(),
        asked_for: requested.asked_for,
        runner: requested.runner,
        imported: requested.imported,
        started_at: None,
        process: None,
        finished_at: None,
        duration_ms: 0,
        end: None,
        verdict: None,
        counts: None,
        failed_tests: Vec::new(),
        files: requested.files.clone(),
        output: None,
        program: None,
        answered_by: None,
        reason: None,
    };
    docs.create(TaskKey::CheckRun(run), TaskDocument::CheckRun(Box::new(record)));
    Ok(())
}

pub(super) fn started(docs: &mut TaskDocs, started: &CheckStarted, moment: Moment) -> Applied {
    if let Some(record) = record_mut(docs, started.run)? {
        record.started_at = Some(moment.at);
        record.process = Some(started.process);
    }
    Ok(())
}

pub(super) fn finished(docs: &mut TaskDocs, finished: &CheckFinished, moment: Moment) -> Applied {
    let run = finished.run;
    let answer = match &finished.ending {
        CheckEnding::Answered { by } => lookup::check_run(docs, *by)?.cloned(),
        CheckEnding::Judged(_) | CheckEnding::Interrupted { .. } => None,
    };
    let Some(record) = record_mut(docs, run)? else { return Ok(()) };
    record.finished_at = Some(moment.at);
    match &finished.ending {
        CheckEnding::Judged(result) => judged(record, result),
        CheckEnding::Interrupted { reason } => {
            record.verdict = Some(Verdict::Interrupted);
            record.reason = Some(reason.clone());
        }
        CheckEnding::Answered { by } => {
            record.answered_by = Some(*by);
            match answer {
                Some(answer) => answered(record, answer),
                None => record.verdict = Some(Verdict::Interrupted),
            }
        }
    }
    if let Some(entry) = LedgerEntry::of(record) {
        let check = record.check.clone();
        enter(docs, &check, entry)?;
    }
    if let CheckEnding::Judged(result) = &finished.ending
        && !result.names.is_empty()
    {
        let tests = CheckTests { names: result.names.clone() };
        docs.create(TaskKey::CheckTests(run), TaskDocument::CheckTests(tests));
    }
    Ok(())
}

fn record_mut(
    docs: &mut TaskDocs,
    run: CheckRunId,
) -> crate::tasks::TaskLookup<Option<&mut CheckRecord>> {
    Ok(match docs.edit(&TaskKey::CheckRun(run))? {
        Some(TaskDocument::CheckRun(record)) => Some(record),
        Some(_) | None => None,
    })
}

fn judged(record: &mut CheckRecord, result: &CheckResult) {
    record.verdict = Some(result.verdict);
    record.end = Some(result.end);
    record.duration_ms = result.duration_ms;
    record.counts = result.counts;
    record.failed_tests.clone_from(&result.failed_tests);
    record.files = result.files.clone();
    record.output = Some(result.output.clone());
    record.program.clone_from(&result.program);
}

/// Copies the outcome of the run that answered this one.
fn answered(record: &mut CheckRecord, answer: CheckRecord) {
    record.verdict = answer.verdict;
    record.end = answer.end;
    record.duration_ms = answer.duration_ms;
    record.counts = answer.counts;
    record.files = answer.files;
    record.output = answer.output;
    record.program = answer.program;
}

fn enter(docs: &mut TaskDocs, check: &str, entry: LedgerEntry) -> Applied {
    let key = TaskKey::CheckLedger(check.to_owned());
    match docs.edit(&key)? {
        Some(TaskDocument::CheckLedger(ledger)) => ledger.add(entry),
        Some(_) | None => {
            let mut ledger = CheckLedger::new(check);
            ledger.add(entry);
            docs.put(key, TaskDocument::CheckLedger(ledger));
        }
    }
    Ok(())
}
