//! `tasks_mirror`.

use muster_core::{
    session::{SessionId, view::TodoLine},
    tasks::{
        TaskAggregate,
        command::StepSelector,
        id::{EntityId, EntityKind, WorkspaceId},
        lookup::{self, Accepts, LookupRequest},
        path::StepPath,
        view::mirror::{LinkedTodo, MirrorQuery, MirrorView},
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    groups::{TaskOrPlan, is_short, page},
    work::failure,
};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Default number of rows.
const ROWS_DEFAULT: u32 = 50;

/// Lists the steps of a task (ids, paths, confirmations, blocks, sub-plans) or the tasks of a plan,
/// page by page. Use it to find step ids or to copy the state into another program; with a path
/// it also has the todo items that are linked to that step.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksMirror {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// Of a task: only this step and what is below it.
    path: Option<StepPath>,
    /// Steps or tasks at most, 0 to 1000; default 50.
    #[schemars(range(max = 1000))]
    limit: Option<u32>,
    /// The previous next_cursor.
    cursor: Option<String>,
}

impl Operation for TasksMirror {
    const NAME: &'static str = "tasks_mirror";
    const TITLE: &'static str = "List steps or tasks for other programs";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = MirrorView;

    fn is_brief(arguments: &Map<String, Value>) -> bool {
        is_short(arguments, "limit")
    }

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let page = page("cursor", self.cursor.as_deref(), self.limit.unwrap_or(ROWS_DEFAULT))?;
        // Only tasks have steps.
        let accepts =
            if self.path.is_some() { Accepts::Only(EntityKind::Task) } else { Accepts::Any };
        let todos = match &self.path {
            Some(path) => linked_todos(call, &self.workspace, named, path)?,
            None => Vec::new(),
        };
        call.read(&self.workspace, |docs| {
            let target = lookup::target(docs, named, accepts)?;
            let path = self.path.clone();
            let page = page.clone();
            let query = MirrorQuery { id: target.id, path, page };
            let view = MirrorView::of(docs, &self.workspace, &query)?.with_todos(&todos);
            Ok(CallReply::new(&view).about(target))
        })
    }
}

/// The todo items of a step. They are in other streams than the step, so they are read first.
fn linked_todos(
    call: &CheckedCall<'_>,
    workspace: &WorkspaceId,
    named: LookupRequest,
    path: &StepPath,
) -> Result<Vec<LinkedTodo>, CallFailure> {
    let step = call.app.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
        let target = lookup::target(docs, named, Accepts::Only(EntityKind::Task))?;
        let EntityId::Task(task) = target.id else { return Ok(None) };
        let selector = StepSelector::Path(path.clone());
        Ok(lookup::step(lookup::task(docs, task)?, &selector).ok().map(|step| step.id))
    });
    let Some(step) = step.map_err(|error| failure(workspace, error))? else {
        return Ok(Vec::new());
    };
    let todos = call.app.sessions().step_todos(workspace, step)?;
    let linked = |(session_id, line): (SessionId, TodoLine)| {
        let TodoLine { id, content, status, .. } = line;
        LinkedTodo { session_id, id, content, status }
    };
    Ok(todos.into_iter().map(linked).collect())
}
