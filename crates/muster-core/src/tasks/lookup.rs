//! Finding things: documents by id, targets by focus, steps as the caller selects them, and
//! dependencies.

mod target;

use std::{cmp::Ordering, collections::BTreeSet};

pub use target::{Accepts, KnownFocus, LookupRequest, Target, TargetSource, parent_plan, target};

use super::{
    TaskAggregate, TaskDocument, TaskKey, TaskRejection, changes,
    command::{NodeTarget, StepSelector, StepTarget},
    entity::{Plan, Task, TaskStatus, Workspace},
    id::{CardId, CheckRunId, EntityId, NodeId, PlanId, TaskId},
    memory::{Card, MemoryCounts},
    path::NodePath,
    rejection::Candidates,
    step::{Step, StepNode},
};
use crate::{
    ListOrder, ListQuery, WorkRefusal,
    checks::{
        ledger::CheckLedger,
        project::WorkspaceProjects,
        protected::ProtectedBaseline,
        record::{CHECK_RUN_KIND, CheckRecord, RUNNING},
    },
    tasks::{TaskDocs, TaskLookup, TaskResult},
};

/// How many tasks are suggested to a call without a target.
const CANDIDATES_MAX: u32 = 2;

/// The workspace document; an unknown workspace reads like an empty one (TASKS-WS-1).
pub fn workspace(docs: &TaskDocs) -> TaskLookup<Workspace> {
    let document = docs.get(&TaskKey::Workspace)?;
    let Some(TaskDocument::Workspace(workspace)) = document else {
        return Ok(Workspace::default());
    };
    Ok(workspace.clone())
}

/// The accepted projects; most workspaces have none.
pub fn projects(docs: &TaskDocs) -> TaskLookup<Option<&WorkspaceProjects>> {
    let has_projects = match docs.get(&TaskKey::Workspace)? {
        Some(TaskDocument::Workspace(workspace)) => workspace.has_projects,
        Some(_) | None => false,
    };
    if !has_projects {
        return Ok(None);
    }
    Ok(match docs.get(&TaskKey::Projects)? {
        Some(TaskDocument::Projects(projects)) => Some(projects),
        Some(_) | None => None,
    })
}

/// The protected files of a directory as a person last saw them: there, else in the project.
pub fn protected<'a>(
    docs: &'a TaskDocs,
    directory: &str,
    root: &str,
) -> TaskLookup<Option<&'a ProtectedBaseline>> {
    for place in [directory, root] {
        if let Some(TaskDocument::Protected(baseline)) =
            docs.get(&TaskKey::Protected(place.to_owned()))?
        {
            return Ok(Some(baseline));
        }
    }
    Ok(None)
}

pub fn find_plan(docs: &TaskDocs, id: PlanId) -> TaskLookup<Option<&Plan>> {
    Ok(docs.get(&TaskKey::Plan(id))?.and_then(TaskDocument::as_plan))
}

pub fn find_task(docs: &TaskDocs, id: TaskId) -> TaskLookup<Option<&Task>> {
    Ok(docs.get(&TaskKey::Task(id))?.and_then(TaskDocument::as_task))
}

/// A run of a check, if there is one.
pub fn check_run(docs: &TaskDocs, run: CheckRunId) -> TaskLookup<Option<&CheckRecord>> {
    Ok(docs.get(&TaskKey::CheckRun(run))?.and_then(TaskDocument::as_check_run))
}

/// The verdicts of a check; none of one that never ran.
pub fn check_ledger(docs: &TaskDocs, check: &str) -> TaskLookup<CheckLedger> {
    Ok(match docs.get(&TaskKey::CheckLedger(check.to_owned()))? {
        Some(TaskDocument::CheckLedger(ledger)) => ledger.clone(),
        Some(_) | None => CheckLedger::new(check),
    })
}

/// Runs of checks without a verdict so far, oldest first.
pub fn unfinished_checks(docs: &TaskDocs) -> TaskLookup<Vec<CheckRecord>> {
    let query = ListQuery { statuses: vec![RUNNING], ..ListQuery::of(CHECK_RUN_KIND) };
    let listed = docs.list(&query)?;
    Ok(listed.into_iter().filter_map(TaskDocument::as_check_run).cloned().collect())
}

/// The newest runs of a check, or of all checks.
pub fn newest_checks(
    docs: &TaskDocs,
    check: Option<&str>,
    limit: u32,
) -> TaskLookup<Vec<CheckRecord>> {
    let query = ListQuery {
        parent: check.map(str::to_owned),
        order: ListOrder::Descending,
        limit: Some(limit),
        ..ListQuery::of(CHECK_RUN_KIND)
    };
    let listed = docs.list(&query)?;
    Ok(listed.into_iter().filter_map(TaskDocument::as_check_run).cloned().collect())
}

/// The plan, or the rejection that names it.
pub fn plan(docs: &TaskDocs, id: PlanId) -> TaskResult<&Plan> {
    match find_plan(docs, id)? {
        Some(plan) => Ok(plan),
        None => Err(unknown(docs, id.into())?),
    }
}

/// The task, or the rejection that names it.
pub fn task(docs: &TaskDocs, id: TaskId) -> TaskResult<&Task> {
    match find_task(docs, id)? {
        Some(task) => Ok(task),
        None => Err(unknown(docs, id.into())?),
    }
}

fn unknown(docs: &TaskDocs, id: EntityId) -> TaskLookup<WorkRefusal<TaskAggregate>> {
    let workspace = workspace(docs)?;
    let workspace_known = workspace.plans.total() + workspace.tasks.total() > 0;
    Ok(WorkRefusal::rejected(TaskRejection::UnknownEntity { id, workspace_known }))
}

/// Status of a plan or task, if it exists.
pub fn status(docs: &TaskDocs, id: EntityId) -> TaskLookup<Option<TaskStatus>> {
    Ok(match id {
        EntityId::Plan(id) => find_plan(docs, id)?.map(|plan| plan.meta.status),
        EntityId::Task(id) => find_task(docs, id)?.map(|task| task.meta.status),
    })
}

/// The plan whose timeline shows a plan or task: its plan, or itself.
pub fn plan_of(docs: &TaskDocs, id: EntityId) -> TaskResult<PlanId> {
    match id {
        EntityId::Plan(id) => plan(docs, id).map(|plan| plan.id),
        EntityId::Task(id) => task(docs, id).map(|task| task.parent),
    }
}

/// Revision of a plan or task, or the rejection that names it.
pub fn revision(docs: &TaskDocs, id: EntityId) -> TaskResult<u64> {
    Ok(match id {
        EntityId::Plan(id) => plan(docs, id)?.meta.revision,
        EntityId::Task(id) => task(docs, id)?.meta.revision,
    })
}

/// Checks `expected_revision` against the entity (TASKS-REV-4).
pub fn expect_revision(docs: &TaskDocs, id: EntityId, expected: Option<u64>) -> TaskResult<()> {
    let actual = revision(docs, id)?;
    match expected {
        Some(expected) if expected != actual => {
            let changed = changes::since(docs, id, expected)?;
            let mismatch = TaskRejection::RevisionMismatch { id, expected, actual, changed };
            Err(WorkRefusal::rejected(mismatch))
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks `expected_step_revision`: nothing has changed the step since that revision of its task
/// (EASE-TEAM-3). Where that is not certain, it is refused.
pub fn expect_step_revision(
    docs: &TaskDocs,
    target: &StepTarget,
    expected: Option<u64>,
) -> TaskResult<()> {
    let Some(expected) = expected else { return Ok(()) };
    let (task, step) = task_and_step(docs, target)?;
    let actual = task.meta.revision;
    let changed = match expected.cmp(&actual) {
        Ordering::Less => changes::of_step_since(docs, task, &step.path, expected)?,
        Ordering::Equal => None,
        Ordering::Greater => Some(Vec::new()),
    };
    let Some(changed) = changed else { return Ok(()) };
    Err(WorkRefusal::rejected(TaskRejection::StepRevisionMismatch {
        task: task.id,
        step_id: step.id,
        path: step.path.clone(),
        expected,
        actual,
        changed,
    }))
}

/// The step that a selector names (TASKS-TGT-4).
pub fn step<'a>(task: &'a Task, selector: &StepSelector) -> Result<&'a Step, Box<TaskRejection>> {
    let unknown =
        || Box::new(TaskRejection::UnknownStep { task: task.id, selector: selector.clone() });
    match selector {
        StepSelector::Path(path) => task.steps.at(path).ok_or_else(unknown),
        StepSelector::Id(id) => task.steps.by_id(*id).ok_or_else(unknown),
        StepSelector::Both(path, id) => {
            let by_path = task.steps.at(path).ok_or_else(unknown)?;
            let by_id = task.steps.by_id(*id).ok_or_else(unknown)?;
            if by_path.id == by_id.id {
                return Ok(by_path);
            }
            Err(Box::new(TaskRejection::SelectorsDisagree { path: path.clone(), step_id: *id }))
        }
    }
}

/// The task and step that a step target names.
pub fn task_and_step<'a>(
    docs: &'a TaskDocs,
    target: &StepTarget,
) -> TaskResult<(&'a Task, &'a Step)> {
    let task = task(docs, target.task)?;
    let step = step(task, &target.selector).map_err(WorkRefusal::Rejected)?;
    Ok((task, step))
}

/// The task, step and node that a node target names.
pub fn task_step_and_node<'a>(
    docs: &'a TaskDocs,
    target: &NodeTarget,
) -> TaskResult<(&'a Task, &'a Step, &'a StepNode)> {
    let task = task(docs, target.task)?;
    let name = match (&target.path, target.id) {
        (Some(path), _) => path.named(),
        (None, Some(id)) => id.to_string(),
        (None, None) => String::new(),
    };
    let unknown =
        || WorkRefusal::rejected(TaskRejection::UnknownNode { task: task.id, name: name.clone() });
    let nodes = || task.steps.iter().flat_map(|step| step.nodes.iter().map(move |n| (step, n)));
    let at = |path: &NodePath| {
        nodes().find(|(step, node)| step.path == path.step && node.ordinal == path.ordinal)
    };
    let by_path = target.path.as_ref().map(|path| at(path).ok_or_else(unknown)).transpose()?;
    let with = |id: NodeId| nodes().find(|(_, node)| node.id == id).ok_or_else(unknown);
    let by_id = target.id.map(with).transpose()?;
    match (by_path, by_id, &target.path) {
        (Some((_, one)), Some((_, other)), Some(path)) if one.id != other.id => {
            let path = path.clone();
            let node_id = other.id;
            Err(WorkRefusal::rejected(TaskRejection::NodesDisagree { path, node_id }))
        }
        (Some((step, node)), _, _) | (None, Some((step, node)), _) => Ok((task, step, node)),
        (None, None, _) => Err(unknown()),
    }
}

/// Everything that cannot be done before this plan or task: its dependents, the plan of a task, and
/// their dependents. It contains itself when dependencies form a cycle (TASKS-EDIT-3).
///
/// The search goes against the dependencies, because a task has one plan but a plan has any number
/// of tasks.
pub(super) fn waiters(docs: &TaskDocs, id: EntityId) -> TaskLookup<BTreeSet<EntityId>> {
    let mut found = BTreeSet::new();
    let mut level = vec![id];
    while !level.is_empty() {
        docs.have_all(level.iter().copied().map(TaskKey::from))?;
        let mut next = Vec::new();
        for id in level {
            next.extend(waiting_for(docs, id)?.into_iter().filter(|id| found.insert(*id)));
        }
        level = next;
    }
    Ok(found)
}

fn waiting_for(docs: &TaskDocs, id: EntityId) -> TaskLookup<Vec<EntityId>> {
    let Some(document) = docs.get(&id.into())? else { return Ok(Vec::new()) };
    let dependents = document.meta().into_iter().flat_map(|meta| meta.dependents.iter().copied());
    let plan = document.as_task().map(|task| EntityId::Plan(task.parent));
    Ok(dependents.chain(plan).collect())
}

/// The card in the memory of a plan or task, or the rejection that names it.
pub fn card(docs: &TaskDocs, entity: EntityId, id: CardId) -> TaskResult<&Card> {
    match docs.get(&TaskKey::Card(id))? {
        Some(TaskDocument::Card(card)) if card.entity == entity => Ok(card),
        Some(_) | None => {
            Err(WorkRefusal::rejected(TaskRejection::UnknownCard { entity, card: id }))
        }
    }
}

/// Suggestions for a call without a usable target: open tasks, ACTIVE first; else the newest task;
/// else a plan. Within a plan only its own tasks are suggested.
fn candidates(docs: &TaskDocs, within: Option<PlanId>) -> TaskLookup<Candidates> {
    let tasks = |statuses: Vec<&'static str>, order, limit| ListQuery {
        parent: within.map(|id| id.to_string()),
        statuses,
        order,
        limit: Some(limit),
        ..ListQuery::of("task")
    };
    let ids = |query: &ListQuery| -> TaskLookup<Vec<TaskId>> {
        Ok(docs
            .list(query)?
            .into_iter()
            .filter_map(TaskDocument::as_task)
            .map(|task| task.id)
            .collect())
    };
    let mut open = Vec::new();
    for status in [TaskStatus::Active, TaskStatus::Todo] {
        open.extend(ids(&tasks(vec![status.name()], ListOrder::Ascending, CANDIDATES_MAX))?);
    }
    open.truncate(CANDIDATES_MAX as usize);
    if open.is_empty() {
        open = ids(&tasks(Vec::new(), ListOrder::Descending, 1))?;
    }
    if !open.is_empty() {
        return Ok(Candidates::Tasks(open));
    }
    if let Some(plan) = within {
        return Ok(Candidates::EmptyPlan(plan));
    }
    let plans = docs.list(&ListQuery { limit: Some(1), ..ListQuery::of("plan") })?;
    let first = plans.into_iter().find_map(TaskDocument::as_plan);
    Ok(first.map_or(Candidates::Nothing, |plan| Candidates::Plan(plan.id)))
}

/// How much the memory of a plan or task holds.
pub(super) fn memory_counts(docs: &TaskDocs, id: EntityId) -> TaskLookup<MemoryCounts> {
    let meta = docs.get(&id.into())?.and_then(TaskDocument::meta);
    Ok(meta.map(|meta| meta.memory.clone()).unwrap_or_default())
}
