//! The shift report: what is done, what remains, the risks (view 4.3).

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{StepsSummary, ViewLine, brief::TaskBrief, lines, notes, rollup::next_task};
use crate::{
    ListQuery,
    tasks::{
        TaskDocs, TaskLookup, TaskResult,
        entity::{Plan, Task, TaskStatus},
        id::EntityId,
        lookup,
        memory::{EVIDENCE_SOURCE, NoteEntry},
        step::Step,
    },
    text,
};

/// Characters of a line.
const LINE_CHARS_MAX: usize = 200;
/// Notes in a report.
const NOTES_MAX: usize = 3;
/// Entries that are looked through for them.
const NOTE_ENTRIES_MAX: u32 = 20;
/// Characters of a note.
const NOTE_CHARS_MAX: usize = 400;
/// Page size while lines are collected.
const TASKS_PER_PAGE: u32 = 20;
/// Statuses of tasks that are not done.
const OPEN: [TaskStatus; 2] = [TaskStatus::Todo, TaskStatus::Active];

/// Done, remaining, risks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Handoff {
    /// What is finished.
    pub done: Vec<ViewLine>,
    /// What is left.
    pub remaining: Vec<ViewLine>,
    /// What could go wrong.
    pub risks: Vec<ViewLine>,
    /// The newest notes, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<HandoffNote>,
}

/// A note in the report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HandoffNote {
    /// When it was written.
    pub ts: String,
    /// The step it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The operation that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How it begins.
    pub text: String,
}

impl HandoffNote {
    fn of(note: &NoteEntry) -> Self {
        let fact = |name: &str| note.meta.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            ts: note.at.rfc3339(),
            path: fact("path"),
            source: fact("source"),
            text: text::cut(&note.content, NOTE_CHARS_MAX),
        }
    }
}

/// Whether an agent or person wrote it, rather than a capture of evidence.
fn was_written(note: &NoteEntry) -> bool {
    note.meta.get("source").is_none_or(|source| source != EVIDENCE_SOURCE)
}

impl Handoff {
    /// The lists, each at most `limit` lines.
    pub fn of(docs: &TaskDocs, id: EntityId, limit: usize) -> TaskResult<Self> {
        Self::with_risks(docs, id, limit, &[])
    }

    /// The same, where these are the first risks of a task.
    pub fn with_risks(
        docs: &TaskDocs,
        id: EntityId,
        limit: usize,
        risks: &[ViewLine],
    ) -> TaskResult<Self> {
        match id {
            EntityId::Task(id) => Ok(of_task(docs, lookup::task(docs, id)?, limit, risks)?),
            EntityId::Plan(id) => Ok(of_plan(docs, lookup::plan(docs, id)?, limit)?),
        }
    }

    /// The same with the newest notes.
    pub fn with_notes(self, docs: &TaskDocs, id: EntityId) -> TaskLookup<Self> {
        // Captures of evidence leave entries, too.
        let entries = notes::newest(docs, id, None, NOTE_ENTRIES_MAX)?;
        let written = entries.iter().filter(|note| was_written(note)).take(NOTES_MAX);
        Ok(Self { notes: written.map(|note| HandoffNote::of(note)).collect(), ..self })
    }
}

/// The first lines of a list; further lines are counted, not written.
struct Capped {
    lines: Vec<ViewLine>,
    total: usize,
    limit: usize,
}

impl Capped {
    fn new(limit: usize) -> Self {
        Self { lines: Vec::new(), total: 0, limit }
    }

    fn push(&mut self, line: impl FnOnce() -> ViewLine) {
        self.total += 1;
        if self.lines.len() < self.limit {
            self.lines.push(text::cut(&line(), LINE_CHARS_MAX));
        }
    }

    fn is_full(&self) -> bool {
        self.lines.len() == self.limit
    }

    /// The lines; a longer list ends with how many are missing. `total` counts lines that were not
    /// even read.
    fn finish(mut self, total: usize) -> Vec<ViewLine> {
        let total = total.max(self.total);
        if total > self.limit
            && let Some(last) = self.lines.last_mut()
        {
            *last = format!("+{} more", total - (self.limit - 1));
        }
        self.lines
    }
}

fn of_task(
    docs: &TaskDocs,
    task: &Task,
    limit: usize,
    first_risks: &[ViewLine],
) -> TaskLookup<Handoff> {
    let (closed, total) = task.closed_of_total();
    let mut done = Capped::new(limit);
    done.push(|| format!("Steps closed: {closed}/{total}"));
    for step in latest_closed(task, limit) {
        let forced = if step.waiver.is_some() { " (forced)" } else { "" };
        done.push(|| format!("{} {}{forced}", step.path, step.title));
    }
    let mut remaining = Capped::new(limit);
    remaining.push(|| format!("Steps open: {}", total - closed));
    if let Some(first) = task.steps.first_open() {
        remaining.push(|| format!("Next: {} {}", first.path, first.title));
        let mut others = task.steps.iter().filter(|s| !s.is_closed() && s.id != first.id);
        while !remaining.is_full()
            && let Some(step) = others.next()
        {
            remaining.push(|| format!("{} {}", step.path, step.title));
        }
    }
    let mut risks = Capped::new(limit);
    let verify = lines::verify(task, &StepsSummary::of(task)).into_iter();
    let first = first_risks.iter().cloned().chain(lines::waived(docs, task)?);
    let open = first.chain(verify).chain(lines::blockers(docs, task)?);
    open.chain(lines::forced(task)).chain(lines::risks(task)).for_each(|line| risks.push(|| line));
    Ok(Handoff {
        done: done.finish(1 + closed),
        remaining: remaining.finish(1 + total - closed),
        risks: risks.finish(0),
        notes: Vec::new(),
    })
}

/// The steps that were closed last, newest first.
fn latest_closed(task: &Task, limit: usize) -> Vec<&Step> {
    // Closings within one millisecond are ordered by their position.
    let newest = |step: &&Step| Reverse((step.completed_at, step.graph_seq));
    let mut closed: Vec<&Step> = task.steps.iter().filter(|step| step.is_closed()).collect();
    if limit < closed.len() {
        closed.select_nth_unstable_by_key(limit, newest);
        closed.truncate(limit);
    }
    closed.sort_by_key(newest);
    closed
}

/// Passes on the risks of a task of a plan, line by line.
fn each_risk(docs: &TaskDocs, task: &TaskBrief, act: &mut dyn FnMut(&str)) -> TaskLookup<()> {
    let blockers = task.blockers(docs)?;
    task.verify.iter().for_each(|line| act(line));
    blockers.iter().for_each(|line| act(line));
    task.forced.iter().chain(&task.risks).for_each(|line| act(line));
    Ok(())
}

fn of_plan(docs: &TaskDocs, plan: &Plan, limit: usize) -> TaskLookup<Handoff> {
    let tasks = &plan.sums.tasks;
    let total = tasks.total() as usize;
    let finished = tasks.done as usize;
    let [finished_tasks, open_tasks] = tasks_of(plan, limit);
    let mut done = Capped::new(limit);
    done.push(|| format!("Tasks done: {finished}/{total}"));
    let points = plan.checklist.steps.len();
    if points > 0 {
        done.push(|| format!("Checklist: {}", plan.checklist.progress()));
    }
    let done_count = done.total + finished;
    for task in docs.briefs(&finished_tasks)? {
        done.push(|| format!("{} {}", task.id, task.title));
    }
    let mut remaining = Capped::new(limit);
    remaining.push(|| format!("Tasks open: {}", total - finished));
    let next = next_task(docs, plan)?;
    if let Some(task) = &next {
        remaining.push(|| format!("Next: {} {}", task.id, task.title));
    }
    for task in docs.briefs(&open_tasks)? {
        if next.as_ref().is_none_or(|next| next.id != task.id) {
            remaining.push(|| format!("{} {}", task.id, task.title));
        }
    }
    let left = plan.checklist.steps.iter().skip(plan.checklist.current as usize);
    let left_count = 1 + (total - finished) + left.len();
    if remaining.total == 1 + (total - finished) {
        left.for_each(|point| remaining.push(|| point.clone()));
    }
    Ok(Handoff {
        done: done.finish(done_count),
        remaining: remaining.finish(left_count),
        risks: plan_risks(docs, plan, limit)?,
        notes: Vec::new(),
    })
}

/// Makes sure that the lists of a plan's report are loaded.
pub(super) fn gather_lists(docs: &TaskDocs, id: EntityId, limit: usize) -> TaskResult<()> {
    let EntityId::Plan(id) = id else { return Ok(()) };
    let plan = lookup::plan(docs, id)?;
    let mut lists = tasks_of(plan, limit).to_vec();
    if plan.sums.risk_lines + plan.sums.done_forced > 0 {
        lists.push(risky_tasks(plan, None));
    }
    docs.have_briefs(&lists)?;
    Ok(())
}

/// The tasks that are done and those that are not, as many as can be shown.
fn tasks_of(plan: &Plan, limit: usize) -> [ListQuery; 2] {
    let of = |statuses: &[TaskStatus]| ListQuery {
        parent: Some(plan.id.to_string()),
        statuses: statuses.iter().map(|status| status.name()).collect(),
        limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)),
        ..ListQuery::of("task")
    };
    [of(&[TaskStatus::Done]), of(&OPEN)]
}

/// Risk lines of tasks by id until there are enough, then the plan's own waits.
fn plan_risks(docs: &TaskDocs, plan: &Plan, limit: usize) -> TaskLookup<Vec<ViewLine>> {
    let own = lines::waits(docs, &plan.meta.waits())?;
    let of_tasks = (plan.sums.risk_lines + plan.sums.done_forced) as usize;
    let mut risks = Capped::new(limit);
    let mut after = None;
    while risks.total < of_tasks && !risks.is_full() {
        let page = docs.briefs(&risky_tasks(plan, after))?;
        let Some(last) = page.last() else { break };
        after = Some(last.id.0);
        for task in page {
            let mut act = |line: &str| risks.push(|| format!("{} {line}", task.id));
            if task.status == TaskStatus::Done {
                task.forced.iter().for_each(|line| act(line));
            } else {
                each_risk(docs, &task, &mut act)?;
            }
            if risks.is_full() {
                break;
            }
        }
    }
    let total = of_tasks + own.len();
    own.into_iter().for_each(|line| risks.push(|| line));
    Ok(risks.finish(total))
}

/// A page of the tasks that can have risks, by id: those that are done only when one was forced.
fn risky_tasks(plan: &Plan, after: Option<u64>) -> ListQuery {
    let statuses: &[TaskStatus] = if plan.sums.done_forced == 0 { &OPEN } else { &TaskStatus::ALL };
    ListQuery {
        parent: Some(plan.id.to_string()),
        statuses: statuses.iter().map(|status| status.name()).collect(),
        after,
        limit: Some(TASKS_PER_PAGE),
        ..ListQuery::of("task")
    }
}
