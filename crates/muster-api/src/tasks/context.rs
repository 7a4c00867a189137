//! `tasks_context`.

use muster_core::{
    PageCursor,
    run::hash::sha256_hex,
    tasks::{
        TaskAggregate,
        entity::TaskStatus,
        id::{EntityId, WorkspaceId},
        step::StepLook,
        view::{
            context::{ContextQuery, ContextView, ListPageRequest, RowFilter},
            shed,
        },
        wording::Tags,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    groups::{BudgetedView, TargetName, VIEW_CHARS, agree, plan_kind},
    work::failure,
};
use crate::{
    OperationEffect, Toolset,
    arguments::{Reason, invalid},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Rows of a list when no limit is given.
const ROWS_DEFAULT: u32 = 50;

/// Lists plans and tasks with status, progress and blockers; filters combine. Use it to find ids.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksContext {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Only rows in this status.
    status: Option<TaskStatus>,
    /// Status of plans, instead of status.
    plans_status: Option<TaskStatus>,
    /// Status of tasks, instead of status.
    tasks_status: Option<TaskStatus>,
    /// Only this plan and its tasks.
    parent: Option<EntityId>,
    /// Same as parent.
    tasks_parent: Option<EntityId>,
    /// Same as parent.
    plan: Option<EntityId>,
    /// Only this task and its plan.
    task: Option<EntityId>,
    /// Same as task or parent.
    target: Option<TargetName>,
    /// Rows that have all of these tags.
    tags: Option<Tags>,
    /// Tasks of this domain.
    domain: Option<String>,
    /// Rows whose id, title, description or context contains this, in any case.
    query: Option<String>,
    /// Rows that depend on this plan or task.
    depends_on: Option<EntityId>,
    /// Tasks with a closed step that is backed like this.
    look: Option<StepLook>,
    /// Rows per list, 0 to 1000; default 50.
    #[schemars(range(max = 1000))]
    limit: Option<u32>,
    /// Plans, instead of limit.
    #[schemars(range(max = 1000))]
    plans_limit: Option<u32>,
    /// Tasks, instead of limit.
    #[schemars(range(max = 1000))]
    tasks_limit: Option<u32>,
    /// The previous next_cursor of plans.
    plans_cursor: Option<String>,
    /// The previous next_cursor of tasks.
    tasks_cursor: Option<String>,
    #[serde(flatten)]
    budgeted: BudgetedView,
}

impl Operation for TasksContext {
    const NAME: &'static str = "tasks_context";
    const TITLE: &'static str = "List plans and tasks";
    const TOOLSET: Toolset = Toolset::Daily;
    const EFFECT: OperationEffect = OperationEffect::Read;
    const BRIEF_CHARS: Option<u64> = Some(VIEW_CHARS);
    type Response = ContextView;

    /// A filter that no column covers may walk the whole list.
    fn is_brief(arguments: &Map<String, Value>) -> bool {
        ["tags", "domain", "query", "depends_on", "look"]
            .iter()
            .all(|filter| !arguments.contains_key(*filter))
    }

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let query = self.query()?;
        let start = (query.plans.after.unwrap_or(0), query.tasks.after.unwrap_or(0));
        let size = call.size(self.budgeted.max_chars);
        let reply = |view: ContextView| {
            let shedding = || shed::context(start, &query.filters);
            let view = match size.limit() {
                Some(max) => view.within(max),
                None => view,
            };
            CallReply::view(&view, size, shedding)
        };
        let plain = call.app.engine().read::<TaskAggregate, _>(&self.workspace.stream(), |docs| {
            let view = ContextView::of(docs, &self.workspace, &query)?;
            Ok(if view.wants_files(docs)? { None } else { Some(reply(view)) })
        });
        match plain.map_err(|error| failure(&self.workspace, error))? {
            Some(plain) => Ok(call.answer(Some(&self.workspace), plain)),
            None => {
                let facts = call.app.project_facts(&call.scene.caller, &self.workspace)?;
                call.read(&self.workspace, |docs| {
                    let view = ContextView::of(docs, &self.workspace, &query)?;
                    Ok(reply(view.with_files(docs, &facts)?))
                })
            }
        }
    }
}

impl TasksContext {
    fn query(&self) -> Result<ContextQuery, CallFailure> {
        let target = self.target.map(|target| target.0);
        let plan = agree(&[
            ("parent", self.parent),
            ("tasks_parent", self.tasks_parent),
            ("plan", self.plan),
        ])?;
        let plan = plan_kind("parent", plan)?;
        let mut plan = plan;
        let mut task = None;
        match agree(&[("task", self.task), ("target", target)])? {
            Some(EntityId::Task(id)) => task = Some(id),
            Some(EntityId::Plan(id)) => {
                let given = ("parent", plan.map(EntityId::Plan));
                agree(&[given, ("target", Some(EntityId::Plan(id)))])?;
                plan = Some(id);
            }
            None => {}
        }
        let filters = self.binding();
        let page = |limit: Option<u32>, cursor: &Option<String>, name: &str| {
            let after = read_cursor(name, cursor.as_deref(), &filters)?;
            let limit = limit.or(self.limit).unwrap_or(ROWS_DEFAULT);
            Ok::<_, CallFailure>(ListPageRequest { after, limit })
        };
        Ok(ContextQuery {
            plans_status: self.plans_status.or(self.status),
            tasks_status: self.tasks_status.or(self.status),
            plan,
            task,
            filter: RowFilter {
                tags: self.tags.as_ref().map(|tags| tags.0.clone()).unwrap_or_default(),
                domain: self.domain.clone(),
                query: self.query.as_ref().map(|query| query.to_lowercase()),
                depends_on: self.depends_on,
                look: self.look,
                evidence: None,
            },
            plans: page(self.plans_limit, &self.plans_cursor, "plans_cursor")?,
            tasks: page(self.tasks_limit, &self.tasks_cursor, "tasks_cursor")?,
            filters,
        })
    }

    /// A digest of the filters: cursors of other filters are refused (TASKS-CTX-2).
    fn binding(&self) -> String {
        let mut filters = format!(
            "{:?}",
            (
                (&self.workspace, self.status, self.plans_status, self.tasks_status),
                (self.parent, self.tasks_parent, self.plan, self.task, self.target),
                (&self.tags, &self.domain, &self.query, self.depends_on),
            )
        );
        filters.push_str(self.look.map_or("", StepLook::name));
        sha256_hex(filters.as_bytes())[..12].to_owned()
    }
}

fn read_cursor(
    name: &str,
    cursor: Option<&str>,
    filters: &str,
) -> Result<Option<u64>, CallFailure> {
    let Some(cursor) = cursor else { return Ok(None) };
    match cursor.parse::<PageCursor<u64, String>>() {
        Ok(cursor) if cursor.of == filters => Ok(Some(cursor.at)),
        Ok(_) | Err(()) => {
            Err(invalid(name, Reason::BadFormat, "a next_cursor of the same filters"))
        }
    }
}
