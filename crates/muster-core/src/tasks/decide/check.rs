//! Runs of checks. A run ends once, and only what its process found out becomes a verdict.

use super::{Decision, reject};
use crate::{
    checks::{
        record::{CheckRecord, CheckResult},
        verdict::Verdict,
    },
    run::node::Process,
    tasks::{
        TaskDocs, TaskEvent, TaskRejection, TaskResult,
        command::RequestCheck,
        event::{CheckEnding, CheckFinished, CheckRequested, CheckStarted},
        id::CheckRunId,
        lookup,
    },
};

pub(super) fn request(docs: &TaskDocs, request: &RequestCheck) -> Decision {
    Ok(vec![TaskEvent::CheckRequested(CheckRequested {
        run: CheckRunId(lookup::workspace(docs)?.last_check + 1),
        check: request.check.clone(),
        definition: request.definition.clone(),
        command: request.command.clone(),
        directory: request.directory.clone(),
        runner: request.runner,
        files: request.files.clone(),
        asked_for: request.asked_for,
        imported: false,
    })])
}

pub(super) fn start(docs: &TaskDocs, run: CheckRunId, process: Process) -> Decision {
    unfinished(docs, run)?;
    Ok(vec![TaskEvent::CheckStarted(CheckStarted { run, process })])
}

pub(super) fn finish(docs: &TaskDocs, run: CheckRunId, result: &CheckResult) -> Decision {
    unfinished(docs, run)?;
    end(run, CheckEnding::Judged(Box::new(result.clone())))
}

/// Another run can answer for this one if it passed in this store under the same definition. The
/// caller has compared the files: they may have changed since the request.
pub(super) fn answer(docs: &TaskDocs, run: CheckRunId, by: CheckRunId) -> Decision {
    let asked = unfinished(docs, run)?;
    let given = record(docs, by)?;
    let is_pass = given.verdict.is_some_and(Verdict::is_pass);
    let is_same = given.check == asked.check && given.definition == asked.definition;
    if !(is_pass && is_same && given.is_binding()) {
        return reject(TaskRejection::CheckRunDiffers { run, by });
    }
    end(run, CheckEnding::Answered { by })
}

pub(super) fn interrupt(docs: &TaskDocs, run: CheckRunId, reason: &str) -> Decision {
    unfinished(docs, run)?;
    end(run, CheckEnding::Interrupted { reason: reason.to_owned() })
}

fn end(run: CheckRunId, ending: CheckEnding) -> Decision {
    Ok(vec![TaskEvent::CheckFinished(CheckFinished { run, ending })])
}

fn record(docs: &TaskDocs, run: CheckRunId) -> TaskResult<&CheckRecord> {
    match lookup::check_run(docs, run)? {
        Some(record) => Ok(record),
        None => reject(TaskRejection::UnknownCheckRun { run }),
    }
}

fn unfinished(docs: &TaskDocs, run: CheckRunId) -> TaskResult<&CheckRecord> {
    let record = record(docs, run)?;
    match record.verdict {
        Some(verdict) => reject(TaskRejection::CheckRunFinished { run, verdict }),
        None => Ok(record),
    }
}
