//! The tree of plans and tasks, and of steps when they are asked for.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use serde_json::{Map, Value, json};

use super::{
    rows::{CliPlanRow, CliTaskRow, Context},
    step::{self, StepRow},
};
use crate::{
    people::{Look, OpenWorkspace, read},
    screen::{Screen, Tone, cut, fill},
};

/// Rows of one page of `tasks_context`.
const PAGE_ROWS: u32 = 1_000;
/// Columns of the bar, the percentage and the count at a line's end.
const GAUGE_COLUMNS: usize = 24;

/// What a plan or task can be.
const STATUSES: [&str; 3] = ["TODO", "ACTIVE", "DONE"];

/// Which plans and tasks the tree holds.
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

    /// Only where id, title, description or context holds this text
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,

    /// Tasks at most
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: u32,
}

/// Prints the tree.
pub(super) fn run(desk: &OpenWorkspace, look: &Look, filters: &Filters) -> anyhow::Result<()> {
    let mut raw = gather(desk, filters)?;
    if filters.steps {
        raw["steps"] = steps(desk, &raw)?;
    }
    look.print(&raw, |screen| Ok(Tree::of(desk, &raw, screen, filters)?.render()))
}

impl Filters {
    fn arguments(&self) -> Map<String, Value> {
        let given = [
            ("plan", self.plan.as_ref().map(|plan| json!(plan))),
            ("status", self.status.as_ref().map(|status| json!(status.to_uppercase()))),
            ("tags", (!self.tag.is_empty()).then(|| json!(self.tag))),
            ("query", self.query.as_ref().map(|query| json!(query))),
        ];
        let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        given.collect()
    }

    fn any(&self) -> bool {
        !self.arguments().is_empty()
    }
}

/// The first page, with the rows of the further ones added until the limit is reached.
fn gather(desk: &OpenWorkspace, filters: &Filters) -> anyhow::Result<Value> {
    let mut arguments = filters.arguments();
    arguments.insert("plans_limit".to_owned(), json!(PAGE_ROWS));
    arguments.insert("tasks_limit".to_owned(), json!(filters.limit.min(PAGE_ROWS)));
    let mut whole = desk.ask("tasks_context", Value::Object(arguments.clone()))?;
    for list in ["plans", "tasks"] {
        let pagination = format!("{list}_pagination");
        let most = if list == "tasks" { filters.limit as usize } else { usize::MAX };
        let other = if list == "tasks" { "plans_limit" } else { "tasks_limit" };
        loop {
            let shown = whole[list].as_array().map_or(0, Vec::len);
            let cursor = whole[&pagination]["next_cursor"].clone();
            if cursor.is_null() || shown >= most {
                break;
            }
            let room = u32::try_from(most - shown).unwrap_or(PAGE_ROWS).min(PAGE_ROWS);
            let mut further = arguments.clone();
            further.insert(format!("{list}_cursor"), cursor);
            further.insert(format!("{list}_limit"), json!(room));
            further.insert(other.to_owned(), json!(0));
            let mut page = desk.ask("tasks_context", Value::Object(further))?;
            let rows = page[list].as_array_mut().map(std::mem::take).unwrap_or_default();
            if let Some(known) = whole[list].as_array_mut() {
                known.extend(rows);
                let count = known.len();
                whole[&pagination] = page[&pagination].take();
                whole[&pagination]["count"] = json!(count);
            }
        }
    }
    Ok(whole)
}

/// The steps of every task shown, by its id.
fn steps(desk: &OpenWorkspace, raw: &Value) -> anyhow::Result<Value> {
    let ids = raw["tasks"].as_array().into_iter().flatten().filter_map(|task| task["id"].as_str());
    let steps = ids.map(|id| Ok((id.to_owned(), step::mirrored(desk, id)?)));
    Ok(Value::Object(steps.collect::<anyhow::Result<_>>()?))
}

/// Everything that the tree shows.
struct Tree<'a> {
    desk: &'a OpenWorkspace,
    screen: Screen,
    filters: &'a Filters,
    context: Context,
    steps: BTreeMap<String, Vec<StepRow>>,
    focus: Option<String>,
    text: String,
}

impl<'a> Tree<'a> {
    fn of(
        desk: &'a OpenWorkspace,
        raw: &Value,
        screen: Screen,
        filters: &'a Filters,
    ) -> anyhow::Result<Self> {
        let mut context: Context = read(raw)?;
        add_missing_plans(desk, &mut context)?;
        let focus = desk.ask("tasks_focus_get", json!({}))?;
        let focus = focus["focus"].as_str().map(str::to_owned);
        let steps = read(&raw["steps"]).unwrap_or_default();
        Ok(Self { desk, screen, filters, context, steps, focus, text: String::new() })
    }

    fn render(mut self) -> String {
        self.heading();
        let plans = std::mem::take(&mut self.context.plans);
        let tasks = std::mem::take(&mut self.context.tasks);
        for plan in &plans {
            self.text.push('\n');
            self.plan(plan);
            let own: Vec<&CliTaskRow> =
                tasks.iter().filter(|task| task.parent == plan.id).collect();
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
        let Context { counts, by_status, .. } = &self.context;
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

    fn plan(&mut self, plan: &CliPlanRow) {
        let done = plan.tasks;
        let percent = (done.done * 100).checked_div(done.total).unwrap_or(0);
        let gauge = self.gauge(percent, done.done, done.total);
        let line = self.entry("", (&plan.status, &plan.id, &plan.title), &gauge);
        self.line(&line);
        let mut remarks = self.remarks(&plan.priority, &plan.tags, &plan.waiting_on);
        if plan.plan_progress != "0/0" {
            let checklist = format!("checklist {}", plan.plan_progress);
            remarks.insert(0, self.screen.paint(Tone::Faint, &checklist));
        }
        let bar = if done.total > 0 { "│" } else { " " };
        self.remark_line(&format!("{bar} "), &remarks);
    }

    fn task(&mut self, task: &CliTaskRow, last: bool) {
        let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let closed = task.steps_count - task.steps_open;
        let gauge = self.gauge(task.progress, closed, task.steps_count);
        let line = self.entry(branch, (&task.status, &task.id, &task.title), &gauge);
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
        remarks.extend(self.remarks(&task.priority, &task.tags, &task.waiting_on));
        remarks.extend(task.assignee.as_ref().map(|name| format!("@{name}")));
        self.remark_line(&format!("{below}  "), &remarks);
        let steps = self.steps.remove(&task.id).unwrap_or_default();
        for line in step::tree(self.screen, &steps, below) {
            self.line(&line);
        }
    }

    /// Glyph of the status, id and title on the left, progress on the right.
    fn entry(&self, branch: &str, (status, id, title): (&str, &str, &str), gauge: &str) -> String {
        let (glyph, tone) = step::status_glyph(status);
        let here = if self.focus.as_deref() == Some(id) { " ◀" } else { "" };
        let taken = branch.chars().count() + 2 + id.len() + 1 + GAUGE_COLUMNS + 1;
        let room = self.screen.columns().saturating_sub(taken).max(10);
        let title = fill(&(cut(title, room - here.chars().count()) + here), room);
        let title = match status {
            "DONE" => self.screen.paint(Tone::Faint, &title),
            _ => title,
        };
        let branch = self.screen.paint(Tone::Faint, branch);
        let id = self.screen.paint(Tone::Strong, id);
        format!("{branch}{} {id} {title} {gauge}", self.screen.paint(tone, glyph))
    }

    fn gauge(&self, percent: u64, done: u64, total: u64) -> String {
        if total == 0 {
            return self.screen.paint(Tone::Faint, "nothing in it yet");
        }
        format!("{} {percent:>3} % {:>7}", self.screen.bar(percent), format!("{done}/{total}"))
    }

    fn remarks(&self, priority: &str, tags: &[String], waiting_on: &[String]) -> Vec<String> {
        let mut remarks = Vec::new();
        if !waiting_on.is_empty() {
            let waits = format!("⧗ waits for {}", waiting_on.join(", "));
            remarks.push(self.screen.paint(Tone::Warning, &waits));
        }
        if priority != "MEDIUM" {
            remarks.push(priority.to_lowercase() + " priority");
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
            let more = format!("\n{shown} of {all} tasks are shown: --limit {all} shows all");
            self.line(&more);
        }
    }
}

/// Tasks can match without their plan: fetch the plans that the tree needs.
fn add_missing_plans(desk: &OpenWorkspace, context: &mut Context) -> anyhow::Result<()> {
    let known: BTreeSet<&str> = context.plans.iter().map(|plan| plan.id.as_str()).collect();
    let parents: BTreeSet<&str> = context.tasks.iter().map(|task| task.parent.as_str()).collect();
    let missing: Vec<String> = parents.difference(&known).map(|id| (*id).to_owned()).collect();
    for id in missing {
        let raw = desk.ask("tasks_context", json!({"plan": id, "tasks_limit": 0}))?;
        context.plans.extend(read::<Context>(&raw)?.plans);
    }
    context.plans.sort_by_key(|plan| number(&plan.id));
    Ok(())
}

/// Ids sort by their number (TASKS-ORD-1).
fn number(id: &str) -> u64 {
    id.rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
