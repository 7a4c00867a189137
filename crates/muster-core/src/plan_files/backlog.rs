//! Backlog.md: `backlog/tasks/*.md`, a task a file with front matter and sections.

use serde_json::{Map, Value};

use super::{
    ImportedItem, ImportedPlan, ImportedTask, PlanFile, PlanFileFault, checklist, front_matter,
    outline::{OutlineItem, sections, trimmed_block},
    states::StateWords,
    tree::{keep, said},
};
use crate::tasks::entity::Urgency;

/// Id and title of the plan of tasks that name none.
const PLAN: (&str, &str) = ("backlog", "Backlog");
/// The facts and the section that Muster adds where it has more than one plan, and steps.
const PLAN_FACT: &str = "plan";
const STEPS: &str = "Steps";
const DESCRIPTION: &str = "Description";
const CRITERIA: &str = "Acceptance Criteria";
const DONE: &str = "Definition of Done";
const IMPLEMENTATION: &str = "Implementation Plan";
/// Key of `meta` for criteria that are ticked, and for further sections.
const TICKED: &str = "ticked";
const SECTIONS: &str = "sections";

const WORDS: StateWords = StateWords {
    open: "To Do",
    active: "In Progress",
    blocked: "Blocked",
    closed: "Done",
    cancelled: "Cancelled",
    others: &[
        ("todo", "To Do"),
        ("in review", "In Progress"),
        ("review", "In Progress"),
        ("deferred", "Blocked"),
        ("parked", "Blocked"),
        ("on hold", "Blocked"),
        ("completed", "Done"),
        ("closed", "Done"),
        ("canceled", "Cancelled"),
    ],
};

pub(super) fn read(files: &[PlanFile]) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut plans: Vec<ImportedPlan> = Vec::new();
    for file in files {
        let (plan, task) = task_of(file)?;
        let title = plan.unwrap_or_else(|| PLAN.1.to_owned());
        let place = plans.iter().position(|known| known.item.title == title).unwrap_or_else(|| {
            let id = if title == PLAN.1 { PLAN.0.to_owned() } else { super::fit::slug(&title) };
            let item = ImportedItem { id, title, ..ImportedItem::default() };
            plans.push(ImportedPlan { item, tasks: Vec::new() });
            plans.len() - 1
        });
        plans[place].tasks.push(task);
    }
    for plan in &mut plans {
        plan.tasks.sort_by_cached_key(|task| numbers(&task.item.id));
    }
    Ok(plans)
}

/// The numbers in an id, so that task-10 follows task-9.
fn numbers(id: &str) -> Vec<u64> {
    let parts = id.split(|character: char| !character.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

fn task_of(file: &PlanFile) -> Result<(Option<String>, ImportedTask), PlanFileFault> {
    let Some(head) = front_matter::read(file)? else {
        return Err(file.fault(Some(1), "there is no front matter: the first line is not \"---\""));
    };
    let mut meta: Map<String, Value> = head.facts.into_iter().collect();
    meta.retain(|_, value| !value.is_null());
    let mut text = |key: &str| match meta.shift_remove(key) {
        Some(Value::String(text)) => said(Some(text)),
        Some(_) | None => None,
    };
    let id = text("id").ok_or_else(|| file.fault(Some(2), "the task has no id"))?;
    let title = text("title").unwrap_or_else(|| file.stem().to_owned());
    let status = text("status").unwrap_or_default();
    let priority = text("priority");
    let phase = text("milestone");
    let plan = text(PLAN_FACT);
    let tags = list(&mut meta, "labels");
    let needs = list(&mut meta, "dependencies");
    let mut assignees = list(&mut meta, "assignee").into_iter();
    let assignee = assignees.next();
    keep(&mut meta, "more_assignees", assignees.collect::<Vec<_>>());
    let urgency = match priority.as_deref().map(str::to_lowercase).as_deref() {
        Some("high") => Some(Urgency::High),
        Some("medium") => Some(Urgency::Medium),
        Some("low") => Some(Urgency::Low),
        Some("critical") => Some(Urgency::Critical),
        Some(_) | None => None,
    };
    keep(&mut meta, "priority", priority.filter(|_| urgency.is_none()));
    let state = WORDS.state(&status, &mut meta);
    let item = ImportedItem {
        id,
        title,
        state,
        priority: urgency,
        tags,
        needs,
        meta,
        ..Default::default()
    };
    let mut task = ImportedTask { item, phase, assignee, ..ImportedTask::default() };
    let body = body_sections(file, head.body, head.lines)?;
    body.iter().for_each(|section| add_section(&mut task, section));
    Ok((plan, task))
}

/// A list, which may be written as one string.
fn list(meta: &mut Map<String, Value>, key: &str) -> Vec<String> {
    match meta.shift_remove(key) {
        Some(Value::Array(items)) => {
            items.into_iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        Some(Value::String(one)) => vec![one],
        Some(_) | None => Vec::new(),
    }
}

/// A section of the text below the facts.
struct BodySection {
    title: String,
    text: String,
}

/// The sections. What is between the comments that begin and end one is not looked at.
fn body_sections(
    file: &PlanFile,
    body: &str,
    above: usize,
) -> Result<Vec<BodySection>, PlanFileFault> {
    let mut all = vec![BodySection { title: String::new(), text: String::new() }];
    let mut end: Option<(String, usize)> = None;
    for (at, line) in body.lines().enumerate() {
        let comment = line.trim().strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        if let Some((name, _)) = &end {
            if comment == Some(name.as_str()) {
                end = None;
                continue;
            }
        } else if let Some(name) = comment.and_then(|comment| comment.strip_suffix(":BEGIN")) {
            end = Some((format!("{name}:END"), above + at + 1));
            continue;
        } else if let Some(title) = line.strip_prefix("## ") {
            all.push(BodySection { title: title.trim().to_owned(), text: String::new() });
            continue;
        }
        if let Some(section) = all.last_mut() {
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    match end {
        Some((name, line)) => {
            Err(file.fault(Some(line), format!("the section has no end: \"<!-- {name} -->\"")))
        }
        None => Ok(all),
    }
}

fn add_section(task: &mut ImportedTask, section: &BodySection) {
    let text = trimmed_block(&section.text);
    if text.is_empty() {
        return;
    }
    let meta = &mut task.item.meta;
    match section.title.as_str() {
        "" | DESCRIPTION => {
            let before = task.item.description.take().map(|before| before + "\n\n");
            task.item.description = Some(before.unwrap_or_default() + &text);
        }
        IMPLEMENTATION => task.item.context = Some(text),
        CRITERIA => task.success_criteria = points(&text, meta),
        DONE => task.tests = points(&text, meta),
        STEPS => task.steps = checklist::of_text(&text).unwrap_or_default(),
        title => {
            let more = meta.entry(SECTIONS).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(more) = more {
                more.insert(title.to_owned(), text.into());
            }
        }
    }
}

/// The points of a list, without their numbers. Those that are ticked are kept in `meta`.
fn points(text: &str, meta: &mut Map<String, Value>) -> Vec<String> {
    let items = sections(text).into_iter().flat_map(|section| section.items);
    let items: Vec<OutlineItem> = items.collect();
    if items.is_empty() {
        return text.lines().map(|line| line.trim().trim_start_matches("- ").to_owned()).collect();
    }
    let mut ticked = Vec::new();
    let points = items.into_iter().map(|item| {
        let after = item.text.strip_prefix('#').and_then(|rest| rest.split_once(' '));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let point = match after {
            Some((number, rest)) if is_number(number) => rest.trim().to_owned(),
            Some(_) | None => item.text.clone(),
        };
        if matches!(item.mark, 'x' | 'X') {
            ticked.push(Value::String(point.clone()));
        }
        point
    });
    let points = points.collect();
    if let Value::Array(list) = meta.entry(TICKED).or_insert_with(|| Value::Array(Vec::new())) {
        list.extend(ticked);
    }
    if meta.get(TICKED).and_then(Value::as_array).is_some_and(Vec::is_empty) {
        meta.shift_remove(TICKED);
    }
    points
}

/// A file for each task.
pub(super) fn write(plans: &[ImportedPlan]) -> Vec<PlanFile> {
    let is_named = plans.len() > 1 || plans.iter().any(|plan| plan.item.title != PLAN.1);
    let tasks = plans.iter().flat_map(|plan| plan.tasks.iter().map(move |task| (plan, task)));
    tasks.map(|(plan, task)| file_of(is_named.then_some(plan.item.title.as_str()), task)).collect()
}

fn file_of(plan: Option<&str>, task: &ImportedTask) -> PlanFile {
    let item = &task.item;
    let meta = &item.meta;
    let own = ["status", "priority", "more_assignees", TICKED, SECTIONS];
    let mut assignees: Vec<Value> = task.assignee.iter().map(|name| name.as_str().into()).collect();
    assignees.extend(
        meta.get("more_assignees").and_then(Value::as_array).into_iter().flatten().cloned(),
    );
    let priority =
        item.priority.map(Urgency::word).or(meta.get("priority").and_then(Value::as_str));
    let facts = [
        ("id", Value::from(item.id.as_str())),
        ("title", item.title.as_str().into()),
        ("status", WORDS.word(&item.state, meta).into()),
        ("assignee", assignees.into()),
        ("labels", item.tags.clone().into()),
        ("dependencies", item.needs.clone().into()),
        ("milestone", task.phase.clone().into()),
        ("priority", priority.into()),
        (PLAN_FACT, plan.into()),
    ];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_null());
    let mut facts: Vec<(String, Value)> =
        facts.map(|(key, value)| (key.to_owned(), value)).collect();
    let is_simple = |value: &Value| value.is_string() || value.is_array();
    let more = meta.iter().filter(|(key, value)| !own.contains(&key.as_str()) && is_simple(value));
    facts.extend(more.map(|(key, value)| (key.clone(), value.clone())));
    let text = front_matter::write(&facts) + &body_of(task);
    let name: String = item
        .title
        .chars()
        .map(|one| if one.is_alphanumeric() { one } else { '-' })
        .take(60)
        .collect();
    let id: String = item
        .id
        .chars()
        .map(|one| if one.is_alphanumeric() || matches!(one, '-' | '.') { one } else { '-' })
        .collect();
    PlanFile { path: format!("tasks/{id} - {name}.md"), text }
}

fn body_of(task: &ImportedTask) -> String {
    let item = &task.item;
    let mut text = String::new();
    let mut section = |title: &str, mark: &str, content: &str| {
        if !content.is_empty() {
            let content = content.trim_end();
            text +=
                &format!("\n## {title}\n\n<!-- {mark}:BEGIN -->\n{content}\n<!-- {mark}:END -->\n");
        }
    };
    let ticked = item.meta.get(TICKED).and_then(Value::as_array);
    let points = |lines: &[String]| {
        let line = |(at, line): (usize, &String)| {
            let is_ticked = ticked.is_some_and(|all| all.iter().any(|one| one == line.as_str()));
            let mark = if is_ticked { 'x' } else { ' ' };
            format!("- [{mark}] #{} {}\n", at + 1, checklist::one_line(line))
        };
        lines.iter().enumerate().map(line).collect::<String>()
    };
    let mut steps = String::new();
    checklist::write(&task.steps, 0, &mut steps);
    section(DESCRIPTION, "SECTION:DESCRIPTION", item.description.as_deref().unwrap_or_default());
    section(CRITERIA, "AC", &points(&task.success_criteria));
    section(DONE, "DOD", &points(&task.tests));
    section(STEPS, "SECTION:STEPS", &steps);
    section(IMPLEMENTATION, "SECTION:PLAN", item.context.as_deref().unwrap_or_default());
    if let Some(Value::Object(more)) = item.meta.get(SECTIONS) {
        for (title, content) in more {
            let content = content.as_str().unwrap_or_default();
            let mark = format!("SECTION:{}", super::fit::slug(title).to_uppercase());
            section(title, &mark, content);
        }
    }
    text
}
