//! Events as callers see them: one shape everywhere, one table of names and payloads.

mod payload;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    TaskEvent,
    entity::TaskStatus,
    event::{ClaimChange, EditKind, WaiverChange},
    id::{EntityId, EntityKind, PlanId},
    stop::StopReply,
};
use crate::{Author, EventStamp, Json, Recorded, text_of};

/// An event in a result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    /// `evt_` and the 16-digit position.
    pub event_id: String,
    /// Position in the whole store.
    pub seq: u64,
    /// When, as text.
    pub ts: String,
    /// When, in Unix milliseconds.
    pub ts_ms: i64,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    /// What happened.
    #[serde(flatten)]
    pub fact: FactView,
}

/// What happened, whenever and wherever it was recorded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FactView {
    /// Plan or task.
    pub task_id: String,
    /// The same again, for readers of either key.
    pub task: String,
    /// Step or node path.
    pub path: Option<String>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// Details by type.
    #[schemars(with = "Map<String, Value>")]
    #[serde(deserialize_with = "crate::json::from_any")]
    pub payload: Json,
}

impl FactView {
    fn of(event: &TaskEvent) -> Option<Self> {
        let (entity, _) = subject(event)?;
        Some(Self {
            task_id: entity.to_string(),
            task: entity.to_string(),
            path: path(event),
            kind: event_type(event).into(),
            payload: payload::of(event),
        })
    }
}

/// The id of the event at a position.
pub fn event_id(position: u64) -> String {
    format!("evt_{position:016}")
}

/// The position that an event id names, if it is one.
pub fn event_position(id: &str) -> Option<u64> {
    let digits = id.strip_prefix("evt_")?;
    let canonical = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if canonical { digits.parse().ok() } else { None }
}

/// The event as callers see it; `None` for those that only replay sees.
pub fn show(recorded: &Recorded<TaskEvent>) -> Option<EventView> {
    Some(EventView {
        event_id: event_id(recorded.global),
        seq: recorded.global,
        ts: recorded.at.rfc3339(),
        ts_ms: recorded.at.0,
        by: recorded.by.as_deref().cloned(),
        fact: FactView::of(&recorded.event)?,
    })
}

/// What callers see of an event besides its place, as text; `None` for those that only replay sees.
pub(super) fn fact(event: &TaskEvent) -> Option<String> {
    FactView::of(event).map(|fact| text_of(&fact, FACT_BYTES))
}

/// An event as callers see it, put together from its place and its fact.
pub(super) fn listed(stamp: &EventStamp<'_>, fact: &str) -> Option<Json> {
    let rest = fact.strip_prefix('{')?;
    let seq = stamp.global.to_string();
    let ts = stamp.at.rfc3339();
    let ts_ms = stamp.at.0.to_string();
    let by = stamp.by.map(|by| [r#","by":"#, by].concat()).unwrap_or_default();
    let zeros = &ZEROS[seq.len().min(ZEROS.len())..];
    let id = [r#"{"event_id":"evt_"#, zeros, &seq, r#"","seq":"#, &seq];
    let parts = [r#","ts":""#, &ts, r#"","ts_ms":"#, &ts_ms, &by, ",", rest];
    let mut text = String::with_capacity(fact.len() + PLACE_BYTES + by.len());
    text.extend(id.into_iter().chain(parts));
    Some(Json::written(text))
}

/// Capacity for most facts.
const FACT_BYTES: usize = 512;
/// Capacity for the position of an event.
const PLACE_BYTES: usize = 160;

/// Padding of the number in an event id.
const ZEROS: &str = "0000000000000000";

/// The name of a note on a step.
pub const STEP_NOTED: &str = "step_noted";

/// The event's name.
pub fn event_type(event: &TaskEvent) -> &'static str {
    let by_kind = |kind: EntityKind, plan: &'static str, task: &'static str| match kind {
        EntityKind::Plan => plan,
        EntityKind::Task => task,
    };
    match event {
        TaskEvent::PlanCreated(_) => "plan_created",
        TaskEvent::TaskCreated(_) => "task_created",
        TaskEvent::Edited(edited) => match edited.manner {
            EditKind::Edit => by_kind(edited.subject.id.kind(), "plan_edited", "task_edited"),
            EditKind::Patch(_) => "task_patched",
        },
        TaskEvent::TaskMoved(_) => "task_moved",
        TaskEvent::StatusSet(set) => {
            let kind = set.subject.id.kind();
            match set.moved.to {
                TaskStatus::Done => by_kind(kind, "plan_completed", "task_completed"),
                TaskStatus::Todo | TaskStatus::Active => {
                    by_kind(kind, "plan_status_set", "task_status_set")
                }
            }
        }
        TaskEvent::Deleted(deleted) => by_kind(deleted.id.kind(), "plan_deleted", "task_deleted"),
        TaskEvent::ChecklistSet(_) => "plan_updated",
        TaskEvent::ContractSet(_) => "contract_updated",
        TaskEvent::StepsAdded(_) => "steps_added",
        TaskEvent::StepDefined(_) => "step_defined",
        TaskEvent::StepNoted(_) => STEP_NOTED,
        TaskEvent::StepVerified(_) => "step_verified",
        TaskEvent::StepDone(_) => "step_done",
        TaskEvent::StepReopened(_) => "step_reopened",
        TaskEvent::StepBlockSet(set) if set.blocked => "step_blocked",
        TaskEvent::StepBlockSet(_) => "step_unblocked",
        TaskEvent::StopAnswered(answered) => match answered.reply {
            StopReply::Refused => "stop_refused",
            StopReply::Allowed => "stop_allowed",
        },
        TaskEvent::StepDeleted(_) => "step_deleted",
        TaskEvent::NodeAdded(_) => "task_node_added",
        TaskEvent::NodeDefined(_) => "task_node_defined",
        TaskEvent::NodeDeleted(_) => "task_node_deleted",
        TaskEvent::EvidenceCaptured(_) => "evidence_captured",
        TaskEvent::CardsCommitted(_) => "cards_committed",
        TaskEvent::NoteCommitted(_) => "note_committed",
        TaskEvent::Restored(restored) if restored.undo => "undo_applied",
        TaskEvent::Restored(_) => "redo_applied",
        TaskEvent::CardKept(_) => "card_kept",
        TaskEvent::NoteKept(_) => "note_kept",
        TaskEvent::OperationRecorded(_) => "operation_recorded",
        TaskEvent::FocusMoved { .. } => "focus_moved",
        TaskEvent::CheckRequested(_) => "check_requested",
        TaskEvent::CheckStarted(_) => "check_started",
        TaskEvent::CheckFinished(_) => "check_finished",
        TaskEvent::ProjectAccepted(_) => "project_accepted",
        TaskEvent::ProtectedReviewed(_) => "protected_reviewed",
        TaskEvent::CheckWaiverSet(set) => match set.change {
            WaiverChange::Asked { .. } => "check_waiver_asked",
            WaiverChange::Given { .. } => "check_waived",
            WaiverChange::TakenBack => "check_waiver_taken_back",
        },
        TaskEvent::ClaimSet(set) => match set.change {
            ClaimChange::Taken { .. } => "task_claimed",
            ClaimChange::Renewed => "claim_renewed",
            ClaimChange::Released => "claim_released",
        },
        TaskEvent::OriginNoted(noted) => by_kind(noted.kind(), "plan_imported", "task_imported"),
        TaskEvent::TodosWritten(_) => "todos_written",
        TaskEvent::AnswerKept { .. } => "answer_kept",
    }
}

/// The entity an event is about and the plan whose timeline shows it; `None` for those only replay
/// sees.
pub fn subject(event: &TaskEvent) -> Option<(EntityId, PlanId)> {
    match event {
        TaskEvent::PlanCreated(created) => Some((created.id.into(), created.id)),
        TaskEvent::TaskCreated(created) => Some((created.id.into(), created.parent)),
        TaskEvent::Edited(edited) => Some((edited.subject.id, edited.subject.plan)),
        TaskEvent::TaskMoved(moved) => Some((moved.task.task.into(), moved.task.parent)),
        TaskEvent::StatusSet(set) => Some((set.subject.id, set.subject.plan)),
        TaskEvent::Deleted(deleted) => Some((deleted.id, deleted.plan)),
        TaskEvent::ChecklistSet(set) => Some((set.plan.into(), set.plan)),
        TaskEvent::ContractSet(set) => Some((set.plan.into(), set.plan)),
        TaskEvent::StepsAdded(added) => Some((added.task.task.into(), added.task.parent)),
        TaskEvent::EvidenceCaptured(captured) => Some((captured.subject.id, captured.subject.plan)),
        TaskEvent::CardsCommitted(committed) => Some((committed.id, committed.plan)),
        TaskEvent::NoteCommitted(committed) => Some((committed.id, committed.plan)),
        TaskEvent::Restored(restored) => Some((restored.subject.id, restored.subject.plan)),
        TaskEvent::OriginNoted(noted) => Some((noted.subject.id, noted.subject.plan)),
        TaskEvent::CheckWaiverSet(set) => Some((set.task.task.into(), set.task.parent)),
        TaskEvent::ClaimSet(set) => {
            (set.change != ClaimChange::Renewed).then_some((set.task.into(), set.parent))
        }
        TaskEvent::StepDefined(_)
        | TaskEvent::StepNoted(_)
        | TaskEvent::StepVerified(_)
        | TaskEvent::StepDone(_)
        | TaskEvent::StepReopened(_)
        | TaskEvent::StepBlockSet(_)
        | TaskEvent::StopAnswered(_)
        | TaskEvent::StepDeleted(_)
        | TaskEvent::NodeAdded(_)
        | TaskEvent::NodeDefined(_)
        | TaskEvent::NodeDeleted(_)
        | TaskEvent::CardKept(_)
        | TaskEvent::NoteKept(_)
        | TaskEvent::OperationRecorded(_)
        | TaskEvent::FocusMoved { .. }
        | TaskEvent::CheckRequested(_)
        | TaskEvent::CheckStarted(_)
        | TaskEvent::CheckFinished(_)
        | TaskEvent::ProjectAccepted(_)
        | TaskEvent::ProtectedReviewed(_)
        | TaskEvent::TodosWritten(_)
        | TaskEvent::AnswerKept { .. } => {
            event.step().map(|step| (step.task.task.into(), step.task.parent))
        }
    }
}

/// Path of the step or node that an event is about.
pub(super) fn path(event: &TaskEvent) -> Option<String> {
    let node = |ordinal: u32| event.step().map(|step| format!("{}.t:{ordinal}", step.path));
    match event {
        TaskEvent::StepsAdded(added) => added.parent_path.as_ref().map(ToString::to_string),
        TaskEvent::EvidenceCaptured(captured) => {
            captured.evidence.step.as_ref().map(|(_, path)| path.to_string())
        }
        TaskEvent::Restored(restored) => restored.path.as_ref().map(|path| match restored.node {
            Some(ordinal) => format!("{path}.t:{ordinal}"),
            None => path.to_string(),
        }),
        TaskEvent::CheckWaiverSet(set) => set.step.as_ref().map(|(_, path)| path.to_string()),
        TaskEvent::NodeAdded(added) => node(added.node.ordinal),
        TaskEvent::NodeDefined(defined) => node(defined.ordinal),
        TaskEvent::NodeDeleted(deleted) => node(deleted.ordinal),
        TaskEvent::PlanCreated(_)
        | TaskEvent::TaskCreated(_)
        | TaskEvent::Edited(_)
        | TaskEvent::TaskMoved(_)
        | TaskEvent::StatusSet(_)
        | TaskEvent::Deleted(_)
        | TaskEvent::ChecklistSet(_)
        | TaskEvent::ContractSet(_)
        | TaskEvent::StepDefined(_)
        | TaskEvent::StepNoted(_)
        | TaskEvent::StepVerified(_)
        | TaskEvent::StepDone(_)
        | TaskEvent::StepReopened(_)
        | TaskEvent::StepBlockSet(_)
        | TaskEvent::StopAnswered(_)
        | TaskEvent::StepDeleted(_)
        | TaskEvent::CardsCommitted(_)
        | TaskEvent::NoteCommitted(_)
        | TaskEvent::CardKept(_)
        | TaskEvent::NoteKept(_)
        | TaskEvent::OperationRecorded(_)
        | TaskEvent::FocusMoved { .. }
        | TaskEvent::CheckRequested(_)
        | TaskEvent::CheckStarted(_)
        | TaskEvent::CheckFinished(_)
        | TaskEvent::ProjectAccepted(_)
        | TaskEvent::ProtectedReviewed(_)
        | TaskEvent::ClaimSet(_)
        | TaskEvent::OriginNoted(_)
        | TaskEvent::TodosWritten(_)
        | TaskEvent::AnswerKept { .. } => event.step().map(|step| step.path.to_string()),
    }
}
