//! The operations that commands call: their arguments and result types.

use muster_api::Focus;
use muster_core::tasks::{
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
};
use serde::{Deserialize, Serialize};

use crate::people::OperationCall;

/// Rows of one page.
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
pub(super) struct ResumeCall<'a> {
    pub(super) target: Option<&'a str>,
    pub(super) read_only: bool,
    pub(super) events_limit: u32,
    pub(super) steps_limit: u32,
    pub(super) steps_cursor: Option<String>,
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
}
