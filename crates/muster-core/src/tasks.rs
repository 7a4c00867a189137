//! The tasks room: plans, tasks, step trees and the gates that completion has to pass.
//!
//! Not here: words for people (api), storage (store), anything that waits.

pub mod command;
mod decide;
pub mod entity;
pub mod event;
mod evolve;
pub mod gate;
pub mod id;
pub mod limits;
pub mod lookup;
pub mod path;
pub mod rejection;
pub mod step;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod view;
pub mod wire;
pub mod wording;

pub use command::Command;
pub use event::Event;
pub use rejection::Rejection;

use crate::{
    Address, Aggregate, Documents, Env, Index, Mark, Recorded, Refusal, Subject, Unloaded,
};
use entity::{KeptAnswer, Plan, Status, Task, Workspace};
use id::{EntityId, PlanId, TaskId};

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
}

impl Document {
    /// The plan it is, if it is one.
    pub fn as_plan(&self) -> Option<&Plan> {
        if let Self::Plan(plan) = self { Some(plan) } else { None }
    }

    /// The fields that plans and tasks share, if it is one of them.
    pub fn meta(&self) -> Option<&entity::Meta> {
        match self {
            Self::Plan(plan) => Some(&plan.meta),
            Self::Task(task) => Some(&task.meta),
            Self::Answer(_) | Self::Workspace(_) => None,
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
    type Filter = view::context::RowFilter;

    fn address(key: &Key) -> Address {
        let (kind, name) = match key {
            Key::Workspace => ("workspace", String::new()),
            Key::Plan(id) => ("plan", id.to_string()),
            Key::Task(id) => ("task", id.to_string()),
            Key::Answer(key) => ("answer", key.clone()),
        };
        Address { kind: kind.into(), name }
    }

    fn key(address: &Address) -> Option<Key> {
        match &*address.kind {
            "workspace" => Some(Key::Workspace),
            "plan" => address.name.parse().ok().map(Key::Plan),
            "task" => address.name.parse().ok().map(Key::Task),
            "answer" => Some(Key::Answer(address.name.clone())),
            _ => None,
        }
    }

    fn encode(document: &Document) -> serde_json::Result<String> {
        match document {
            Document::Workspace(workspace) => serde_json::to_string(workspace),
            Document::Plan(plan) => serde_json::to_string(plan),
            Document::Task(task) => serde_json::to_string(task),
            Document::Answer(kept) => serde_json::to_string(kept),
        }
    }

    fn decode(key: &Key, body: &str) -> serde_json::Result<Document> {
        match key {
            Key::Workspace => serde_json::from_str(body).map(Document::Workspace),
            Key::Plan(_) => serde_json::from_str(body).map(Document::Plan),
            Key::Task(_) => serde_json::from_str(body).map(Document::Task),
            Key::Answer(_) => serde_json::from_str(body).map(Document::Answer),
        }
    }

    fn index(document: &Document) -> Index {
        match document {
            Document::Workspace(_) | Document::Answer(_) => Index::default(),
            Document::Plan(plan) => {
                Index { ord: plan.id.0, status: plan.meta.status.name().into(), ..Index::default() }
            }
            Document::Task(task) => task_index(task),
        }
    }

    fn admits(filter: &Self::Filter, document: &Document) -> bool {
        filter.admits(document)
    }

    fn event_type(event: &Event) -> &'static str {
        wire::event_type(event)
    }

    fn subject(event: &Event) -> Option<Subject> {
        wire::subject(event)
            .map(|(entity, plan)| Subject { entity: entity.to_string(), scope: plan.to_string() })
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
        marks: u8::from(blocked) * Mark::Blocked as u8
            + u8::from(unconfirmed) * Mark::Unconfirmed as u8,
    }
}
