//! The shift report: what is done, what remains, what could go wrong (view 4.3).

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Line, ReasoningRef, Requested, Rollup, StepsSummary, TargetView, lines,
    radar::{Radar, RadarView},
    rollup::next_task,
};
use crate::{
    Documents, ListQuery, Refusal, Unloaded,
    tasks::{
        Document, Tasks,
        entity::{Plan, Status, Task},
        id::{EntityId, WorkspaceId},
        lookup,
    },
    text,
};

/// Characters of a line.
const LINE_CHARS_MAX: usize = 200;
/// Tasks looked at at once while lines are collected.
const TASKS_PER_PAGE: u32 = 50;

/// The handoff view.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct HandoffView {
    /// The workspace.
    pub workspace: String,
    /// The plan or task.
    pub target: TargetView,
    /// Where its reasoning memory is.
    pub reasoning_ref: ReasoningRef,
    /// One screen of state.
    pub radar: Radar,
    /// The report.
    pub handoff: Handoff,
    /// Of a task: its steps in numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepsSummary>,
    /// Of a plan: its tasks in numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollup: Option<Rollup>,
}

/// Done, remaining, risks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Handoff {
    /// What is finished.
    pub done: Vec<Line>,
    /// What is left.
    pub remaining: Vec<Line>,
    /// What could go wrong.
    pub risks: Vec<Line>,
}

impl HandoffView {
    /// The report about a plan or task.
    pub fn of(
        docs: &Documents<Tasks>,
        workspace: &WorkspaceId,
        id: EntityId,
        limit: u32,
    ) -> Result<Self, Refusal<Tasks>> {
        let radar = RadarView::of(docs, workspace, id, Requested::default())?;
        Ok(Self {
            workspace: radar.workspace,
            target: radar.target,
            reasoning_ref: radar.reasoning_ref,
            radar: radar.radar,
            handoff: Handoff::of(docs, id, limit as usize)?,
            steps: radar.steps,
            rollup: radar.rollup,
        })
    }
}

impl Handoff {
    /// The lists, each at most `limit` lines.
    pub fn of(docs: &Documents<Tasks>, id: EntityId, limit: usize) -> Result<Self, Refusal<Tasks>> {
        match id {
            EntityId::Task(id) => Ok(of_task(docs, lookup::task(docs, id)?, limit)?),
            EntityId::Plan(id) => Ok(of_plan(docs, lookup::plan(docs, id)?, limit)?),
        }
    }
}

/// At most `limit` lines; a longer list ends with how many are missing.
fn capped(lines: &[Line], total: usize, limit: usize) -> Vec<Line> {
    let total = total.max(lines.len());
    let mut lines: Vec<Line> =
        lines.iter().take(limit).map(|line| text::cut(line, LINE_CHARS_MAX)).collect();
    if total > limit
        && let Some(last) = lines.last_mut()
    {
        *last = format!("+{} more", total - (limit - 1));
    }
    lines
}

fn of_task(docs: &Documents<Tasks>, task: &Task, limit: usize) -> Result<Handoff, Unloaded<Tasks>> {
    let (closed, total) = task.closed_of_total();
    let mut done = vec![format!("Steps closed: {closed}/{total}")];
    let mut latest: Vec<_> = task.steps.iter().filter(|step| step.is_closed()).collect();
    // Closings within one millisecond are told apart by their position.
    latest.sort_by_key(|step| std::cmp::Reverse((step.completed_at, step.graph_seq)));
    done.extend(latest.iter().map(|step| {
        let forced = if step.waiver.is_some() { " (forced)" } else { "" };
        format!("{} {}{forced}", step.path, step.title)
    }));
    let mut remaining = vec![format!("Steps open: {}", total - closed)];
    if let Some(first) = task.steps.first_open() {
        remaining.push(format!("Next: {} {}", first.path, first.title));
        let others = task.steps.iter().filter(|s| !s.is_closed() && s.id != first.id);
        remaining.extend(others.map(|step| format!("{} {}", step.path, step.title)));
    }
    let risks = risks(docs, task)?;
    let (done_count, left_count, risk_count) = (done.len(), remaining.len(), risks.len());
    Ok(Handoff {
        done: capped(&done, done_count, limit),
        remaining: capped(&remaining, left_count, limit),
        risks: capped(&risks, risk_count, limit),
    })
}

/// What could go wrong with a task, complete.
fn risks(docs: &Documents<Tasks>, task: &Task) -> Result<Vec<Line>, Unloaded<Tasks>> {
    let mut risks = lines::verify(task, &StepsSummary::of(task));
    risks.extend(lines::blockers(docs, task)?);
    risks.extend(forced(task));
    for step in task.steps.iter() {
        for node in step.open_nodes() {
            let path = step.node_path(node);
            risks.extend(node.lists.risks.iter().map(|risk| format!("{path} risk: {risk}")));
            let problems = node.lists.problems.iter();
            risks.extend(problems.map(|problem| format!("{path} problem: {problem}")));
        }
    }
    Ok(risks)
}

fn forced(task: &Task) -> impl Iterator<Item = Line> {
    task.steps.iter().filter_map(|step| {
        let waiver = step.waiver.as_ref()?;
        let reason = waiver.reason.as_deref().unwrap_or("no reason given");
        Some(format!("Forced: {} ({reason})", step.path))
    })
}

fn of_plan(docs: &Documents<Tasks>, plan: &Plan, limit: usize) -> Result<Handoff, Unloaded<Tasks>> {
    let tasks = &plan.sums.tasks;
    let (total, finished) = (tasks.total() as usize, tasks.done as usize);
    let mut done = vec![format!("Tasks done: {finished}/{total}")];
    let points = plan.checklist.steps.len();
    if points > 0 {
        done.push(format!("Checklist: {}", plan.checklist.progress()));
    }
    let done_count = done.len() + finished;
    for task in list(docs, plan, &[Status::Done], limit)? {
        done.push(format!("{} {}", task.id, task.meta.title));
    }
    let mut remaining = vec![format!("Tasks open: {}", total - finished)];
    let next = next_task(docs, plan)?;
    remaining.extend(next.map(|task| format!("Next: {} {}", task.id, task.meta.title)));
    for task in list(docs, plan, &[Status::Todo, Status::Active], limit)? {
        if next.is_none_or(|next| next.id != task.id) {
            remaining.push(format!("{} {}", task.id, task.meta.title));
        }
    }
    let left = points - (plan.checklist.current as usize).min(points);
    let left_count = 1 + (total - finished) + left;
    if remaining.len() == 1 + (total - finished) {
        let open = plan.checklist.steps.iter().skip(plan.checklist.current as usize);
        remaining.extend(open.cloned());
    }
    let (risks, risk_count) = plan_risks(docs, plan, limit)?;
    Ok(Handoff {
        done: capped(&done, done_count, limit),
        remaining: capped(&remaining, left_count, limit),
        risks: capped(&risks, risk_count, limit),
    })
}

fn list<'a>(
    docs: &'a Documents<Tasks>,
    plan: &Plan,
    statuses: &[Status],
    limit: usize,
) -> Result<Vec<&'a Task>, Unloaded<Tasks>> {
    let query = ListQuery {
        parent: Some(plan.id.to_string()),
        statuses: statuses.iter().map(|status| status.name()).collect(),
        limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)),
        ..ListQuery::of("task")
    };
    Ok(docs.list(&query)?.into_iter().filter_map(Document::as_task).collect())
}

/// Risk lines of tasks by id until there are enough, and how many there are in all.
fn plan_risks(
    docs: &Documents<Tasks>,
    plan: &Plan,
    limit: usize,
) -> Result<(Vec<Line>, usize), Unloaded<Tasks>> {
    let own = lines::waits(docs, &plan.meta)?;
    let total = (plan.sums.risk_lines + plan.sums.done_forced) as usize + own.len();
    let mut risks = Vec::new();
    let mut after = None;
    while risks.len() < total.min(limit) {
        let query = ListQuery {
            parent: Some(plan.id.to_string()),
            after,
            limit: Some(TASKS_PER_PAGE),
            ..ListQuery::of("task")
        };
        let page = docs.list(&query)?;
        let Some(last) = page.last().and_then(|document| document.as_task()) else { break };
        after = Some(last.id.0);
        for task in page.into_iter().filter_map(Document::as_task) {
            let of_task: Vec<Line> = if task.meta.status == Status::Done {
                forced(task).collect()
            } else {
                self::risks(docs, task)?
            };
            risks.extend(of_task.iter().map(|line| format!("{} {line}", task.id)));
        }
    }
    risks.extend(own);
    Ok((risks, total))
}
