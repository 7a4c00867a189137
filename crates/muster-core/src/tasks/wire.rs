//! Events as callers see them: one shape everywhere, one table of names and payloads.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Event,
    event::{Derived, MetaPatch, StepRef},
    id::{EntityId, PlanId},
};
use crate::Recorded;

/// Characters of a note that its event shows.
const NOTE_SUMMARY_CHARS: usize = 160;

/// An event in an answer.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct EventView {
    /// `evt_` and the 16-digit position.
    pub event_id: String,
    /// Position in the whole store.
    pub seq: u64,
    /// When, as text.
    pub ts: String,
    /// When, in Unix milliseconds.
    pub ts_ms: i64,
    /// Plan or task.
    pub task_id: String,
    /// The same again, for readers of either key.
    pub task: String,
    /// Step or node path.
    pub path: Option<String>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Details by type.
    pub payload: Map<String, Value>,
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
pub fn show(recorded: &Recorded<Event>) -> Option<EventView> {
    let (entity, _) = subject(&recorded.event)?;
    Some(EventView {
        event_id: event_id(recorded.global),
        seq: recorded.global,
        ts: recorded.at.rfc3339(),
        ts_ms: recorded.at.0,
        task_id: entity.to_string(),
        task: entity.to_string(),
        path: path(&recorded.event),
        kind: event_type(&recorded.event),
        payload: payload(&recorded.event),
    })
}

/// The event's name.
pub fn event_type(event: &Event) -> &'static str {
    match event {
        Event::PlanCreated(_) => "plan_created",
        Event::TaskCreated(_) => "task_created",
        Event::PlanEdited(_) => "plan_edited",
        Event::TaskEdited(_) => "task_edited",
        Event::StepsAdded(_) => "steps_added",
        Event::StepDefined(_) => "step_defined",
        Event::StepNoted(_) => "step_noted",
        Event::StepVerified(_) => "step_verified",
        Event::StepDone(_) => "step_done",
        Event::FocusMoved { .. } => "focus_moved",
        Event::AnswerKept { .. } => "answer_kept",
    }
}

/// The entity an event is about and the plan whose timeline shows it.
pub fn subject(event: &Event) -> Option<(EntityId, PlanId)> {
    match event {
        Event::PlanCreated(created) => Some((created.id.into(), created.id)),
        Event::TaskCreated(created) => Some((created.id.into(), created.parent)),
        Event::PlanEdited(edited) => Some((edited.id.into(), edited.id)),
        Event::TaskEdited(edited) => Some((edited.id.into(), edited.parent)),
        Event::StepsAdded(added) => Some((added.task.task.into(), added.task.parent)),
        Event::StepDefined(_)
        | Event::StepNoted(_)
        | Event::StepVerified(_)
        | Event::StepDone(_)
        | Event::FocusMoved { .. }
        | Event::AnswerKept { .. } => {
            event.step().map(|step| (step.task.task.into(), step.task.parent))
        }
    }
}

fn path(event: &Event) -> Option<String> {
    if let Event::StepsAdded(added) = event {
        return added.parent_path.as_ref().map(ToString::to_string);
    }
    event.step().map(|step| step.path.to_string())
}

/// What each type shows of itself, derived changes included (TASKS-STATE-6).
fn payload(event: &Event) -> Map<String, Value> {
    match event {
        Event::PlanCreated(created) => {
            object(json!({"kind": "plan", "title": created.title, "parent": null}))
        }
        Event::TaskCreated(created) => with_derived(
            json!({"kind": "task", "title": created.title, "parent": created.parent}),
            &created.derived,
        ),
        Event::PlanEdited(edited) => {
            let mut patch = patch_object(&edited.meta);
            insert_given(&mut patch, "contract", edited.contract.as_ref());
            insert_given(&mut patch, "contract_data", edited.contract_data.as_ref());
            object(json!({"kind": "plan", "patch": patch}))
        }
        Event::TaskEdited(edited) => {
            let mut patch = patch_object(&edited.meta);
            insert_given(&mut patch, "domain", edited.domain.as_ref());
            object(json!({"kind": "task", "patch": patch}))
        }
        Event::StepsAdded(added) => {
            let steps: Vec<Value> = added
                .steps
                .iter()
                .map(|step| json!({"step_id": step.id, "path": step.path}))
                .collect();
            with_derived(
                json!({"task": added.task.task, "parent_path": added.parent_path, "steps": steps}),
                &added.derived,
            )
        }
        Event::StepDefined(defined) => {
            step_payload(&defined.step, json!({"fields": defined.given}), &defined.derived)
        }
        Event::StepNoted(noted) => step_payload(
            &noted.step,
            json!({
                "note_seq": noted.note_seq,
                "summary": noted.note.chars().take(NOTE_SUMMARY_CHARS).collect::<String>(),
            }),
            &Derived::default(),
        ),
        Event::StepVerified(verified) => {
            let mut confirmed = Map::new();
            for (checkpoint, value) in &verified.confirmations {
                confirmed.insert(format!("{}_confirmed", checkpoint.name()), json!(value));
            }
            step_payload(&verified.step, Value::Object(confirmed), &verified.derived)
        }
        Event::StepDone(done) => step_payload(&done.step, json!({"forced": false}), &done.derived),
        Event::FocusMoved { .. } | Event::AnswerKept { .. } => Map::new(),
    }
}

fn step_payload(step: &StepRef, more: Value, derived: &Derived) -> Map<String, Value> {
    let mut payload = object(json!({
        "task": step.task.task, "step_id": step.step_id, "path": step.path,
    }));
    payload.extend(object(more));
    with_derived(Value::Object(payload), derived)
}

fn with_derived(payload: Value, derived: &Derived) -> Map<String, Value> {
    let mut payload = object(payload);
    if !derived.is_empty() {
        payload.insert("derived".to_owned(), json!(derived));
    }
    payload
}

fn patch_object(patch: &MetaPatch) -> Map<String, Value> {
    object(json!(patch))
}

fn insert_given<T: Serialize>(patch: &mut Map<String, Value>, name: &str, value: Option<&T>) {
    if let Some(value) = value {
        patch.insert(name.to_owned(), json!(value));
    }
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { unreachable!("payloads are objects, got {value}") };
    map
}
