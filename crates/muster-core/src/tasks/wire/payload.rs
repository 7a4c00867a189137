//! What each type of event shows of itself, derived changes included (TASKS-STATE-6, TASKS section
//! 6). Written straight to text: lists of events are long, and payloads are not read in between.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};

use crate::{
    Json,
    tasks::{
        TaskEvent,
        event::{
            CardsCommitted, CheckWaiverSet, ChecklistSet, ClaimChange, Derived, EditKind,
            EvidenceCaptured, FieldsEdited, NoteCommitted, OriginNoted, Restored, StepDone,
            StepRef, StepVerified, StepsAdded, TaskMoved, WaiverChange,
        },
        fields,
        id::{EntityId, EntityKind},
        step::links,
    },
    text,
};

/// Characters of a note that its event shows.
const NOTE_SUMMARY_CHARS: usize = 160;

/// The payload of an event.
pub(super) fn of(event: &TaskEvent) -> Json {
    Json::of(&Payload(event))
}

struct Payload<'a>(&'a TaskEvent);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        write(&mut map, self.0)?;
        map.end()
    }
}

fn write<M: SerializeMap>(map: &mut M, event: &TaskEvent) -> Result<(), M::Error> {
    match event {
        TaskEvent::PlanCreated(created) => {
            map.serialize_entry("kind", "plan")?;
            map.serialize_entry("title", &created.title)?;
            map.serialize_entry("parent", &())
        }
        TaskEvent::TaskCreated(created) => {
            map.serialize_entry("kind", "task")?;
            map.serialize_entry("title", &created.title)?;
            map.serialize_entry("parent", &created.parent)?;
            derived(map, &created.derived)
        }
        TaskEvent::Edited(edited) => of_edited(map, edited),
        TaskEvent::TaskMoved(moved) => of_move(map, moved),
        TaskEvent::StatusSet(set) => {
            map.serialize_entry("status", &set.moved.to)?;
            map.serialize_entry("from", &set.moved.from)?;
            derived(map, &set.derived)
        }
        TaskEvent::Deleted(deleted) => {
            map.serialize_entry("task", &deleted.id)?;
            map.serialize_entry("kind", &deleted.id.kind())?;
            map.serialize_entry("title", &deleted.title)
        }
        TaskEvent::ChecklistSet(set) => of_checklist(map, set),
        TaskEvent::ContractSet(set) => {
            map.serialize_entry("clear", &set.clear)?;
            map.serialize_entry("contract", &set.contract)?;
            map.serialize_entry("contract_data", &set.contract_data)
        }
        TaskEvent::StepsAdded(added) => of_added(map, added),
        TaskEvent::CheckWaiverSet(set) => of_waiver(map, set),
        TaskEvent::ClaimSet(set) => match set.change {
            ClaimChange::Taken { lease_seconds, .. } => {
                map.serialize_entry("lease_seconds", &lease_seconds)
            }
            ClaimChange::Renewed | ClaimChange::Released => Ok(()),
        },
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
        | TaskEvent::NodeDeleted(_) => of_step(map, event),
        TaskEvent::EvidenceCaptured(captured) => of_evidence(map, captured),
        TaskEvent::CardsCommitted(committed) => of_cards(map, committed),
        TaskEvent::NoteCommitted(committed) => of_note(map, committed),
        TaskEvent::OriginNoted(noted) => of_origin(map, noted),
        TaskEvent::Restored(restored) => of_restored(map, event, restored),
        TaskEvent::CardKept(_)
        | TaskEvent::NoteKept(_)
        | TaskEvent::OperationRecorded(_)
        | TaskEvent::FocusMoved { .. }
        | TaskEvent::CheckRequested(_)
        | TaskEvent::CheckStarted(_)
        | TaskEvent::CheckFinished(_)
        | TaskEvent::ProjectAccepted(_)
        | TaskEvent::ProtectedReviewed(_)
        | TaskEvent::TodosWritten(_)
        | TaskEvent::AnswerKept { .. } => Ok(()),
    }
}

fn of_move<M: SerializeMap>(map: &mut M, moved: &TaskMoved) -> Result<(), M::Error> {
    map.serialize_entry("from", &moved.from)?;
    map.serialize_entry("plan", &moved.task.parent)?;
    derived(map, &moved.derived)
}

fn of_origin<M: SerializeMap>(map: &mut M, noted: &OriginNoted) -> Result<(), M::Error> {
    map.serialize_entry("form", &noted.origin.form)?;
    map.serialize_entry("source", &noted.origin.source)?;
    map.serialize_entry("id", &noted.origin.id)
}

fn of_note<M: SerializeMap>(map: &mut M, committed: &NoteCommitted) -> Result<(), M::Error> {
    map.serialize_entry("doc", "notes")?;
    map.serialize_entry("seq", &committed.seq)?;
    map.serialize_entry("title", &committed.title)
}

/// For an event about one step or node: which one, then its own fields.
fn of_step<M: SerializeMap>(map: &mut M, event: &TaskEvent) -> Result<(), M::Error> {
    if let TaskEvent::StepDefined(defined) = event {
        step(map, &defined.step)?;
        map.serialize_entry("fields", &defined.given)?;
        derived(map, &defined.derived)
    } else if let TaskEvent::StepNoted(noted) = event {
        step(map, &noted.step)?;
        map.serialize_entry("note_seq", &noted.note_seq)?;
        map.serialize_entry("summary", text::start(&noted.note, NOTE_SUMMARY_CHARS))
    } else if let TaskEvent::StepVerified(verified) = event {
        step(map, &verified.step)?;
        confirmations(map, verified)?;
        derived(map, &verified.derived)
    } else if let TaskEvent::StepDone(done) = event {
        step(map, &done.step)?;
        closing(map, done)?;
        derived(map, &done.derived)
    } else if let TaskEvent::StepReopened(reopened) = event {
        step(map, &reopened.step)?;
        map.serialize_entry("force", &false)?;
        derived(map, &reopened.derived)
    } else if let TaskEvent::StepBlockSet(set) = event {
        step(map, &set.step)?;
        map.serialize_entry("blocked", &set.blocked)?;
        map.serialize_entry("reason", &set.reason)
    } else if let TaskEvent::StopAnswered(answered) = event {
        step(map, &answered.step)?;
        map.serialize_entry("checks", &answered.checks)
    } else if let TaskEvent::StepDeleted(deleted) = event {
        step(map, &deleted.step)?;
        map.serialize_entry("deleted_steps", &deleted.deleted_steps)?;
        derived(map, &deleted.derived)
    } else {
        of_node(map, event)
    }
}

fn of_node<M: SerializeMap>(map: &mut M, event: &TaskEvent) -> Result<(), M::Error> {
    let (step, id) = if let TaskEvent::NodeAdded(added) = event {
        (&added.step, added.node.id)
    } else if let TaskEvent::NodeDefined(defined) = event {
        (&defined.step, defined.node_id)
    } else if let TaskEvent::NodeDeleted(deleted) = event {
        (&deleted.step, deleted.node_id)
    } else {
        return Ok(());
    };
    map.serialize_entry("task", &step.task.task)?;
    map.serialize_entry("node_id", &id)?;
    map.serialize_entry("path", &super::path(event))?;
    if let TaskEvent::NodeAdded(added) = event {
        map.serialize_entry("parent_path", &step.path)?;
        derived(map, &added.derived)
    } else if let TaskEvent::NodeDefined(defined) = event {
        map.serialize_entry("fields", &defined.given)?;
        derived(map, &defined.derived)
    } else {
        Ok(())
    }
}

fn step<M: SerializeMap>(map: &mut M, step: &StepRef) -> Result<(), M::Error> {
    map.serialize_entry("task", &step.task.task)?;
    map.serialize_entry("step_id", &step.step_id)?;
    map.serialize_entry("path", &step.path)
}

fn confirmations<M: SerializeMap>(map: &mut M, verified: &StepVerified) -> Result<(), M::Error> {
    for (checkpoint, value) in &verified.confirmations {
        map.serialize_entry(&format!("{}_confirmed", checkpoint.name()), value)?;
    }
    Ok(())
}

fn closing<M: SerializeMap>(map: &mut M, done: &StepDone) -> Result<(), M::Error> {
    map.serialize_entry("forced", &done.waiver.is_some())?;
    if let Some(waiver) = &done.waiver {
        map.serialize_entry("reason", &waiver.reason)?;
        map.serialize_entry("skipped", &waiver.skipped)?;
    }
    Ok(())
}

fn of_edited<M: SerializeMap>(map: &mut M, edited: &FieldsEdited) -> Result<(), M::Error> {
    #[derive(Serialize)]
    struct Patch<'a, T: Serialize, U: Serialize> {
        #[serde(flatten)]
        meta: &'a T,
        #[serde(flatten)]
        own: &'a U,
    }
    let kind = edited.subject.id.kind();
    match &edited.manner {
        EditKind::Edit => {
            map.serialize_entry("kind", &kind)?;
            map.serialize_entry("patch", &Patch { meta: &edited.meta, own: &edited.own })
        }
        EditKind::Patch(fields) => {
            map.serialize_entry("task", &edited.subject.id)?;
            map.serialize_entry("kind", &kind)?;
            map.serialize_entry("fields", fields)
        }
    }
}

fn of_checklist<M: SerializeMap>(map: &mut M, set: &ChecklistSet) -> Result<(), M::Error> {
    let given = |name: &str| set.given.iter().any(|given| given == name);
    if given("steps") {
        map.serialize_entry("steps", &set.checklist.steps)?;
    }
    map.serialize_entry("current", &set.checklist.current)?;
    if given("doc") {
        map.serialize_entry("doc", &set.checklist.doc)?;
    }
    if given("advance") {
        map.serialize_entry("advance", &true)?;
    }
    Ok(())
}

fn of_added<M: SerializeMap>(map: &mut M, added: &StepsAdded) -> Result<(), M::Error> {
    struct Steps<'a>(&'a StepsAdded);
    impl Serialize for Steps<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut steps = serializer.serialize_seq(Some(self.0.steps.len()))?;
            for step in &self.0.steps {
                steps.serialize_element(&StepRow { step_id: &step.id, path: &step.path })?;
            }
            steps.end()
        }
    }
    map.serialize_entry("task", &added.task.task)?;
    map.serialize_entry("parent_path", &added.parent_path)?;
    map.serialize_entry("steps", &Steps(added))?;
    derived(map, &added.derived)
}

#[derive(Serialize)]
struct StepRow<I: Serialize, P: Serialize> {
    step_id: I,
    path: P,
}

fn of_evidence<M: SerializeMap>(map: &mut M, captured: &EvidenceCaptured) -> Result<(), M::Error> {
    let evidence = &captured.evidence;
    let (kind, id, path) = match (&evidence.step, captured.subject.id) {
        (Some((id, path)), _) => ("step", id.to_string(), Some(path)),
        (None, EntityId::Plan(id)) => (EntityKind::Plan.name(), id.to_string(), None),
        (None, EntityId::Task(id)) => (EntityKind::Task.name(), id.to_string(), None),
    };
    map.serialize_entry("task", &captured.subject.id)?;
    map.serialize_entry("entity_kind", kind)?;
    map.serialize_entry("entity_id", &id)?;
    map.serialize_entry("path", &path)?;
    map.serialize_entry("evidence_id", &evidence.id)?;
    map.serialize_entry("artifacts", &evidence.items.len())?;
    map.serialize_entry("checks", &evidence.checks.len())?;
    map.serialize_entry("attachments", &evidence.attachments.len())?;
    map.serialize_entry("checkpoints", &links(&evidence.checkpoints))
}

fn of_cards<M: SerializeMap>(map: &mut M, committed: &CardsCommitted) -> Result<(), M::Error> {
    #[derive(Serialize)]
    struct CardRow<I: Serialize, K: Serialize> {
        card_id: I,
        #[serde(rename = "type")]
        kind: K,
    }
    let rows = committed.cards.iter().map(|(card_id, kind)| CardRow { card_id, kind });
    map.serialize_entry("cards", &rows.collect::<Vec<_>>())?;
    map.serialize_entry("decision_note_seq", &committed.decision_note_seq)
}

fn of_restored<M: SerializeMap>(
    map: &mut M,
    event: &TaskEvent,
    restored: &Restored,
) -> Result<(), M::Error> {
    map.serialize_entry("op_seq", &restored.op_seq)?;
    map.serialize_entry("intent", &restored.intent)?;
    map.serialize_entry("undo", &restored.undo)?;
    map.serialize_entry("task", &restored.subject.id)?;
    map.serialize_entry("path", &super::path(event))?;
    let fields = restored.fields.keys().filter(|name| fields::is_shown(name));
    map.serialize_entry("fields", &fields.collect::<Vec<_>>())?;
    if !restored.steps.is_empty() {
        map.serialize_entry("steps", &restored.steps)?;
    }
    if !restored.entities.is_empty() {
        map.serialize_entry("entities", &restored.entities)?;
    }
    derived(map, &restored.derived)
}

fn derived<M: SerializeMap>(map: &mut M, derived: &Derived) -> Result<(), M::Error> {
    if derived.is_empty() { Ok(()) } else { map.serialize_entry("derived", derived) }
}

fn of_waiver<M: SerializeMap>(map: &mut M, set: &CheckWaiverSet) -> Result<(), M::Error> {
    map.serialize_entry("check", &set.check)?;
    match &set.change {
        WaiverChange::Asked { reason } => map.serialize_entry("reason", reason),
        WaiverChange::Given { reason, scope } => {
            map.serialize_entry("reason", reason)?;
            map.serialize_entry("for_good", &scope.is_none())
        }
        WaiverChange::TakenBack => Ok(()),
    }
}
