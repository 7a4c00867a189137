//! The tasks room: plans, tasks, step trees and the gates that completion has to pass.
//!
//! Not here: messages for people (api), storage (store), anything that blocks.

pub mod changes;
pub mod check_gate;
pub mod claim;
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
mod index;
pub mod limits;
pub mod lookup;
pub mod memory;
mod optional;
pub mod origin;
pub mod patch;
pub mod path;
mod pieces;
pub mod rejection;
pub mod step;
pub mod stop;
pub mod strings;
pub mod templates;
#[cfg(test)]
mod tests;
pub mod todos;
pub mod tree;
pub mod view;
mod waiting;
pub mod wire;
pub mod wording;

pub use command::TaskCommand;
pub use decide::{lapsed_gates, open_gates};
pub use event::TaskEvent;
pub(crate) use index::WAITING_RANK;
pub use rejection::TaskRejection;

use std::borrow::Cow;

use crate::{
    Address, Aggregate, Author, Documents, Draft, EventStamp, EventStrings, Index, Json, Recorded,
    Subject, TextCondition, Unloaded, WorkRefusal,
    checks::{
        ledger::CheckLedger,
        project::WorkspaceProjects,
        protected::ProtectedBaseline,
        record::{CHECK_RUN_KIND, CheckRecord, CheckTests},
    },
};
use entity::{Plan, Task, TaskAnswer, Workspace};
use history::HistoryOperation;
use id::{CardId, CheckRunId, EntityId, EvidenceId, PlanId, StepId, TaskId};
use memory::{Card, Evidence, NoteEntry, TraceEntry};
use todos::StepTodos;

/// The room itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TaskAggregate {}

pub type TaskDocs = Documents<TaskAggregate>;
pub type TaskDraft<'a> = Draft<'a, TaskAggregate>;
/// A result that may need more documents first.
pub type TaskLookup<T> = Result<T, Unloaded<TaskAggregate>>;
/// The same where a rule may also say no.
pub type TaskResult<T> = Result<T, WorkRefusal<TaskAggregate>>;

/// Name of a document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TaskKey {
    /// The workspace's own document.
    Workspace,
    Plan(PlanId),
    Task(TaskId),
    /// The response kept for an idempotency key.
    Answer(String),
    /// A record of evidence.
    Evidence(EvidenceId),
    Card(CardId),
    /// An entry of the notes document that is not a note on a step, by position.
    Note(u64),
    /// A card's commit in the trace document, by position.
    Trace(u64),
    /// An operation of the history, by position.
    Operation(u64),
    CheckRun(CheckRunId),
    /// The tests of a run of a check.
    CheckTests(CheckRunId),
    /// The verdicts of a check, by its name.
    CheckLedger(String),
    /// The accepted projects.
    Projects,
    /// The protected files of a directory as a person last saw them.
    Protected(String),
    /// Where the todo items of a step are.
    StepTodos(StepId),
}

impl From<EntityId> for TaskKey {
    fn from(id: EntityId) -> Self {
        match id {
            EntityId::Plan(id) => Self::Plan(id),
            EntityId::Task(id) => Self::Task(id),
        }
    }
}

/// A current-state document.
#[derive(Clone, PartialEq, Debug)]
pub enum TaskDocument {
    Task(Task),
    Plan(Plan),
    /// A kept answer.
    Answer(TaskAnswer),
    /// The workspace's own document.
    Workspace(Workspace),
    /// A record of evidence.
    Evidence(Evidence),
    Card(Card),
    /// An entry of the notes document.
    Note(NoteEntry),
    /// A card's commit in the trace document.
    Trace(TraceEntry),
    Operation(HistoryOperation),
    CheckRun(Box<CheckRecord>),
    /// The tests of a run of a check.
    CheckTests(CheckTests),
    /// The verdicts of a check.
    CheckLedger(CheckLedger),
    Projects(WorkspaceProjects),
    /// Protected files as a person last saw them.
    Protected(Box<ProtectedBaseline>),
    /// Where the todo items of a step are.
    StepTodos(StepTodos),
}

impl TaskDocument {
    /// The plan it is, if it is one.
    pub fn as_plan(&self) -> Option<&Plan> {
        if let Self::Plan(plan) = self { Some(plan) } else { None }
    }

    /// The card it is, if it is one.
    pub fn as_card(&self) -> Option<&Card> {
        if let Self::Card(card) = self { Some(card) } else { None }
    }

    /// The entry of the notes it is, if it is one.
    pub fn as_note(&self) -> Option<&NoteEntry> {
        if let Self::Note(note) = self { Some(note) } else { None }
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
            | Self::Operation(_)
            | Self::CheckRun(_)
            | Self::CheckTests(_)
            | Self::CheckLedger(_)
            | Self::Projects(_)
            | Self::Protected(_)
            | Self::StepTodos(_) => None,
        }
    }

    /// The run of a check it is, if it is one.
    pub fn as_check_run(&self) -> Option<&CheckRecord> {
        if let Self::CheckRun(record) = self { Some(record) } else { None }
    }

    /// The task it is, if it is one.
    pub fn as_task(&self) -> Option<&Task> {
        if let Self::Task(task) = self { Some(task) } else { None }
    }
}

impl Aggregate for TaskAggregate {
    const STREAM: &'static str = "workspace";
    const SEARCHED_KINDS: &'static [&'static str] = &["plan", "task"];
    type Key = TaskKey;
    type Document = TaskDocument;
    type Event = TaskEvent;
    type Applied = ();
    type Command = TaskCommand;
    type Rejection = TaskRejection;
    type Brief = view::brief::TaskBrief;
    type Filter = view::context::RowFilter;

    fn address(key: &TaskKey) -> Address {
        let (kind, name) = match key {
            TaskKey::Workspace => ("workspace", String::new()),
            TaskKey::Plan(id) => ("plan", id.to_string()),
            TaskKey::Task(id) => ("task", id.to_string()),
            TaskKey::Answer(key) => ("answer", key.clone()),
            TaskKey::Evidence(id) => ("evidence", id.to_string()),
            TaskKey::Card(id) => ("card", id.to_string()),
            TaskKey::Note(seq) => ("note", seq.to_string()),
            TaskKey::Trace(seq) => ("trace", seq.to_string()),
            TaskKey::Operation(seq) => ("operation", seq.to_string()),
            TaskKey::CheckRun(run) => (CHECK_RUN_KIND, run.to_string()),
            TaskKey::CheckTests(run) => ("check_tests", run.to_string()),
            TaskKey::CheckLedger(check) => ("check_ledger", check.clone()),
            TaskKey::Projects => ("projects", String::new()),
            TaskKey::Protected(directory) => ("protected", directory.clone()),
            TaskKey::StepTodos(id) => ("step_todos", id.to_string()),
        };
        Address { kind: kind.into(), name }
    }

    fn key(address: &Address) -> Option<TaskKey> {
        match &*address.kind {
            "workspace" => Some(TaskKey::Workspace),
            "plan" => address.name.parse().ok().map(TaskKey::Plan),
            "task" => address.name.parse().ok().map(TaskKey::Task),
            "answer" => Some(TaskKey::Answer(address.name.clone())),
            "evidence" => address.name.parse().ok().map(TaskKey::Evidence),
            "card" => address.name.parse().ok().map(TaskKey::Card),
            "note" => address.name.parse().ok().map(TaskKey::Note),
            "trace" => address.name.parse().ok().map(TaskKey::Trace),
            "operation" => address.name.parse().ok().map(TaskKey::Operation),
            CHECK_RUN_KIND => address.name.parse().ok().map(TaskKey::CheckRun),
            "check_tests" => address.name.parse().ok().map(TaskKey::CheckTests),
            "check_ledger" => Some(TaskKey::CheckLedger(address.name.clone())),
            "projects" => Some(TaskKey::Projects),
            "protected" => Some(TaskKey::Protected(address.name.clone())),
            "step_todos" => address.name.parse().ok().map(TaskKey::StepTodos),
            _ => None,
        }
    }

    fn encode(document: &TaskDocument) -> serde_json::Result<String> {
        match document {
            TaskDocument::Workspace(workspace) => serde_json::to_string(workspace),
            TaskDocument::Plan(plan) => serde_json::to_string(plan),
            TaskDocument::Task(task) => serde_json::to_string(task),
            TaskDocument::Answer(kept) => serde_json::to_string(kept),
            TaskDocument::Operation(operation) => serde_json::to_string(operation),
            TaskDocument::Trace(trace) => serde_json::to_string(trace),
            TaskDocument::Note(note) => serde_json::to_string(note),
            TaskDocument::Card(card) => serde_json::to_string(card),
            TaskDocument::Evidence(evidence) => serde_json::to_string(evidence),
            TaskDocument::CheckRun(record) => serde_json::to_string(record),
            TaskDocument::CheckTests(tests) => serde_json::to_string(tests),
            TaskDocument::CheckLedger(ledger) => serde_json::to_string(ledger),
            TaskDocument::Projects(projects) => serde_json::to_string(projects),
            TaskDocument::Protected(baseline) => serde_json::to_string(baseline),
            TaskDocument::StepTodos(todos) => serde_json::to_string(todos),
        }
    }

    fn pieces(document: &TaskDocument) -> usize {
        document.as_task().map_or(1, pieces::count)
    }

    fn encode_pieces(
        document: &TaskDocument,
        before: Option<&TaskDocument>,
    ) -> serde_json::Result<Vec<Option<String>>> {
        match document.as_task().filter(|task| pieces::count(task) > 1) {
            Some(task) => pieces::encode(task, before.and_then(TaskDocument::as_task)),
            None => Ok(vec![Some(Self::encode(document)?)]),
        }
    }

    fn decode(key: &TaskKey, body: &str) -> serde_json::Result<TaskDocument> {
        match key {
            TaskKey::Workspace => serde_json::from_str(body).map(TaskDocument::Workspace),
            TaskKey::Plan(_) => serde_json::from_str(body).map(TaskDocument::Plan),
            TaskKey::Task(_) => serde_json::from_str(body).map(TaskDocument::Task),
            TaskKey::Answer(_) => serde_json::from_str(body).map(TaskDocument::Answer),
            TaskKey::Operation(_) => serde_json::from_str(body)
                .map(HistoryOperation::in_current_form)
                .map(TaskDocument::Operation),
            TaskKey::Trace(_) => serde_json::from_str(body).map(TaskDocument::Trace),
            TaskKey::Note(_) => serde_json::from_str(body).map(TaskDocument::Note),
            TaskKey::Card(_) => serde_json::from_str(body).map(TaskDocument::Card),
            TaskKey::Evidence(_) => serde_json::from_str(body).map(TaskDocument::Evidence),
            TaskKey::CheckRun(_) => serde_json::from_str(body).map(TaskDocument::CheckRun),
            TaskKey::CheckTests(_) => serde_json::from_str(body).map(TaskDocument::CheckTests),
            TaskKey::CheckLedger(_) => serde_json::from_str(body).map(TaskDocument::CheckLedger),
            TaskKey::Projects => serde_json::from_str(body).map(TaskDocument::Projects),
            TaskKey::Protected(_) => serde_json::from_str(body).map(TaskDocument::Protected),
            TaskKey::StepTodos(_) => serde_json::from_str(body).map(TaskDocument::StepTodos),
        }
    }

    fn index(document: &TaskDocument) -> Index {
        index::document_index(document)
    }

    fn brief(document: &TaskDocument) -> Option<Self::Brief> {
        document.as_task().map(Self::Brief::of)
    }

    fn searched(document: &TaskDocument) -> Vec<Cow<'_, str>> {
        view::context::searched(document)
    }

    fn sought(filter: &Self::Filter) -> Option<TextCondition<'_>> {
        filter.sought()
    }

    fn admits(filter: &Self::Filter, document: &TaskDocument) -> bool {
        filter.admits(document)
    }

    fn has_strings(kind: &str) -> bool {
        strings::has_strings(kind)
    }

    fn strings(event: &TaskEvent) -> Option<EventStrings<'_>> {
        strings::strings(event)
    }

    fn event_type(event: &TaskEvent) -> &str {
        wire::event_type(event)
    }

    fn subject(event: &TaskEvent) -> Option<Subject> {
        wire::subject(event)
            .map(|(entity, plan)| Subject { entity: entity.to_string(), scope: plan.to_string() })
    }

    fn fact(event: &TaskEvent) -> Option<String> {
        wire::fact(event)
    }

    fn listed(stamp: &EventStamp<'_>, fact: &str) -> Option<Json> {
        wire::listed(stamp, fact)
    }

    fn relocate(event: &mut TaskEvent, place: &mut dyn FnMut(u64) -> u64) {
        event.relocate(place);
    }

    fn import(event: &mut TaskEvent) {
        if let TaskEvent::CheckRequested(requested) = event {
            requested.imported = true;
        }
        if let TaskEvent::StepVerified(verified) = event {
            verified.imported = !verified.proofs.is_empty();
        }
    }

    fn decide(draft: &mut Draft<'_, Self>, command: &TaskCommand) -> Result<(), WorkRefusal<Self>> {
        let first = draft.events().len();
        for event in decide::decide(draft.documents(), draft.env(), command)? {
            match event.server_part() {
                Some(part) => draft.emit_by(Author::server(part), event)?,
                None => draft.emit(event)?,
            }
        }
        let events = &draft.events()[first..];
        for renewal in decide::claim::renewals(draft.documents(), draft.env(), events)? {
            draft.emit(renewal)?;
        }
        Ok(())
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<TaskEvent>,
    ) -> Result<(), Unloaded<Self>> {
        evolve::evolve(documents, event)?;
        if event.intent.is_some() { Self::evolve_intent(documents, event) } else { Ok(()) }
    }

    fn evolve_intent(
        documents: &mut Documents<Self>,
        event: &Recorded<TaskEvent>,
    ) -> Result<(), Unloaded<Self>> {
        evolve::operation_begun(documents, &event.event)
    }
}
