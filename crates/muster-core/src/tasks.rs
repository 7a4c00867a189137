//! The tasks room: plans, tasks, step trees and the gates that completion has to pass.
//!
//! Not here: words for people (api), storage (store), anything that waits.

pub mod command;
mod decide;
pub mod entity;
pub mod event;
pub mod evidence;
mod evolve;
pub mod fields;
pub mod gate;
pub mod history;
pub mod id;
pub mod limits;
pub mod lookup;
pub mod memory;
mod optional;
pub mod patch;
pub mod path;
pub mod rejection;
pub mod step;
pub mod templates;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod view;
pub mod wire;
pub mod wording;

pub use command::Command;
pub use decide::{lapsed_gates, open_gates};
pub use event::Event;
pub use rejection::Rejection;

use crate::{
    Address, Aggregate, Documents, Env, Index, Json, Mark, Recorded, Refusal, Subject, Timestamp,
    Unloaded,
};
use entity::{KeptAnswer, Plan, Status, Task, Workspace};
use history::{Operation, OperationState};
use id::{CardId, EntityId, EvidenceId, PlanId, TaskId};
use memory::{Card, Evidence, MemoryCounts, NoteEntry, TraceEntry};

/// The room itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tasks {}

/// Name of a document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// The workspace's own document.
    Workspace,
    /// A plan.
    Plan(PlanId),
    /// A task.
    Task(TaskId),
    /// The answer kept for an idempotency key.
    Answer(String),
    /// A record of evidence.
    Evidence(EvidenceId),
    /// A card.
    Card(CardId),
    /// An entry of the notes document, by position.
    Note(u64),
    /// A card's commit in the trace document, by position.
    Trace(u64),
    /// How much a plan's or task's memory holds.
    Memory(EntityId),
    /// An operation of the history, by position.
    Operation(u64),
}

impl From<EntityId> for Key {
    fn from(id: EntityId) -> Self {
        match id {
            EntityId::Plan(id) => Self::Plan(id),
            EntityId::Task(id) => Self::Task(id),
        }
    }
}

/// A current-state document.
#[derive(Clone, PartialEq, Debug)]
pub enum Document {
    /// A task.
    Task(Task),
    /// A plan.
    Plan(Plan),
    /// A kept answer.
    Answer(KeptAnswer),
    /// The workspace's own document.
    Workspace(Workspace),
    /// A record of evidence.
    Evidence(Evidence),
    /// A card.
    Card(Card),
    /// An entry of the notes document.
    Note(NoteEntry),
    /// A card's commit in the trace document.
    Trace(TraceEntry),
    /// How much a memory holds.
    Memory(MemoryCounts),
    /// An operation of the history.
    Operation(Operation),
}

impl Document {
    /// The plan it is, if it is one.
    pub fn as_plan(&self) -> Option<&Plan> {
        if let Self::Plan(plan) = self { Some(plan) } else { None }
    }

    /// The card it is, if it is one.
    pub fn as_card(&self) -> Option<&Card> {
        if let Self::Card(card) = self { Some(card) } else { None }
    }

    /// The fields that plans and tasks share, if it is one of them.
    pub fn meta(&self) -> Option<&entity::Meta> {
        match self {
            Self::Plan(plan) => Some(&plan.meta),
            Self::Task(task) => Some(&task.meta),
            Self::Answer(_)
            | Self::Workspace(_)
            | Self::Evidence(_)
            | Self::Card(_)
            | Self::Note(_)
            | Self::Trace(_)
            | Self::Memory(_)
            | Self::Operation(_) => None,
        }
    }

    /// The task it is, if it is one.
    pub fn as_task(&self) -> Option<&Task> {
        if let Self::Task(task) = self { Some(task) } else { None }
    }
}

impl Aggregate for Tasks {
    const STREAM: &'static str = "workspace";
    type Key = Key;
    type Document = Document;
    type Event = Event;
    type Command = Command;
    type Rejection = Rejection;
    type Brief = view::brief::TaskBrief;
    type Filter = view::context::RowFilter;

    fn address(key: &Key) -> Address {
        let (kind, name) = match key {
            Key::Workspace => ("workspace", String::new()),
            Key::Plan(id) => ("plan", id.to_string()),
            Key::Task(id) => ("task", id.to_string()),
            Key::Answer(key) => ("answer", key.clone()),
            Key::Evidence(id) => ("evidence", id.to_string()),
            Key::Card(id) => ("card", id.to_string()),
            Key::Note(seq) => ("note", seq.to_string()),
            Key::Trace(seq) => ("trace", seq.to_string()),
            Key::Memory(id) => ("memory", id.to_string()),
            Key::Operation(seq) => ("operation", seq.to_string()),
        };
        Address { kind: kind.into(), name }
    }

    fn key(address: &Address) -> Option<Key> {
        match &*address.kind {
            "workspace" => Some(Key::Workspace),
            "plan" => address.name.parse().ok().map(Key::Plan),
            "task" => address.name.parse().ok().map(Key::Task),
            "answer" => Some(Key::Answer(address.name.clone())),
            "evidence" => address.name.parse().ok().map(Key::Evidence),
            "card" => address.name.parse().ok().map(Key::Card),
            "note" => address.name.parse().ok().map(Key::Note),
            "trace" => address.name.parse().ok().map(Key::Trace),
            "memory" => address.name.parse().ok().map(Key::Memory),
            "operation" => address.name.parse().ok().map(Key::Operation),
            _ => None,
        }
    }

    fn encode(document: &Document) -> serde_json::Result<String> {
        match document {
            Document::Workspace(workspace) => serde_json::to_string(workspace),
            Document::Plan(plan) => serde_json::to_string(plan),
            Document::Task(task) => serde_json::to_string(task),
            Document::Answer(kept) => serde_json::to_string(kept),
            Document::Operation(operation) => serde_json::to_string(operation),
            Document::Memory(memory) => serde_json::to_string(memory),
            Document::Trace(trace) => serde_json::to_string(trace),
            Document::Note(note) => serde_json::to_string(note),
            Document::Card(card) => serde_json::to_string(card),
            Document::Evidence(evidence) => serde_json::to_string(evidence),
        }
    }

    fn decode(key: &Key, body: &str) -> serde_json::Result<Document> {
        match key {
            Key::Workspace => serde_json::from_str(body).map(Document::Workspace),
            Key::Plan(_) => serde_json::from_str(body).map(Document::Plan),
            Key::Task(_) => serde_json::from_str(body).map(Document::Task),
            Key::Answer(_) => serde_json::from_str(body).map(Document::Answer),
            Key::Operation(_) => serde_json::from_str(body).map(Document::Operation),
            Key::Memory(_) => serde_json::from_str(body).map(Document::Memory),
            Key::Trace(_) => serde_json::from_str(body).map(Document::Trace),
            Key::Note(_) => serde_json::from_str(body).map(Document::Note),
            Key::Card(_) => serde_json::from_str(body).map(Document::Card),
            Key::Evidence(_) => serde_json::from_str(body).map(Document::Evidence),
        }
    }

    fn index(document: &Document) -> Index {
        match document {
            Document::Workspace(_) | Document::Answer(_) | Document::Memory(_) => Index::default(),
            Document::Evidence(evidence) => child_index(evidence.entity, evidence.id.0, ""),
            Document::Card(card) => child_index(card.entity, card.last_seq, card.kind.name()),
            Document::Note(note) => child_index(note.entity, note.seq, ""),
            Document::Trace(entry) => child_index(entry.entity, entry.seq, ""),
            Document::Operation(operation) => operation_index(operation),
            Document::Plan(plan) => Index {
                ord: plan.id.0,
                status: plan.meta.status.name().into(),
                marks: Mark::Listed as u8,
                ..Index::default()
            },
            Document::Task(task) => task_index(task),
        }
    }

    fn brief(document: &Document) -> Option<Self::Brief> {
        document.as_task().map(Self::Brief::of)
    }

    fn admits(filter: &Self::Filter, document: &Document) -> bool {
        filter.admits(document)
    }

    fn event_type(event: &Event) -> &str {
        wire::event_type(event)
    }

    fn subject(event: &Event) -> Option<Subject> {
        wire::subject(event)
            .map(|(entity, plan)| Subject { entity: entity.to_string(), scope: plan.to_string() })
    }

    fn fact(event: &Event) -> Option<String> {
        wire::fact(event)
    }

    fn listed(global: u64, at: Timestamp, fact: &str) -> Option<Json> {
        wire::listed(global, at, fact)
    }

    fn relocate(event: &mut Event, place: &mut dyn FnMut(u64) -> u64) {
        event.relocate(place);
    }

    fn decide(
        documents: &Documents<Self>,
        command: &Command,
        _env: &Env,
    ) -> Result<Vec<Event>, Refusal<Self>> {
        decide::decide(documents, command)
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<Event>,
    ) -> Result<(), Unloaded<Self>> {
        evolve::evolve(documents, event)
    }
}

fn child_index(entity: EntityId, ord: u64, status: &'static str) -> Index {
    Index { ord, parent: entity.to_string(), status: status.into(), ..Index::default() }
}

/// Columns of an operation: of those that can be redone, the one undone last ranks first.
fn operation_index(operation: &Operation) -> Index {
    let age = u32::try_from(operation.undone_at).unwrap_or(u32::MAX);
    let rank = (operation.state == OperationState::Redoable).then_some(u32::MAX - age);
    let marks = Mark::Listed as u8;
    Index { rank, marks, ..child_index(operation.entity, operation.seq, operation.state.name()) }
}

/// Columns of a task: open ones are ranked as TASKS-VIEW-4 picks the next task.
fn task_index(task: &Task) -> Index {
    let tally = task.tally();
    let open = task.meta.status != Status::Done;
    let rank = u32::from(tally.waiting) * 100
        + u32::from(task.meta.status == Status::Todo) * 10
        + task.meta.priority as u32;
    let blocked = open && tally.blocker_lines > 0;
    let unconfirmed = open && tally.unconfirmed;
    Index {
        ord: task.id.0,
        parent: task.parent.to_string(),
        status: task.meta.status.name().into(),
        rank: open.then_some(rank),
        marks: Mark::Listed as u8
            + u8::from(blocked) * Mark::Blocked as u8
            + u8::from(unconfirmed) * Mark::Unconfirmed as u8,
    }
}
