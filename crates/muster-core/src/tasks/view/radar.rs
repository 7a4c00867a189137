//! One screen of state: now, why, verify, next, blockers (TASKS-VIEW, view 4.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    StepsSummary, ViewLine, lines,
    rollup::{self, next_task},
};
use crate::{
    ListQuery, Mark,
    tasks::{
        TaskDocs, TaskLookup, TaskResult,
        entity::{Plan, Task, TaskStatus},
        id::EntityId,
        lookup,
    },
    text,
};

/// Characters of `why`.
const WHY_CHARS_MAX: usize = 1_000;
/// Blocker lines before `+n more`.
const BLOCKER_LINES_MAX: usize = 10;
/// Lines in `next`.
const NEXT_LINES_MAX: usize = 3;

/// Now, why, verify, next, blockers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Radar {
    /// What this is and how far.
    pub now: ViewLine,
    /// What it is for.
    pub why: ViewLine,
    /// What has to be confirmed or proven.
    pub verify: Vec<ViewLine>,
    /// What to do next.
    pub next: Vec<ViewLine>,
    /// What stands in the way.
    pub blockers: Vec<ViewLine>,
}

impl Radar {
    pub(super) fn of_task(docs: &TaskDocs, task: &Task, steps: &StepsSummary) -> TaskLookup<Self> {
        let meta = &task.meta;
        let plan = lookup::find_plan(docs, task.parent)?;
        let why = meta.description.as_deref().or(meta.context.as_deref());
        let why = why.or_else(|| plan.and_then(|plan| plan.contract.as_deref()));
        let blockers = lines::blockers(docs, task)?;
        let count = blockers.len() as u64;
        Ok(Self {
            now: format!("Task {} ({}): {}", task.id, meta.status.name(), meta.title),
            why: text::cut(why.unwrap_or_default(), WHY_CHARS_MAX),
            verify: [
                lines::definition(task),
                lines::verify(task, steps),
                lines::waived(docs, task)?,
            ]
            .concat(),
            next: match meta.status {
                TaskStatus::Done => lines::lapsed(task),
                TaskStatus::Todo | TaskStatus::Active => lines::next(task),
            },
            blockers: capped(blockers, count),
        })
    }

    pub(super) fn of_plan(docs: &TaskDocs, plan: &Plan) -> TaskLookup<Self> {
        let meta = &plan.meta;
        let why = plan.contract.as_deref().or(meta.description.as_deref()).unwrap_or_default();
        let [open, next] = rollup::lists(plan);
        let blocked = marked(plan, Mark::Blocked, BLOCKER_LINES_MAX as u32);
        docs.have_briefs(&[open, next, blocked, marked(plan, Mark::Unconfirmed, 1)])?;
        let verify = plan_verify(docs, plan)?;
        let next = plan_next(docs, plan)?;
        let (blockers, count) = plan_blockers(docs, plan, BLOCKER_LINES_MAX)?;
        Ok(Self {
            now: format!("Plan {} ({}): {}", plan.id, meta.status.name(), meta.title),
            why: text::cut(why, WHY_CHARS_MAX),
            verify,
            next,
            blockers: capped(blockers, count),
        })
    }
}

/// The first lines and, when there are more, how many.
fn capped(mut lines: Vec<ViewLine>, count: u64) -> Vec<ViewLine> {
    lines.truncate(BLOCKER_LINES_MAX);
    let hidden = count.saturating_sub(lines.len() as u64);
    if hidden > 0 {
        lines.push(format!("+{hidden} more"));
    }
    lines
}

fn marked(plan: &Plan, mark: Mark, limit: u32) -> ListQuery {
    ListQuery {
        parent: Some(plan.id.to_string()),
        mark: Some(mark),
        limit: Some(limit),
        ..ListQuery::of("task")
    }
}

fn plan_verify(docs: &TaskDocs, plan: &Plan) -> TaskLookup<Vec<ViewLine>> {
    let first = docs.briefs(&marked(plan, Mark::Unconfirmed, 1))?;
    let line = first.first().map(|task| {
        let count = plan.sums.tasks_unconfirmed;
        format!("Confirm checkpoints in {count} task(s), first {}", task.id)
    });
    Ok(line.into_iter().collect())
}

/// TASKS-VIEW-8.
fn plan_next(docs: &TaskDocs, plan: &Plan) -> TaskLookup<Vec<ViewLine>> {
    if plan.meta.status == TaskStatus::Done {
        return Ok(Vec::new());
    }
    let mut next = Vec::new();
    if let Some(task) = next_task(docs, plan)? {
        let first = task.next.as_deref().unwrap_or_default();
        next.push(format!("Work on {}: {first}", task.id));
    }
    let checklist = &plan.checklist;
    if let Some(item) = checklist.steps.get(checklist.current as usize) {
        let point = checklist.current + 1;
        let total = checklist.steps.len();
        next.push(format!("Checklist {point}/{total}: {item}"));
    }
    let tasks = &plan.sums.tasks;
    if tasks.total() == 0 {
        next.push(format!("Add a task to {}", plan.id));
    } else if tasks.done == tasks.total() {
        next.push(format!("Finish {}", plan.id));
    }
    next.truncate(NEXT_LINES_MAX);
    Ok(next.iter().map(|line| text::cut(line, 160)).collect())
}

/// The first blocker lines of a plan or task and how many there are in all.
pub(super) fn all_blockers(
    docs: &TaskDocs,
    id: EntityId,
    limit: usize,
) -> TaskResult<(Vec<ViewLine>, u64)> {
    match id {
        EntityId::Task(id) => {
            let lines = lines::blockers(docs, lookup::task(docs, id)?)?;
            let count = lines.len() as u64;
            Ok((lines, count))
        }
        EntityId::Plan(id) => Ok(plan_blockers(docs, lookup::plan(docs, id)?, limit)?),
    }
}

/// Blocker lines of tasks not done by id, then the plan's own waits; and how many there are in all.
fn plan_blockers(docs: &TaskDocs, plan: &Plan, limit: usize) -> TaskLookup<(Vec<ViewLine>, u64)> {
    let mut blockers = Vec::new();
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    for task in docs.briefs(&marked(plan, Mark::Blocked, limit))? {
        for line in task.blockers(docs)? {
            blockers.push(text::cut(&format!("{} {line}", task.id), 200));
        }
    }
    blockers.extend(lines::waits(docs, &plan.meta.waits())?);
    let count = plan.sums.blocker_lines + plan.meta.waiting_on.len() as u64;
    Ok((blockers, count))
}
