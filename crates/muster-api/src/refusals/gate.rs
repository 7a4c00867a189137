//! A step's gate that refuses: what is missing, what to call, and a template to fill in.

use std::collections::BTreeMap;

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

/// TASKS-GATE-7.
fn suggestion(workspace: &WorkspaceId, gate: StepGate, report: &GateReport) -> Suggestion {
    let call = |tool: &str, reason: &str| {
        Suggestion::call(tool, reason).with("workspace", workspace).with("task", &report.task)
    };
    match gate {
        StepGate::Checkpoints => confirmation(report, &call),
        StepGate::Proof => {
            call("tasks_snapshot", "see what proof is missing").with("read_only", &true)
        }
        StepGate::Checks | StepGate::Children | StepGate::Blocked => {
            call("tasks_radar", "see what is in the way")
        }
    }
}

/// Confirms what is missing; if only that was unmet, the portal does it and closes the step.
fn confirmation(report: &GateReport, call: &dyn Fn(&str, &str) -> Suggestion) -> Suggestion {
    let verify =
        call("tasks_verify", "confirm the missing checkpoints").with("step_id", &report.step_id);
    // TASKS-GATE-7: `"gate"` when exactly criteria and tests are missing, else each by name.
    let verify = match &report.missing_checkpoints[..] {
        missing if missing == Checkpoint::GATE => verify.with("checkpoints", "gate"),
        missing => verify.with("checkpoints", &all_true(missing)),
    };
    if report.closing.is_empty() {
        return verify;
    }
    let reason = "confirm the missing checkpoints and close the step";
    let close = call("tasks_macro_close_step", reason)
        .with("step_id", &report.step_id)
        .with("checkpoints", &all_true(&report.closing));
    verify.or_else(close)
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
    if !report.required_optional.is_empty() {
        let named = Checkpoint::GATE.iter().chain(&report.required_optional);
        hint.extend([field("checkpoints", &all_true(named))]);
    }
    Map::from_iter([field("tool", "tasks_macro_close_step"), field("args_hint", &hint)])
}

fn all_true<'a>(
    checkpoints: impl IntoIterator<Item = &'a Checkpoint>,
) -> BTreeMap<Checkpoint, bool> {
    checkpoints.into_iter().map(|checkpoint| (*checkpoint, true)).collect()
}

fn join(checkpoints: &[Checkpoint]) -> String {
    let names: Vec<&str> = checkpoints.iter().map(|checkpoint| checkpoint.name()).collect();
    names.join(", ")
}
