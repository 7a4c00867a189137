//! beads: `.beads/issues.jsonl`, an issue a line.
//!
//! An epic is a plan, any other issue a task of its nearest epic. Issues without an epic are the
//! tasks of one more plan.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ImportedItem, ImportedPlan, ImportedTask, PlanFile, PlanFileFault, SourceState, checklist,
    states::StateWords,
    tree::{keep, said},
};
use crate::tasks::entity::Urgency;

/// Id and title of the plan of issues without an epic.
const LOOSE: (&str, &str) = ("issues", "Issues");
const EPIC: &str = "epic";
const TASK: &str = "task";
const BLOCKS: &str = "blocks";
const PARENT: &str = "parent-child";
/// Priority of issues for some day; Muster has one step less.
const SOME_DAY: i64 = 4;

const WORDS: StateWords = StateWords {
    open: "open",
    active: "in_progress",
    blocked: "blocked",
    closed: "closed",
    cancelled: "tombstone",
    others: &[("hooked", "in_progress"), ("deferred", "blocked"), ("pinned", "open")],
};

/// A line. What no field is for stays in `rest`.
#[derive(Serialize, Deserialize)]
struct Bead {
    id: String,
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    design: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    acceptance_criteria: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    priority: Option<i64>,
    #[serde(default)]
    issue_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assignee: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dependencies: Option<Vec<Map<String, Value>>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

pub(super) fn read(files: &[PlanFile]) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut beads = Vec::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let bead: Bead =
                serde_json::from_str(line).map_err(|error| file.json_fault(&error, at))?;
            if let Some(first) = lines.insert(bead.id.clone(), at + 1) {
                let cause = format!("{} is also on line {first}", bead.id);
                return Err(file.fault(Some(at + 1), cause));
            }
            beads.push(bead);
        }
    }
    Ok(plans(beads))
}

fn plans(beads: Vec<Bead>) -> Vec<ImportedPlan> {
    let homes = Homes::of(&beads);
    let mut plans: Vec<ImportedPlan> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let (epics, issues): (Vec<Bead>, Vec<Bead>) = beads.into_iter().partition(is_epic);
    for epic in epics {
        places.insert(epic.id.clone(), plans.len());
        let task = task_of(epic);
        let mut item = task.item;
        let criteria =
            [task.success_criteria, task.steps.iter().map(|s| s.title.clone()).collect()];
        keep(&mut item.meta, "success_criteria", criteria.concat());
        keep(&mut item.meta, "assignee", task.assignee);
        plans.push(ImportedPlan { item, tasks: Vec::new() });
    }
    for issue in issues {
        let home = homes.epic_of(&issue.id).unwrap_or(LOOSE.0);
        let place = *places.entry(home.to_owned()).or_insert_with(|| {
            let (id, title) = (LOOSE.0.to_owned(), LOOSE.1.to_owned());
            let item = ImportedItem { id, title, ..ImportedItem::default() };
            plans.push(ImportedPlan { item, tasks: Vec::new() });
            plans.len() - 1
        });
        let task = task_of(issue);
        plans[place].tasks.push(task);
    }
    plans
}

fn is_epic(bead: &Bead) -> bool {
    bead.issue_type.as_deref() == Some(EPIC)
}

/// Which issue is whose child.
struct Homes {
    parents: BTreeMap<String, String>,
    epics: BTreeSet<String>,
}

impl Homes {
    fn of(beads: &[Bead]) -> Self {
        let mut parents = BTreeMap::new();
        for bead in beads {
            for link in links(bead).filter(|link| link.kind == PARENT) {
                parents.insert(bead.id.clone(), link.on.to_owned());
            }
        }
        let epics = beads.iter().filter(|bead| is_epic(bead)).map(|bead| bead.id.clone());
        Self { parents, epics: epics.collect() }
    }

    /// The nearest epic above an issue. Parents may form a circle.
    fn epic_of(&self, id: &str) -> Option<&str> {
        let mut seen = BTreeSet::new();
        let mut at = self.parents.get(id)?;
        while seen.insert(at) {
            if self.epics.contains(at) {
                return Some(at);
            }
            at = self.parents.get(at)?;
        }
        None
    }
}

/// A dependency of an issue.
struct BeadLink<'a> {
    kind: &'a str,
    on: &'a str,
}

fn links(bead: &Bead) -> impl Iterator<Item = BeadLink<'_>> {
    bead.dependencies.iter().flatten().filter_map(link)
}

fn link(dependency: &Map<String, Value>) -> Option<BeadLink<'_>> {
    let text = |key: &str| dependency.get(key).and_then(Value::as_str);
    Some(BeadLink { kind: text("type").unwrap_or(BLOCKS), on: text("depends_on_id")? })
}

/// The task of an issue.
fn task_of(bead: Bead) -> ImportedTask {
    let needs = links(&bead).filter(|link| link.kind == BLOCKS).map(|link| link.on.to_owned());
    let needs = needs.collect();
    let mut meta = bead.rest;
    meta.retain(|_, value| !value.is_null());
    let mut state = WORDS.state(bead.status.as_deref().unwrap_or_default(), &mut meta);
    if let SourceState::Cancelled { reason } = &mut state {
        *reason = meta.get("delete_reason").and_then(Value::as_str).map(str::to_owned);
    }
    let kind = bead.issue_type.filter(|kind| kind != TASK && kind != EPIC);
    keep(&mut meta, "issue_type", kind);
    let priority = bead.priority.map(|priority| match priority {
        0 => Urgency::Critical,
        1 => Urgency::High,
        2 => Urgency::Medium,
        _ => Urgency::Low,
    });
    keep(&mut meta, "priority", bead.priority.filter(|priority| *priority >= SOME_DAY));
    keep(
        &mut meta,
        "dependencies",
        bead.dependencies.map(|all| all.into_iter().map(Value::Object).collect::<Vec<_>>()),
    );
    let mut task = ImportedTask { assignee: said(bead.assignee), ..ImportedTask::default() };
    if let Some(text) = said(bead.acceptance_criteria) {
        match checklist::of_text(&text) {
            Some(steps) => task.steps = steps,
            None => task.success_criteria = text.lines().map(str::to_owned).collect(),
        }
        keep(&mut meta, "acceptance_criteria", text);
    }
    task.item = ImportedItem {
        id: bead.id,
        title: bead.title,
        description: said(bead.description),
        context: said(bead.design),
        state,
        priority,
        tags: bead.labels.unwrap_or_default(),
        needs,
        meta,
    };
    task
}

pub(super) fn write(plans: &[ImportedPlan]) -> PlanFile {
    let mut text = String::new();
    for plan in plans {
        let epic = (plan.item.id != LOOSE.0).then_some(plan.item.id.as_str());
        if epic.is_some() {
            let task = ImportedTask { item: plan.item.clone(), ..ImportedTask::default() };
            push_line(&mut text, &bead_of(&task, EPIC, None));
        }
        for task in &plan.tasks {
            push_line(&mut text, &bead_of(task, TASK, epic));
        }
    }
    PlanFile { path: "issues.jsonl".to_owned(), text }
}

fn push_line(text: &mut String, bead: &Bead) {
    let line = serde_json::to_string(bead)
        .unwrap_or_else(|error| unreachable!("an issue is plain JSON: {error}"));
    text.push_str(&line);
    text.push('\n');
}

fn bead_of(task: &ImportedTask, kind: &str, epic: Option<&str>) -> Bead {
    let item = &task.item;
    let mut rest = item.meta.clone();
    let status = WORDS.word(&item.state, &item.meta).to_owned();
    let taken = |rest: &mut Map<String, Value>, key: &str| rest.shift_remove(key);
    taken(&mut rest, "status");
    if let SourceState::Cancelled { reason: Some(reason) } = &item.state {
        rest.insert("delete_reason".to_owned(), reason.as_str().into());
    }
    let kept = taken(&mut rest, "dependencies");
    let criteria = taken(&mut rest, "acceptance_criteria");
    let issue_type = taken(&mut rest, "issue_type");
    let issue_type = issue_type.as_ref().and_then(Value::as_str).unwrap_or(kind).to_owned();
    let some_day = taken(&mut rest, "priority").and_then(|priority| priority.as_i64());
    let priority = item.priority.map(|urgency| match urgency {
        Urgency::Critical => 0,
        Urgency::High => 1,
        Urgency::Medium => 2,
        Urgency::Low => some_day.unwrap_or(3),
    });
    let dependencies = dependencies_of(item, kept, epic);
    Bead {
        id: item.id.clone(),
        title: item.title.clone(),
        description: item.description.clone(),
        design: item.context.clone(),
        acceptance_criteria: criteria_of(task, criteria.as_ref()),
        status: Some(status),
        priority,
        issue_type: Some(issue_type),
        assignee: task.assignee.clone(),
        labels: (!item.tags.is_empty()).then(|| item.tags.clone()),
        dependencies: (!dependencies.is_empty()).then_some(dependencies),
        rest,
    }
}

/// The text that the source had, if it still says the same; else the lists of the task.
fn criteria_of(task: &ImportedTask, kept: Option<&Value>) -> Option<String> {
    let kept = kept.and_then(Value::as_str);
    let mut text = String::new();
    if task.steps.is_empty() {
        text = task.success_criteria.join("\n");
    } else {
        checklist::write(&task.steps, 0, &mut text);
    }
    if let Some(kept) = kept {
        let lines = kept.lines().map(str::trim).filter(|line| !line.is_empty());
        let same_lines = task.steps.is_empty() && lines.eq(task.success_criteria.iter());
        let mut again = String::new();
        if let Some(steps) = checklist::of_text(kept) {
            checklist::write(&steps, 0, &mut again);
        }
        if same_lines || (!again.is_empty() && again == text) {
            return Some(kept.to_owned());
        }
    }
    said(Some(text))
}

/// The dependencies that the source had and that are still there, then new ones.
fn dependencies_of(
    item: &ImportedItem,
    kept: Option<Value>,
    epic: Option<&str>,
) -> Vec<Map<String, Value>> {
    let kept = kept.and_then(|kept| serde_json::from_value::<Vec<Map<String, Value>>>(kept).ok());
    let mut all = kept.unwrap_or_default();
    let is_there = |dependency: &Map<String, Value>| {
        link(dependency)
            .is_none_or(|link| link.kind != BLOCKS || item.needs.iter().any(|need| need == link.on))
    };
    all.retain(is_there);
    let has = |all: &[Map<String, Value>], kind: &str, on: Option<&str>| {
        let mut links = all.iter().filter_map(link);
        links.any(|link| link.kind == kind && on.is_none_or(|on| on == link.on))
    };
    let new = |on: &str, kind: &str| {
        let fields = [("issue_id", item.id.as_str()), ("depends_on_id", on), ("type", kind)];
        fields.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
    };
    if let Some(epic) = epic.filter(|_| !has(&all, PARENT, None)) {
        all.push(new(epic, PARENT));
    }
    for need in &item.needs {
        if !has(&all, BLOCKS, Some(need)) {
            all.push(new(need, BLOCKS));
        }
    }
    all
}
