//! The operations that commands call: their arguments and result types.

use muster_api::Focus;
use muster_core::{
    Json,
    tasks::{
        entity::TaskStatus,
        view::{
            capsule::Capsule,
            context::ContextView,
            evidence::EvidencePage,
            mirror::TaskMirror,
            next_tasks::NextTasks,
            overview::{HandoffView, RadarView},
            proof::TaskProof,
            resume::ResumeView,
        },
    },
};
use serde::{Deserialize, Serialize};

use crate::people::OperationCall;

pub(crate) const PAGE_ROWS: u32 = 1_000;

#[derive(Clone, Default, Serialize)]
pub(crate) struct ContextCall<'a> {
    pub(crate) plan: Option<&'a str>,
    pub(crate) status: Option<TaskStatus>,
    pub(crate) tags: Option<&'a [String]>,
    pub(crate) query: Option<&'a str>,
    pub(crate) look: Option<&'a str>,
    pub(crate) plans_limit: u32,
    pub(crate) tasks_limit: u32,
    pub(crate) plans_cursor: Option<String>,
    pub(crate) tasks_cursor: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct ResumeCall<'a> {
    pub(crate) target: Option<&'a str>,
    pub(crate) read_only: bool,
    pub(crate) events_limit: u32,
    pub(crate) steps_limit: u32,
    pub(crate) steps_cursor: Option<String>,
}

#[derive(Serialize)]
pub(super) struct EvidenceCall<'a> {
    pub(super) target: &'a str,
    pub(super) limit: u32,
    pub(super) cursor: Option<String>,
}

#[derive(Serialize)]
pub(super) struct MirrorCall {
    pub(super) task: String,
    pub(super) limit: u32,
    pub(super) cursor: Option<String>,
}

#[derive(Serialize)]
pub(super) struct NextCall<'a> {
    pub(super) plan: Option<&'a str>,
    pub(super) limit: u32,
}

#[derive(Serialize)]
pub(super) struct RadarCall<'a> {
    pub(super) target: Option<&'a str>,
}

#[derive(Serialize)]
pub(crate) struct HandoffCall<'a> {
    pub(crate) target: Option<&'a str>,
    pub(crate) limit: u32,
}

#[derive(Serialize)]
pub(crate) struct ProofCall<'a> {
    pub(crate) task: Option<&'a str>,
}

#[derive(Serialize)]
pub(crate) struct FocusCall {}

#[derive(Serialize)]
pub(crate) struct SnapshotCall {
    pub(crate) read_only: bool,
}

/// The part of a snapshot that is read.
#[derive(Deserialize)]
pub(crate) struct SnapshotCapsule {
    pub(crate) capsule: Capsule,
}

/// A new plan, or a new task with its steps.
#[derive(Default, Serialize)]
pub(crate) struct CreateCall<'a> {
    pub(crate) kind: &'static str,
    pub(crate) parent: Option<&'a str>,
    pub(crate) title: &'a str,
    pub(crate) description: Option<&'a str>,
    pub(crate) steps: Option<&'a [NewTaskStep]>,
}

/// A step as a person writes it down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NewTaskStep {
    pub(crate) title: String,
    pub(crate) success_criteria: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tests: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) checks: Vec<String>,
}

/// The part of a created plan or task that is read.
#[derive(Deserialize)]
pub(crate) struct CreatedEntity {
    pub(crate) id: String,
}

#[derive(Serialize)]
pub(crate) struct DecomposeCall<'a> {
    pub(crate) task: &'a str,
    pub(crate) steps: &'a [NewTaskStep],
}

#[derive(Serialize)]
pub(crate) struct CloseCall<'a> {
    pub(crate) task: &'a str,
    pub(crate) step_id: &'a str,
    pub(crate) checkpoints: ConfirmedItems,
    pub(crate) proof: Option<&'a [String]>,
    pub(crate) expected_step_revision: u64,
    pub(crate) wait_seconds: u32,
}

/// What a person confirmed of a step.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ConfirmedItems {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) criteria: Option<CheckpointClaim>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tests: Option<CheckpointClaim>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) security: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) perf: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) docs: Option<bool>,
}

/// A checkpoint as a whole, or some of its entries.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum CheckpointClaim {
    Whole(bool),
    Entries(Vec<ConfirmedEntry>),
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ConfirmedEntry {
    pub(crate) index: usize,
}

#[derive(Serialize)]
pub(crate) struct CompleteCall<'a> {
    pub(crate) target: &'a str,
    pub(crate) wait_seconds: u32,
}

#[derive(Serialize)]
pub(crate) struct NoteCall<'a> {
    pub(crate) task: &'a str,
    pub(crate) step_id: &'a str,
    pub(crate) note: &'a str,
}

#[derive(Serialize)]
pub(crate) struct BlockCall<'a> {
    pub(crate) task: &'a str,
    pub(crate) step_id: &'a str,
    pub(crate) blocked: bool,
    pub(crate) reason: Option<&'a str>,
}

#[derive(Serialize)]
pub(crate) struct DeleteCall<'a> {
    pub(crate) target: &'a str,
    pub(crate) step_id: Option<&'a str>,
    pub(crate) expected_revision: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct MoveCall<'a> {
    pub(crate) task: &'a str,
    pub(crate) plan: &'a str,
}

/// Patches that are stored together or not at all.
#[derive(Serialize)]
pub(crate) struct PatchesCall {
    pub(crate) operations: Vec<PatchOperation>,
    pub(crate) atomic: bool,
}

#[derive(Serialize)]
pub(crate) struct PatchOperation {
    pub(crate) tool: &'static str,
    pub(crate) args: PatchArguments,
}

#[derive(Serialize)]
pub(crate) struct PatchArguments {
    pub(crate) target: String,
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step_id: Option<String>,
    pub(crate) ops: Vec<FieldPatch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_revision: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct FieldPatch {
    pub(crate) op: &'static str,
    pub(crate) field: &'static str,
    pub(crate) value: serde_json::Value,
}

/// Maps each call to its operation and result type.
macro_rules! calls {
    ($($call:ty => $operation:literal, $response:ty;)*) => {$(
        impl OperationCall for $call {
            const OPERATION: &'static str = $operation;
            type Response = $response;
        }
    )*};
}

calls! {
    ContextCall<'_> => "tasks_context", ContextView;
    ResumeCall<'_> => "tasks_resume", ResumeView;
    EvidenceCall<'_> => "tasks_evidence_get", EvidencePage;
    MirrorCall => "tasks_mirror", TaskMirror;
    NextCall<'_> => "tasks_next", NextTasks;
    RadarCall<'_> => "tasks_radar", RadarView;
    HandoffCall<'_> => "tasks_handoff", HandoffView;
    ProofCall<'_> => "tasks_proof", TaskProof;
    FocusCall => "tasks_focus_get", Focus;
    SnapshotCall => "tasks_snapshot", SnapshotCapsule;
    CreateCall<'_> => "tasks_create", Json;
    DecomposeCall<'_> => "tasks_decompose", Json;
    CloseCall<'_> => "tasks_macro_close_step", Json;
    CompleteCall<'_> => "tasks_complete", Json;
    NoteCall<'_> => "tasks_note", Json;
    BlockCall<'_> => "tasks_block", Json;
    DeleteCall<'_> => "tasks_delete", Json;
    MoveCall<'_> => "tasks_move", Json;
    PatchesCall => "tasks_batch", Json;
}
