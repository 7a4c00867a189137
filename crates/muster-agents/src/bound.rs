//! The task of the task store that a node works on, for prompts, packs and the end of a run.

use std::sync::Arc;

use muster_core::{
    Documents,
    run::{node::Node, record::Run},
    tasks::{
        TaskAggregate,
        entity::TaskStatus,
        id::{EntityId, TaskId, WorkspaceId},
        lookup,
        view::handoff::Handoff,
    },
};

use super::shared::RunsContext;

/// Characters of a capsule (8.2 of the rules).
const CAPSULE_CHARS_MAX: usize = 1_500;

/// Lines of each list in a capsule.
const HANDOFF_LINES: usize = 5;

/// A task and its capsule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskBinding {
    pub(crate) id: TaskId,
    pub(crate) workspace: String,
    pub(crate) capsule: String,
    pub(crate) done: bool,
}

/// The task that a node works on: its own, or the run's.
pub(crate) async fn task(shared: &Arc<RunsContext>, run: &Run, node: &Node) -> Option<TaskBinding> {
    look(shared, run, node.task_id.or(run.task_id)?).await
}

/// Whether the task that a run is bound to is done; `None` when there is none.
pub(crate) async fn is_done(shared: &Arc<RunsContext>, run: &Run) -> Option<bool> {
    look(shared, run, run.task_id?).await.map(|task| task.done)
}

async fn look(shared: &Arc<RunsContext>, run: &Run, id: TaskId) -> Option<TaskBinding> {
    let workspace: WorkspaceId = run.workspace.as_deref()?.parse().ok()?;
    let shared = Arc::clone(shared);
    let read = move || {
        let view = |docs: &Documents<TaskAggregate>| {
            let task = lookup::task(docs, id)?;
            let handoff = Handoff::of(docs, EntityId::Task(id), HANDOFF_LINES)?;
            Ok((task.meta.title.clone(), task.meta.status, handoff))
        };
        shared.engine.read::<TaskAggregate, _>(&workspace.stream(), view).ok().map(
            |(title, status, handoff)| {
                let lists = serde_json::to_string(&handoff).unwrap_or_default();
                let capsule = format!("{title} ({})\n{lists}", status.name());
                TaskBinding {
                    id,
                    workspace: workspace.to_string(),
                    capsule: muster_core::text::cut(&capsule, CAPSULE_CHARS_MAX),
                    done: status == TaskStatus::Done,
                }
            },
        )
    };
    crate::background::blocking(read).await.ok().flatten()
}

/// Attaches the results of the checks to the task of a run; it confirms no checkpoint (RUNS-TIE-4).
pub(crate) async fn attach(shared: &Arc<RunsContext>, run: &Run, checks: Vec<String>) {
    let workspace = run.workspace.as_deref().and_then(|name| name.parse::<WorkspaceId>().ok());
    let (Some(workspace), Some(task)) = (workspace, run.task_id) else { return };
    let Some(operations) = shared.operations() else { return };
    let attach = move || operations.attach_checks(&workspace, task, &checks);
    if !matches!(crate::background::blocking(attach).await, Ok(true)) {
        tracing::warn!(run = %run.id, "could not attach the check evidence to the task");
    }
}
