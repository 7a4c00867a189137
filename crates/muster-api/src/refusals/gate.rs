//! A step's gate that is open: what is missing, what to call, and a template to fill in.

use muster_core::{
    tasks::{
        id::WorkspaceId,
        rejection::{GateReport, StepGate},
        step::Checkpoint,
    },
    text,
};
use serde_json::{Map, Value, json};

use crate::{ApiError, ErrorCode, Suggestion, SuggestionPriority, call::CallFailure};

pub(super) fn explain(workspace: &WorkspaceId, gate: StepGate, report: &GateReport) -> CallFailure {
    let mut facts = details(report);
    if report.is_undone {
        return undone(gate, report, facts);
    }
    if gate == StepGate::Proof {
        facts.insert("retry".to_owned(), proof_retry(workspace, report));
    }
    let (code, message, recovery) = words(gate, report);
    let error = ApiError { code, message, recovery, details: facts };
    let suggestions = vec![suggestion(workspace, gate, report)];
    CallFailure { error: Box::new(error), suggestions }
}

/// A task that the refused call made is gone again: nothing that names it can be called.
fn undone(gate: StepGate, report: &GateReport, details: Map<String, Value>) -> CallFailure {
    let (code, message, _) = words(gate, report);
    let recovery = "Start the task with tasks_macro_start and close its step with \
                    tasks_macro_close_step and real CMD: and LINK: receipts.";
    ApiError { code, message, recovery: recovery.to_owned(), details }.into()
}

pub(super) fn words(gate: StepGate, report: &GateReport) -> (ErrorCode, String, String) {
    let GateReport { step_id, path, .. } = report;
    match gate {
        StepGate::Checkpoints => {
            let names = join(&report.missing_checkpoints);
            let message = format!("{path} is not confirmed: {names}");
            let recovery = format!("Check {names}, confirm with tasks_verify, then close again.");
            (ErrorCode::CheckpointsNotConfirmed, message, recovery)
        }
        StepGate::Proof => {
            let message = format!("{path} needs proof of: {}", join(&report.missing_proofs));
            let receipts = "real CMD: and LINK: receipts";
            let recovery = if report.closed {
                let names = join(&report.missing_proofs);
                format!(
                    "Call tasks_evidence_capture for {step_id} with {receipts} as checks, \
                     checkpoint {names}."
                )
            } else {
                format!("Call tasks_macro_close_step for {step_id} with {receipts}.")
            };
            (ErrorCode::ProofRequired, message, recovery)
        }
        StepGate::Children => {
            let mut open: Vec<String> =
                report.open_children.iter().map(ToString::to_string).collect();
            open.extend(report.open_nodes.iter().cloned());
            let message = format!("{path} has open children: {}", open.join(", "));
            (ErrorCode::ChildrenOpen, message, "Close the listed children first.".to_owned())
        }
        StepGate::Blocked => {
            let reason = report.block_reason.as_deref().unwrap_or("no reason given");
            let message = format!("{path} is blocked: {}", text::echo(reason));
            let recovery = "Resolve the reason, unblock the step, then close again.".to_owned();
            (ErrorCode::StepBlocked, message, recovery)
        }
    }
}

/// TASKS-GATE-7.
fn suggestion(workspace: &WorkspaceId, gate: StepGate, report: &GateReport) -> Suggestion {
    let task = report.task;
    match gate {
        StepGate::Checkpoints => confirmation(workspace, report),
        StepGate::Proof => Suggestion::call(
            "tasks_snapshot",
            "see what proof is missing",
            SuggestionPriority::High,
            json!({"workspace": workspace, "task": task, "read_only": true}),
        ),
        StepGate::Children | StepGate::Blocked => Suggestion::call(
            "tasks_radar",
            "see what is in the way",
            SuggestionPriority::High,
            json!({"workspace": workspace, "task": task}),
        ),
    }
}

/// Confirming what is missing; where only that was unmet, the portal does it and closes the step.
fn confirmation(workspace: &WorkspaceId, report: &GateReport) -> Suggestion {
    let confirm = |tool: &str, reason: &str, checkpoints: Value| {
        let params = json!({
            "workspace": workspace, "task": report.task, "step_id": report.step_id,
            "checkpoints": checkpoints,
        });
        Suggestion::call(tool, reason, SuggestionPriority::High, params)
    };
    let checkpoints = confirmations(&report.missing_checkpoints);
    let verify = confirm("tasks_verify", "confirm the missing checkpoints", checkpoints);
    if report.closing.is_empty() {
        return verify;
    }
    let reason = "confirm the missing checkpoints and close the step";
    verify.or_else(confirm("tasks_macro_close_step", reason, all_true(&report.closing)))
}

/// TASKS-GATE-6.
pub(super) fn details(report: &GateReport) -> Map<String, Value> {
    let names = |checkpoints: &[Checkpoint]| -> Vec<&str> {
        checkpoints.iter().map(|checkpoint| checkpoint.name()).collect()
    };
    let mut facts = Map::from_iter([
        ("task".to_owned(), json!(report.task)),
        ("step_id".to_owned(), json!(report.step_id)),
        ("path".to_owned(), json!(report.path)),
        ("missing_checkpoints".to_owned(), json!(names(&report.missing_checkpoints))),
        ("missing_proofs".to_owned(), json!(names(&report.missing_proofs))),
        ("open_children".to_owned(), json!(report.open_children)),
        ("open_nodes".to_owned(), json!(report.open_nodes)),
        ("blocked".to_owned(), json!(report.blocked)),
        ("block_reason".to_owned(), json!(report.block_reason)),
    ]);
    if !report.steps.is_empty() {
        facts.insert("steps".to_owned(), json!(report.steps));
    }
    facts
}

/// TASKS-GATE-7: the retry that a caller fills in.
fn proof_retry(workspace: &WorkspaceId, report: &GateReport) -> Value {
    let checks = json!(["CMD: <fill: command you ran>", "LINK: <fill: log or CI page>"]);
    let names: Vec<&str> = report.missing_proofs.iter().map(|cp| cp.name()).collect();
    let mut hint = Map::from_iter([
        ("workspace".to_owned(), json!(workspace)),
        ("task".to_owned(), json!(report.task)),
        ("step_id".to_owned(), json!(report.step_id)),
    ]);
    if report.closed {
        hint.insert("checks".to_owned(), checks);
        hint.insert("checkpoint".to_owned(), json!(names));
        return json!({"tool": "tasks_evidence_capture", "args_hint": hint});
    }
    let proof =
        if names == ["tests"] { checks } else { json!({"checks": checks, "checkpoint": names}) };
    hint.insert("proof".to_owned(), proof);
    if !report.required_optional.is_empty() {
        let named = Checkpoint::GATE.iter().chain(&report.required_optional);
        hint.insert("checkpoints".to_owned(), all_true(named));
    }
    json!({"tool": "tasks_macro_close_step", "args_hint": hint})
}

/// `"gate"` when exactly criteria and tests are missing, else each by name.
fn confirmations(missing: &[Checkpoint]) -> Value {
    if missing == Checkpoint::GATE { json!("gate") } else { all_true(missing) }
}

fn all_true<'a>(checkpoints: impl IntoIterator<Item = &'a Checkpoint>) -> Value {
    let entries = checkpoints.into_iter().map(|cp| (cp.name().to_owned(), Value::Bool(true)));
    Value::Object(entries.collect())
}

fn join(checkpoints: &[Checkpoint]) -> String {
    let names: Vec<&str> = checkpoints.iter().map(|checkpoint| checkpoint.name()).collect();
    names.join(", ")
}
