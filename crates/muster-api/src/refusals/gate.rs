//! A step's gate that refuses: what is missing, what to call, and a template to fill in.

use muster_core::{
    field, fields,
    tasks::{
        id::WorkspaceId,
        rejection::{GateReport, StepGate},
        step::Checkpoint,
    },
    text,
};
use serde_json::{Map, Value};

use super::checks;
use crate::{ApiError, ErrorCode, Suggestion, call::CallFailure};

pub(super) fn explain(workspace: &WorkspaceId, gate: StepGate, report: &GateReport) -> CallFailure {
    let (code, message, recovery) = words(gate, report);
    let error = |recovery: String| {
        // TASKS-GATE-6.
        ApiError { code, message, recovery, details: fields(report) }
    };
    if report.is_undone {
        // A task that the refused call created no longer exists: no call can name it.
        let recovery = "Start the task with tasks_macro_start and close its step with \
                        tasks_macro_close_step and real CMD: and LINK: receipts.";
        return error(recovery.to_owned()).into();
    }
    let error = match gate {
        StepGate::Proof => error(recovery).with("retry", &proof_retry(workspace, report)),
        StepGate::Checkpoints | StepGate::Checks | StepGate::Children | StepGate::Blocked => {
            error(recovery)
        }
    };
    error.suggesting(suggestion(workspace, gate, report))
}

pub(super) fn words(gate: StepGate, report: &GateReport) -> (ErrorCode, String, String) {
    let GateReport { step_id, path, .. } = report;
    match gate {
        StepGate::Checkpoints => {
            let names = join(&report.missing_checkpoints);
            let message = format!("{path} is not confirmed: {names}");
            let misses_criteria = report.missing_checkpoints.contains(&Checkpoint::Criteria);
            let recovery = if report.one_by_one && misses_criteria {
                "Look at each in unconfirmed, then confirm it by its place: checkpoints \
                 {\"criteria\": [{\"index\": 0}]}."
            } else {
                "Look at each in unconfirmed."
            };
            let recovery = recovery.to_owned();
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
        StepGate::Checks => checks::words(&path.to_string(), &report.checks),
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

/// TASKS-GATE-7. No suggestion confirms anything: only the caller can, after a look
/// (EASE-DONE-3).
fn suggestion(workspace: &WorkspaceId, gate: StepGate, report: &GateReport) -> Suggestion {
    let call = |tool: &str, reason: &str| {
        Suggestion::call(tool, reason).with("workspace", workspace).with("task", &report.task)
    };
    match gate {
        StepGate::Checkpoints => call("tasks_snapshot", "see it").with("read_only", &true),
        StepGate::Proof => {
            call("tasks_snapshot", "see what proof is missing").with("read_only", &true)
        }
        StepGate::Checks | StepGate::Children | StepGate::Blocked => {
            call("tasks_radar", "see what is in the way")
        }
    }
}

/// TASKS-GATE-7: the retry that a caller fills in.
fn proof_retry(workspace: &WorkspaceId, report: &GateReport) -> Map<String, Value> {
    let checks = ["CMD: <fill: command you ran>", "LINK: <fill: log or CI page>"];
    let proof = [field("checks", &checks), field("checkpoint", &report.missing_proofs)];
    let mut hint = Map::from_iter([
        field("workspace", workspace),
        field("task", &report.task),
        field("step_id", &report.step_id),
    ]);
    if report.closed {
        hint.extend(proof);
        return Map::from_iter([
            field("tool", "tasks_evidence_capture"),
            field("args_hint", &hint),
        ]);
    }
    hint.extend([match report.missing_proofs[..] {
        [Checkpoint::Tests] => field("proof", &checks),
        _ => field("proof", &Map::from_iter(proof)),
    }]);
    Map::from_iter([field("tool", "tasks_macro_close_step"), field("args_hint", &hint)])
}

fn join(checkpoints: &[Checkpoint]) -> String {
    let names: Vec<&str> = checkpoints.iter().map(|checkpoint| checkpoint.name()).collect();
    names.join(", ")
}
