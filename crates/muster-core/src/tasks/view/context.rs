//! Lists of plans and tasks (view of `tasks_context`).

mod filter;
mod room;
mod rows;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(in crate::tasks) use filter::searched;
pub use filter::{EvidenceTests, RowFilter};
pub use rows::{PlanRow, PlanTasksDone, TaskRow};

use super::brief::TaskBrief;
use crate::{
    CallFacts, ListQuery, PageCursor, Survey,
    budget::replace,
    tasks::{
        TaskDocs, TaskDocument, TaskLookup, TaskResult,
        check_gate::ProjectGate,
        entity::{Plan, StatusCounts, TaskStatus},
        id::{EntityId, EntityKind, PlanId, TaskId, WorkspaceId},
        lookup,
    },
};

/// What to list.
#[derive(Clone, PartialEq, Debug)]
pub struct ContextQuery {
    pub plans_status: Option<TaskStatus>,
    pub tasks_status: Option<TaskStatus>,
    /// Only this plan and its tasks.
    pub plan: Option<PlanId>,
    /// Only this task and its plan.
    pub task: Option<TaskId>,
    /// Conditions that no column covers.
    pub filter: RowFilter,
    pub plans: ListPageRequest,
    pub tasks: ListPageRequest,
    /// A short word for all of these conditions: cursors of others do not fit (TASKS-CTX-2).
    pub filters: String,
}

/// A page: where it starts and how long it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListPageRequest {
    /// It starts after this id number; `None` is the beginning.
    pub after: Option<u64>,
    /// Rows on it.
    pub limit: u32,
}

/// The lists.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContextView {
    /// The workspace.
    pub workspace: String,
    /// Matching rows, whatever the page.
    pub counts: MatchCounts,
    /// Matching tasks by status, whatever the page.
    pub by_status: TasksByStatus,
    /// Plans, by id number.
    pub plans: Vec<PlanRow>,
    /// Tasks, by id number.
    pub tasks: Vec<TaskRow>,
    /// Page of plans.
    pub plans_pagination: Pagination,
    /// Page of tasks.
    pub tasks_pagination: Pagination,
    /// Checks whose last verdict is about other files: steps that were closed with them may not
    /// hold any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale_checks: Vec<String>,
}

/// Matching rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MatchCounts {
    /// Plans.
    pub plans: u64,
    /// Tasks.
    pub tasks: u64,
}

/// Matching tasks by status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub struct TasksByStatus {
    /// Not begun.
    pub todo: u64,
    /// In progress.
    pub active: u64,
    /// Finished.
    pub done: u64,
}

/// Where a page is and whether more follow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pagination {
    /// Cursor this page was asked with.
    pub cursor: Option<String>,
    /// Cursor of the next page.
    pub next_cursor: Option<String>,
    /// Whether there is one.
    pub has_more: bool,
    /// Total number of matching rows.
    pub total: u64,
    /// Rows on this page.
    pub count: usize,
    /// Rows it could hold.
    pub limit: u32,
}

impl ContextView {
    /// Whether the files can say anything about a row: a step of an open task is closed, and there
    /// are checks.
    pub fn wants_files(&self, docs: &TaskDocs) -> TaskLookup<bool> {
        let is_begun =
            |task: &TaskRow| task.status != TaskStatus::Done && task.steps_open < task.steps_count;
        if !self.tasks.iter().any(is_begun) {
            return Ok(false);
        }
        let projects = lookup::projects(docs)?;
        Ok(projects.is_some_and(|known| known.accepted.iter().any(|one| !one.checks.is_empty())))
    }

    /// The same with what the files of the call say.
    pub fn with_files(self, docs: &TaskDocs, call: &CallFacts) -> TaskLookup<Self> {
        Ok(Self { stale_checks: ProjectGate::of(docs, call)?.stale_names()?, ..self })
    }

    /// Lists plans and tasks.
    pub fn of(docs: &TaskDocs, workspace: &WorkspaceId, query: &ContextQuery) -> TaskResult<Self> {
        let parent = match query.task {
            Some(task) => Some(lookup::task(docs, task)?.parent),
            None => None,
        };
        if let Some(plan) = query.plan {
            lookup::plan(docs, plan)?;
        }
        // TASKS-CTX-1: filters combine, so a task of another plan gives an empty list.
        let (plans, tasks) = match (parent, query.plan) {
            (Some(parent), Some(plan)) if parent != plan => (Listing::empty(), Listing::empty()),
            (parent, plan) => {
                let plan = parent.or(plan);
                (list_plans(docs, plan, query)?, list_tasks(docs, plan, query)?)
            }
        };
        Ok(Self {
            workspace: workspace.to_string(),
            counts: MatchCounts { plans: plans.counts.total(), tasks: tasks.counts.total() },
            by_status: TasksByStatus {
                todo: tasks.counts.todo,
                active: tasks.counts.active,
                done: tasks.counts.done,
            },
            plans_pagination: plans.pagination(query.plans, &query.filters),
            tasks_pagination: tasks.pagination(query.tasks, &query.filters),
            plans: plans.rows.iter().map(|plan| PlanRow::of(workspace, plan)).collect(),
            tasks: tasks.rows.iter().map(|task| TaskRow::of(workspace, task)).collect(),
            stale_checks: Vec::new(),
        })
    }
}

/// What becomes a row.
trait Shown<'a>: Sized {
    /// From the document in full.
    fn of(document: &'a TaskDocument) -> Option<Self>;
    /// A list that reads no more of each document than a row shows.
    fn list(docs: &'a TaskDocs, query: &ListQuery) -> TaskLookup<Vec<Self>>;
    /// Its id number.
    fn number(&self) -> u64;
}

impl<'a> Shown<'a> for &'a Plan {
    fn of(document: &'a TaskDocument) -> Option<Self> {
        document.as_plan()
    }

    fn list(docs: &'a TaskDocs, query: &ListQuery) -> TaskLookup<Vec<Self>> {
        Ok(docs.list(query)?.into_iter().filter_map(TaskDocument::as_plan).collect())
    }

    fn number(&self) -> u64 {
        self.id.0
    }
}

impl<'a> Shown<'a> for Arc<TaskBrief> {
    fn of(document: &'a TaskDocument) -> Option<Self> {
        document.as_task().map(|task| Self::new(TaskBrief::of(task)))
    }

    fn list(docs: &'a TaskDocs, query: &ListQuery) -> TaskLookup<Vec<Self>> {
        docs.briefs(query)
    }

    fn number(&self) -> u64 {
        self.id.0
    }
}

/// One page and the counts of the whole list.
struct Listing<T> {
    counts: StatusCounts,
    rows: Vec<T>,
    has_more: bool,
    last: u64,
}

impl<T> Listing<T> {
    fn empty() -> Self {
        Self { counts: StatusCounts::default(), rows: Vec::new(), has_more: false, last: 0 }
    }

    fn pagination(&self, page: ListPageRequest, filters: &str) -> Pagination {
        let cursor = |at| PageCursor { at, of: filters }.to_string();
        Pagination {
            cursor: page.after.map(cursor),
            next_cursor: self.has_more.then(|| cursor(self.last)),
            has_more: self.has_more,
            total: self.counts.total(),
            count: self.rows.len(),
            limit: page.limit,
        }
    }
}

fn list_plans<'a>(
    docs: &'a TaskDocs,
    only: Option<PlanId>,
    query: &ContextQuery,
) -> TaskResult<Listing<&'a Plan>> {
    if let Some(id) = only {
        let plan = docs.get(&EntityId::from(id).into())?;
        return Ok(single(plan, query.plans_status, &query.filter, query.plans));
    }
    let list = ListQuery { statuses: names(query.plans_status), ..ListQuery::of("plan") };
    let counts = lookup::workspace(docs)?.plans;
    let source = Source { list, counts, kind: EntityKind::Plan, status: query.plans_status };
    page(docs, source, &query.filter, query.plans)
}

fn list_tasks(
    docs: &TaskDocs,
    plan: Option<PlanId>,
    query: &ContextQuery,
) -> TaskResult<Listing<Arc<TaskBrief>>> {
    if let Some(id) = query.task {
        let task = docs.get(&EntityId::from(id).into())?;
        return Ok(single(task, query.tasks_status, &query.filter, query.tasks));
    }
    let counts = match plan {
        Some(plan) => lookup::plan(docs, plan)?.sums.tasks,
        None => lookup::workspace(docs)?.tasks,
    };
    let list = ListQuery {
        parent: plan.map(|plan| plan.to_string()),
        statuses: names(query.tasks_status),
        ..ListQuery::of("task")
    };
    let source = Source { list, counts, kind: EntityKind::Task, status: query.tasks_status };
    page(docs, source, &query.filter, query.tasks)
}

/// The statuses to list: all of them by name, so that the store need not find out which exist.
fn names(status: Option<TaskStatus>) -> Vec<&'static str> {
    match status {
        Some(status) => vec![status.name()],
        None => TaskStatus::ALL.map(TaskStatus::name).to_vec(),
    }
}

/// A list and its known counts.
struct Source {
    list: ListQuery,
    counts: StatusCounts,
    kind: EntityKind,
    status: Option<TaskStatus>,
}

/// One page. Columns and stored counts are used where possible; else the list is surveyed.
fn page<'a, T: Shown<'a>>(
    docs: &'a TaskDocs,
    source: Source,
    filter: &RowFilter,
    page: ListPageRequest,
) -> TaskResult<Listing<T>> {
    let after = page.after.unwrap_or(0);
    let (counts, mut rows) = if filter.applies_to(source.kind) {
        let survey =
            Survey { list: source.list, filter: filter.clone(), after, limit: page.limit + 1 };
        surveyed(docs, &survey)?
    } else {
        let counts = match source.status {
            Some(status) => only(&source.counts, status),
            None => source.counts,
        };
        let list = ListQuery { after: Some(after), limit: Some(page.limit + 1), ..source.list };
        (counts, T::list(docs, &list)?)
    };
    let has_more = rows.len() > page.limit as usize;
    rows.truncate(page.limit as usize);
    let last = rows.last().map_or(after, T::number);
    Ok(Listing { counts, rows, has_more, last })
}

fn surveyed<'a, T: Shown<'a>>(
    docs: &'a TaskDocs,
    survey: &Survey<RowFilter>,
) -> TaskLookup<(StatusCounts, Vec<T>)> {
    let surveyed = docs.survey(survey)?;
    let count = |status: TaskStatus| surveyed.counts.get(status.name()).copied().unwrap_or(0);
    let counts = StatusCounts {
        todo: count(TaskStatus::Todo),
        active: count(TaskStatus::Active),
        done: count(TaskStatus::Done),
    };
    let mut rows = Vec::with_capacity(surveyed.page.len());
    for key in &surveyed.page {
        rows.extend(docs.get(key)?.and_then(T::of));
    }
    Ok((counts, rows))
}

/// The list of at most one row.
fn single<'a, T: Shown<'a>>(
    document: Option<&'a TaskDocument>,
    status: Option<TaskStatus>,
    filter: &RowFilter,
    page: ListPageRequest,
) -> Listing<T> {
    let passes = |document: &&TaskDocument| {
        let own = document.meta().map(|meta| meta.status);
        (status.is_none() || status == own) && filter.admits(document)
    };
    let document = document.filter(passes);
    let mut counts = StatusCounts::default();
    if let Some(meta) = document.and_then(TaskDocument::meta) {
        *counts.slot(meta.status) += 1;
    }
    let on_page = document
        .and_then(T::of)
        .filter(|row| page.limit > 0 && page.after.is_none_or(|after| row.number() > after));
    Listing {
        counts,
        has_more: page.limit == 0 && counts.total() > 0,
        last: on_page.as_ref().map_or(page.after.unwrap_or(0), T::number),
        rows: on_page.into_iter().collect(),
    }
}

fn only(counts: &StatusCounts, status: TaskStatus) -> StatusCounts {
    let mut one = StatusCounts::default();
    *one.slot(status) = counts.of(status);
    one
}

/// The id number of a row as JSON, for pagination while rows are cut.
pub(super) fn row_number(row: &Value) -> u64 {
    let id = row.get("id").and_then(Value::as_str).unwrap_or_default();
    let digits = id.rsplit('-').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// Pagination fields after rows were cut.
pub(super) fn cut_pagination(
    page: &mut Map<String, Value>,
    next_cursor: impl Into<Value>,
    count: usize,
) -> isize {
    replace(page, "next_cursor", next_cursor)
        + replace(page, "has_more", true)
        + replace(page, "count", count)
}
