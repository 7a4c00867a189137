//! What each type of event shows of itself, derived changes included (TASKS-STATE-6, TASKS section
//! 6).

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::tasks::{
    Event,
    event::{
        CardsCommitted, ChecklistSet, Derived, Edited, EvidenceCaptured, Manner, Restored,
        StepDone, StepRef, StepVerified, StepsAdded,
    },
    id::{EntityId, EntityKind},
    step::{Checkpoint, links},
};

/// Characters of a note that its event shows.
const NOTE_SUMMARY_CHARS: usize = 160;

/// The payload of an event.
pub(super) fn of(event: &Event) -> Map<String, Value> {
    match event {
        Event::PlanCreated(created) => {
            object(json!({"kind": "plan", "title": created.title, "parent": null}))
        }
        Event::TaskCreated(created) => with_derived(
            json!({"kind": "task", "title": created.title, "parent": created.parent}),
            &created.derived,
        ),
        Event::Edited(edited) => of_edited(edited),
        Event::StatusSet(set) => {
            with_derived(json!({"status": set.moved.to, "from": set.moved.from}), &set.derived)
        }
        Event::Deleted(deleted) => object(json!({
            "task": deleted.id, "kind": deleted.id.kind(), "title": deleted.title,
        })),
        Event::ChecklistSet(set) => of_checklist(set),
        Event::ContractSet(set) => object(json!({
            "clear": set.clear, "contract": set.contract, "contract_data": set.contract_data,
        })),
        Event::StepsAdded(added) => of_added(added),
        Event::StepDefined(defined) => {
            of_step(&defined.step, json!({"fields": defined.given}), &defined.derived)
        }
        Event::StepNoted(noted) => {
            let summary: String = noted.note.chars().take(NOTE_SUMMARY_CHARS).collect();
            let more = json!({"note_seq": noted.note_seq, "summary": summary});
            of_step(&noted.step, more, &Derived::default())
        }
        Event::StepVerified(verified) => {
            of_step(&verified.step, confirmations(verified), &verified.derived)
        }
        Event::StepDone(done) => of_step(&done.step, closing(done), &done.derived),
        Event::StepReopened(reopened) => {
            of_step(&reopened.step, json!({"force": false}), &reopened.derived)
        }
        Event::StepBlockSet(set) => {
            let more = json!({"blocked": set.blocked, "reason": set.reason});
            of_step(&set.step, more, &Derived::default())
        }
        Event::StepDeleted(deleted) => {
            let more = json!({"deleted_steps": deleted.deleted_steps});
            of_step(&deleted.step, more, &deleted.derived)
        }
        Event::NodeAdded(_) | Event::NodeDefined(_) | Event::NodeDeleted(_) => of_node(event),
        Event::EvidenceCaptured(captured) => of_evidence(captured),
        Event::CardsCommitted(committed) => of_cards(committed),
        Event::NoteCommitted(committed) => {
            object(json!({"doc": "notes", "seq": committed.seq, "title": committed.title}))
        }
        Event::Restored(restored) => of_restored(restored),
        Event::CardKept(_)
        | Event::NoteKept(_)
        | Event::OperationRecorded(_)
        | Event::FocusMoved { .. }
        | Event::AnswerKept { .. } => Map::new(),
    }
}

fn of_step(step: &StepRef, more: Value, derived: &Derived) -> Map<String, Value> {
    let mut payload = object(json!({
        "task": step.task.task, "step_id": step.step_id, "path": step.path,
    }));
    payload.extend(object(more));
    with_derived(Value::Object(payload), derived)
}

fn of_node(event: &Event) -> Map<String, Value> {
    let nothing = Derived::default();
    let (step, id, more, derived) = if let Event::NodeAdded(added) = event {
        let more = json!({"parent_path": added.step.path});
        (&added.step, added.node.id, more, &added.derived)
    } else if let Event::NodeDefined(defined) = event {
        (&defined.step, defined.node_id, json!({"fields": defined.given}), &defined.derived)
    } else if let Event::NodeDeleted(deleted) = event {
        (&deleted.step, deleted.node_id, json!({}), &nothing)
    } else {
        return Map::new();
    };
    let path = super::path(event);
    let mut payload = object(json!({"task": step.task.task, "node_id": id, "path": path}));
    payload.extend(object(more));
    with_derived(Value::Object(payload), derived)
}

fn confirmations(verified: &StepVerified) -> Value {
    let entry = |(checkpoint, value): &(Checkpoint, bool)| {
        (format!("{}_confirmed", checkpoint.name()), json!(value))
    };
    Value::Object(verified.confirmations.iter().map(entry).collect())
}

fn closing(done: &StepDone) -> Value {
    match &done.waiver {
        Some(waiver) => {
            json!({"forced": true, "reason": waiver.reason, "skipped": waiver.skipped})
        }
        None => json!({"forced": false}),
    }
}

fn of_edited(edited: &Edited) -> Map<String, Value> {
    let kind = edited.subject.id.kind();
    match &edited.manner {
        Manner::Edit => {
            let mut patch = object(json!(edited.meta));
            patch.extend(object(json!(edited.own)));
            object(json!({"kind": kind, "patch": patch}))
        }
        Manner::Patch(fields) => {
            object(json!({"task": edited.subject.id, "kind": kind, "fields": fields}))
        }
    }
}

fn of_checklist(set: &ChecklistSet) -> Map<String, Value> {
    let given = |name: &str| set.given.iter().any(|given| given == name);
    let mut payload = Map::new();
    insert_if(&mut payload, "steps", given("steps").then_some(&set.checklist.steps));
    insert_if(&mut payload, "current", Some(&set.checklist.current));
    insert_if(&mut payload, "doc", given("doc").then_some(&set.checklist.doc));
    insert_if(&mut payload, "advance", given("advance").then_some(&true));
    payload
}

fn of_added(added: &StepsAdded) -> Map<String, Value> {
    let steps: Vec<Value> =
        added.steps.iter().map(|step| json!({"step_id": step.id, "path": step.path})).collect();
    with_derived(
        json!({"task": added.task.task, "parent_path": added.parent_path, "steps": steps}),
        &added.derived,
    )
}

fn of_evidence(captured: &EvidenceCaptured) -> Map<String, Value> {
    let evidence = &captured.evidence;
    let (kind, id, path) = match (&evidence.step, captured.subject.id) {
        (Some((id, path)), _) => ("step", id.to_string(), Some(path)),
        (None, EntityId::Plan(id)) => (EntityKind::Plan.name(), id.to_string(), None),
        (None, EntityId::Task(id)) => (EntityKind::Task.name(), id.to_string(), None),
    };
    object(json!({
        "task": captured.subject.id, "entity_kind": kind, "entity_id": id, "path": path,
        "evidence_id": evidence.id, "artifacts": evidence.items.len(),
        "checks": evidence.checks.len(), "attachments": evidence.attachments.len(),
        "checkpoints": links(&evidence.checkpoints),
    }))
}

fn of_cards(committed: &CardsCommitted) -> Map<String, Value> {
    let cards: Vec<Value> =
        committed.cards.iter().map(|(id, kind)| json!({"card_id": id, "type": kind})).collect();
    object(json!({"cards": cards, "decision_note_seq": committed.decision_note_seq}))
}

fn of_restored(restored: &Restored) -> Map<String, Value> {
    let fields: Vec<&String> = restored.fields.keys().collect();
    with_derived(
        json!({
            "op_seq": restored.op_seq, "intent": restored.intent, "undo": restored.undo,
            "task": restored.subject.id, "path": super::path(&Event::Restored(restored.clone())),
            "fields": fields,
        }),
        &restored.derived,
    )
}

fn with_derived(payload: Value, derived: &Derived) -> Map<String, Value> {
    let mut payload = object(payload);
    if !derived.is_empty() {
        payload.insert("derived".to_owned(), json!(derived));
    }
    payload
}

fn insert_if<T: Serialize>(payload: &mut Map<String, Value>, name: &str, value: Option<&T>) {
    if let Some(value) = value {
        payload.insert(name.to_owned(), json!(value));
    }
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { unreachable!("payloads are objects, got {value}") };
    map
}
