//! The tree of plans and tasks, with steps if asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use clap::Args;
use muster_core::tasks::{
    entity::{TaskStatus, Urgency},
    id::{EntityId, TaskId},
    step::{StepLook, StepLookCounts},
    view::{
        context::{ContextView, Pagination, PlanRow, TaskRow},
        mirror::MirrorStep,
    },
};
use serde::Serialize;

use super::{
    calls::{ContextCall, FocusCall, PAGE_ROWS},
    show::joined,
    step,
};
use crate::{
    people::{Look, OpenWorkspace},
    screen::{Screen, Tone, counted, cut, fill},
};

/// Columns of the bar, the percentage and the count at a line's end.
const GAUGE_COLUMNS: usize = 24;

/// The statuses of a plan or task.
const STATUSES: [&str; 3] = ["TODO", "ACTIVE", "DONE"];

/// What can back a closed step.
const LOOKS: [&str; 4] = ["claimed", "evidence", "proven", "waived"];

/// Which plans and tasks the tree shows.
#[derive(Args)]
pub(super) struct Filters {
    /// Show the steps of every task
    #[arg(long)]
    steps: bool,

    /// Only this plan and its tasks
    #[arg(long, value_name = "PLAN-ID")]
    plan: Option<String>,

    /// Only in this status: TODO, ACTIVE or DONE
    #[arg(long, value_name = "STATUS", ignore_case = true, value_parser = STATUSES)]
    status: Option<String>,

    /// Only with this tag; can be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,

    /// Only tasks with a closed step that is claimed, evidence, proven or waived
    #[arg(long, value_name = "LOOK", value_parser = LOOKS)]
    look: Option<String>,

    /// Only where id, title, description or context contains this text
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,

    /// Maximum number of tasks
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: u32,
}

/// Prints the tree.
pub(super) fn run(desk: &OpenWorkspace, look: &Look, filters: &Filters) -> anyhow::Result<()> {
    let context = gather(desk, filters)?;
    let steps = filters.steps.then(|| steps(desk, &context.tasks)).transpose()?;
    let listed = Listed { context, steps };
    look.print(&listed, |screen| Ok(Tree::of(desk, screen, filters, listed.clone())?.render()))
}

type StepsByTask = BTreeMap<TaskId, Vec<MirrorStep>>;

#[derive(Clone, Serialize)]
struct Listed {
    #[serde(flatten)]
    context: ContextView,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<StepsByTask>,
}

impl Filters {
    fn call(&self) -> ContextCall<'_> {
        let named = |word: &String| {
            TaskStatus::ALL.into_iter().find(|status| word.eq_ignore_ascii_case(status.name()))
        };
        ContextCall {
            plan: self.plan.as_deref(),
            status: self.status.as_ref().and_then(named),
            tags: (!self.tag.is_empty()).then_some(&self.tag),
            query: self.query.as_deref(),
            look: self.look.as_deref(),
            plans_limit: PAGE_ROWS,
            tasks_limit: self.limit.min(PAGE_ROWS),
            ..ContextCall::default()
        }
    }

    fn any(&self) -> bool {
        let texts = self.plan.is_some() || self.query.is_some() || self.look.is_some();
        texts || self.status.is_some() || !self.tag.is_empty()
    }
}

/// The first page, with the rows of further pages added until the limit is reached.
fn gather(desk: &OpenWorkspace, filters: &Filters) -> anyhow::Result<ContextView> {
    let mut whole = desk.ask(&filters.call())?;
    while let Some(cursor) = whole.plans_pagination.next_cursor {
        let plans_cursor = Some(cursor);
        let page = desk.ask(&ContextCall { plans_cursor, tasks_limit: 0, ..filters.call() })?;
        whole.plans.extend(page.plans);
        let count = whole.plans.len();
        whole.plans_pagination = Pagination { count, ..page.plans_pagination };
    }
    while let Some(cursor) = whole.tasks_pagination.next_cursor.clone()
        && whole.tasks.len() < filters.limit as usize
    {
        let room = filters.limit as usize - whole.tasks.len();
        let page = desk.ask(&ContextCall {
            tasks_cursor: Some(cursor),
            plans_limit: 0,
            tasks_limit: u32::try_from(room).unwrap_or(PAGE_ROWS).min(PAGE_ROWS),
            ..filters.call()
        })?;
        whole.tasks.extend(page.tasks);
        let count = whole.tasks.len();
        whole.tasks_pagination = Pagination { count, ..page.tasks_pagination };
    }
    Ok(whole)
}

/// The steps of every task shown, by task id.
fn steps(desk: &OpenWorkspace, tasks: &[TaskRow]) -> anyhow::Result<StepsByTask> {
    tasks.iter().map(|task| Ok((task.id, step::mirrored(desk, task.id)?))).collect()
}

struct Tree<'a> {
    desk: &'a OpenWorkspace,
    screen: Screen,
    filters: &'a Filters,
    context: ContextView,
    steps: StepsByTask,
    focus: Option<EntityId>,
    text: String,
}

impl<'a> Tree<'a> {
    fn of(
        desk: &'a OpenWorkspace,
        screen: Screen,
        filters: &'a Filters,
        listed: Listed,
    ) -> anyhow::Result<Self> {
        let mut context = listed.context;
        add_missing_plans(desk, &mut context)?;
        let focus = desk.ask(&FocusCall {})?.focus;
        let steps = listed.steps.unwrap_or_default();
        Ok(Self { desk, screen, filters, context, steps, focus, text: String::new() })
    }

    fn render(mut self) -> String {
        self.heading();
        let plans = std::mem::take(&mut self.context.plans);
        let tasks = std::mem::take(&mut self.context.tasks);
        for plan in &plans {
            self.text.push('\n');
            self.plan(plan);
            let own: Vec<&TaskRow> =
                tasks.iter().filter(|task| task.parent.to_string() == plan.id).collect();
            for (at, task) in own.iter().enumerate() {
                self.task(task, at + 1 == own.len());
            }
        }
        self.footer(tasks.len());
        self.text
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn heading(&mut self) {
        let ContextView { counts, by_status, .. } = &self.context;
        let name = self.screen.paint(Tone::Strong, self.desk.workspace().as_str());
        let matching = if self.filters.any() { " match" } else { "" };
        let line = format!(
            "{name}  {} and {}{matching}: {} todo, {} active, {} done",
            counted(counts.plans, "plan"),
            counted(counts.tasks, "task"),
            by_status.todo,
            by_status.active,
            by_status.done
        );
        self.line(&line);
    }

    fn plan(&mut self, plan: &PlanRow) {
        let done = plan.tasks;
        let percent = (done.done * 100).checked_div(done.total).unwrap_or(0);
        let gauge = self.gauge(percent, done.done, done.total);
        let line = self.entry("", plan.status, (&plan.id, &plan.title), &gauge);
        self.line(&line);
        let mut remarks = self.remarks(plan.priority, &plan.tags, &plan.waiting_on);
        if plan.plan_progress != "0/0" {
            let checklist = format!("checklist {}", plan.plan_progress);
            remarks.insert(0, self.screen.paint(Tone::Faint, &checklist));
        }
        let bar = if done.total > 0 { "│" } else { " " };
        self.remark_line(&format!("{bar} "), &remarks);
    }

    fn task(&mut self, task: &TaskRow, last: bool) {
        let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let closed = task.steps_count - task.steps_open;
        let gauge = self.gauge(task.progress, closed, task.steps_count);
        let id = task.id.to_string();
        let line = self.entry(branch, task.status, (&id, &task.title), &gauge);
        self.line(&line);
        let mut remarks = Vec::new();
        if task.blocked > 0 {
            let blocked = format!("⊘ {} blocked", task.blocked);
            remarks.push(self.screen.paint(Tone::Bad, &blocked));
        }
        if task.forced > 0 {
            let forced = format!("⚑ {} forced", task.forced);
            remarks.push(self.screen.paint(Tone::Warning, &forced));
        }
        remarks.extend(self.looks(&task.looks));
        remarks.extend(self.remarks(task.priority, &task.tags, &task.waiting_on));
        remarks.extend(task.assignee.as_ref().map(|name| format!("@{name}")));
        self.remark_line(&format!("{below}  "), &remarks);
        let steps = self.steps.remove(&task.id).unwrap_or_default();
        for line in step::tree(self.screen, &steps, below) {
            self.line(&line);
        }
    }

    /// Closed steps by what backs them.
    fn looks(&self, counts: &StepLookCounts) -> Option<String> {
        let counted = StepLook::ALL.into_iter().filter_map(|look| {
            let count = counts.get(look);
            let words = format!("{count} {}", look.name());
            (count > 0).then(|| self.screen.paint(step::look_tone(look), &words))
        });
        let counted: Vec<String> = counted.collect();
        (!counted.is_empty()).then(|| counted.join(", "))
    }

    /// Status glyph, id and title on the left, progress on the right.
    fn entry(
        &self,
        branch: &str,
        status: TaskStatus,
        (id, title): (&str, &str),
        gauge: &str,
    ) -> String {
        let (glyph, tone) = step::status_glyph(status);
        let is_here = self.focus.is_some_and(|focus| focus.to_string() == id);
        let here = if is_here { " ◀" } else { "" };
        let taken = branch.chars().count() + 2 + id.len() + 1 + GAUGE_COLUMNS + 1;
        let room = self.screen.columns().saturating_sub(taken).max(10);
        let title = fill(&(cut(title, room - here.chars().count()) + here), room);
        let title = match status {
            TaskStatus::Done => self.screen.paint(Tone::Faint, &title),
            TaskStatus::Todo | TaskStatus::Active => title,
        };
        let branch = self.screen.paint(Tone::Faint, branch);
        let id = self.screen.paint(Tone::Strong, id);
        format!("{branch}{} {id} {title} {gauge}", self.screen.paint(tone, glyph))
    }

    fn gauge(&self, percent: u64, done: u64, total: u64) -> String {
        if total == 0 {
            return self.screen.paint(Tone::Faint, "empty");
        }
        format!("{} {percent:>3} % {:>7}", self.screen.bar(percent), format!("{done}/{total}"))
    }

    fn remarks<T: Display>(
        &self,
        priority: Urgency,
        tags: &[T],
        waiting_on: &[EntityId],
    ) -> Vec<String> {
        let mut remarks = Vec::new();
        if !waiting_on.is_empty() {
            let waits = format!("⧗ waiting for {}", joined(waiting_on));
            remarks.push(self.screen.paint(Tone::Warning, &waits));
        }
        if priority != Urgency::Medium {
            remarks.push(format!("{} priority", priority.word()));
        }
        let tags: Vec<String> = tags.iter().map(|tag| format!("#{tag}")).collect();
        remarks.extend((!tags.is_empty()).then(|| self.screen.paint(Tone::Faint, &tags.join(" "))));
        remarks
    }

    fn remark_line(&mut self, indent: &str, remarks: &[String]) {
        if !remarks.is_empty() {
            let line = format!("{}{}", self.screen.paint(Tone::Faint, indent), remarks.join(" · "));
            self.line(&line);
        }
    }

    fn footer(&mut self, shown: usize) {
        let all = self.context.counts.tasks;
        if all == 0 && self.context.counts.plans == 0 {
            let nothing = if self.filters.any() { "nothing matches" } else { "nothing here yet" };
            self.line(&format!("\n{nothing}"));
        } else if (shown as u64) < all {
            let more = format!("\nshowing {shown} of {all} tasks: --limit {all} shows all");
            self.line(&more);
        }
    }
}

/// Tasks can match when their plan does not: fetch the plans that the tree needs.
fn add_missing_plans(desk: &OpenWorkspace, context: &mut ContextView) -> anyhow::Result<()> {
    let parents: BTreeSet<String> =
        context.tasks.iter().map(|task| task.parent.to_string()).collect();
    for id in parents {
        if context.plans.iter().all(|plan| plan.id != id) {
            let call = ContextCall { plan: Some(&id), plans_limit: 1, ..ContextCall::default() };
            context.plans.extend(desk.ask(&call)?.plans);
        }
    }
    context.plans.sort_by_key(|plan| number(&plan.id));
    Ok(())
}

/// Ids sort by their number (TASKS-ORD-1).
fn number(id: &str) -> u64 {
    id.rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}
