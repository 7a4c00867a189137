//! `tasks_history`.

use muster_core::{
    Author, ListQuery, field,
    tasks::{
        TaskDocument, fields,
        history::{
            self, AddedParts, DerivedChange, FieldValues, HistoryOperation as Entry,
            OperationChange, OperationState, OperationsQuery,
        },
        id::{EntityId, WorkspaceId},
        lookup,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::groups::TaskOrPlan;
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Default number of operations.
const OPERATIONS_DEFAULT: u32 = 50;

/// Lists operations newest first: what changed, from what to what, and what can be undone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksHistory {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// Operations at most, 0 to 1000; default 50.
    #[schemars(range(max = 1000))]
    limit: Option<u32>,
    /// Only older than this seq.
    cursor: Option<u64>,
}

/// A page of the history.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskHistory {
    /// The workspace.
    workspace: String,
    /// Operations, newest first.
    operations: Vec<OperationView>,
    /// The position of the page.
    pagination: TaskHistoryPage,
}

/// The position of a page of the history.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskHistoryPage {
    cursor: Option<u64>,
    next_cursor: Option<u64>,
    has_more: bool,
    limit: u32,
    count: usize,
}

/// One operation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OperationView {
    seq: u64,
    ts: String,
    ts_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Author>,
    task: String,
    path: Option<String>,
    intent: String,
    payload: Value,
    before: Option<FieldValues>,
    after: Option<FieldValues>,
    derived: Vec<DerivedView>,
    undoable: bool,
    undone: bool,
}

/// A side effect on another entity.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DerivedView {
    id: EntityId,
    path: Option<String>,
    field: String,
    before: Value,
    after: Value,
}

impl OperationView {
    pub(super) fn of(entry: &Entry) -> Self {
        let path = entry.path.as_ref().map(|path| match entry.node {
            Some(ordinal) => format!("{path}.t:{ordinal}"),
            None => path.to_string(),
        });
        let change: Option<&OperationChange> = entry.change.as_ref();
        let mut before = change.map(|change| fields::shown(&change.before));
        let mut after = change.map(|change| fields::shown(&change.after));
        if let Some(added) = change.and_then(|change| change.added.as_deref()) {
            before.iter_mut().for_each(|fields| fields.extend(absent(added)));
            after.iter_mut().for_each(|fields| fields.extend(present(added)));
        }
        let names: Vec<&String> = after.iter().flat_map(FieldValues::keys).collect();
        let derived = |derived: &DerivedChange| DerivedView {
            id: derived.id,
            path: derived.path.as_ref().map(ToString::to_string),
            field: derived.field.clone(),
            before: derived.before.clone(),
            after: derived.after.clone(),
        };
        Self {
            seq: entry.seq,
            ts: entry.at.rfc3339(),
            ts_ms: entry.at.0,
            by: entry.by.clone(),
            task: entry.entity.to_string(),
            path,
            intent: entry.intent.clone(),
            payload: if change.is_some() { json!({"fields": names}) } else { json!({}) },
            before,
            after,
            derived: change.map(|c| c.derived.iter().map(derived).collect()).unwrap_or_default(),
            undoable: change.is_some(),
            undone: matches!(entry.state, OperationState::Redoable | OperationState::Undone),
        }
    }
}

/// What an operation added, as fields that were not there before.
fn absent(added: &AddedParts) -> FieldValues {
    present(added).into_keys().map(|name| (name, Value::Null)).collect()
}

fn present(added: &AddedParts) -> FieldValues {
    let mut fields = FieldValues::new();
    fields.extend(added.plan.map(|id| field("plan", &id)));
    fields.extend(added.task.map(|id| field("task", &id)));
    if !added.steps.is_empty() {
        fields.extend([field("steps", &added.steps)]);
    }
    if !added.evidence.is_empty() {
        fields.extend([field("evidence", &added.evidence)]);
    }
    fields
}

pub(super) fn operations(id: Option<EntityId>) -> ListQuery {
    ListQuery { parent: id.map(|id| id.to_string()), ..ListQuery::of("operation") }
}

impl Operation for TasksHistory {
    const NAME: &'static str = "tasks_history";
    const TITLE: &'static str = "List operations";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = TaskHistory;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = self.selection.named()?;
        let limit = self.limit.unwrap_or(OPERATIONS_DEFAULT);
        call.read(&self.workspace, |docs| {
            if let Some(id) = named {
                lookup::revision(docs, id)?;
            }
            let query =
                OperationsQuery { entity: named, before: self.cursor, above: 0, limit: limit + 1 };
            let rows = history::newest_first(docs, &query)?;
            let has_more = rows.len() > limit as usize;
            let shown: Vec<OperationView> = rows
                .iter()
                .take(limit as usize)
                .map(|operation| OperationView::of(operation))
                .collect();
            let next_cursor = shown.last().filter(|_| has_more).map(|entry| entry.seq);
            let pagination = TaskHistoryPage {
                cursor: self.cursor,
                next_cursor,
                has_more,
                limit,
                count: shown.len(),
            };
            let workspace = self.workspace.to_string();
            Ok(CallReply::new(&TaskHistory { workspace, operations: shown, pagination }))
        })
    }
}

pub(super) fn as_operation(document: &TaskDocument) -> Option<&Entry> {
    if let TaskDocument::Operation(operation) = document { Some(operation) } else { None }
}
