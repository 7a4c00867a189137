//! Makes a tree fit what Muster can hold: ids, titles on one line, lists and texts within their
//! limits. What does not fit moves to a place that can hold it; nothing is dropped.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    ImportedItem, ImportedPlan, ImportedStep, ImportedTask, PlanFile, PlanFileFault,
    checklist::one_line,
    limits::{self, ID_CHARS_MAX},
    tree::{keep, said},
};
use crate::{
    budget,
    tasks::limits::{
        ITEM_CHARS_MAX, ITEMS_MAX, OBJECT_CHARS_MAX, PROSE_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX,
        TITLE_CHARS_MAX,
    },
    text::{chars, cut},
};

/// Characters of an id that is made from a title.
const SLUG_CHARS_MAX: usize = 60;

pub(super) fn fit(
    files: &[PlanFile],
    mut plans: Vec<ImportedPlan>,
) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let name = files.first().map_or("the source", |file| file.path.as_str());
    limits::check_tree(name, &plans)?;
    name_alike(&mut plans);
    let mut known = BTreeSet::new();
    let fault = |cause: String| PlanFileFault::new(name, None, cause);
    for plan in &mut plans {
        fit_item(&mut plan.item).map_err(fault)?;
        for task in &mut plan.tasks {
            fit_task(task).map_err(fault)?;
        }
        let tasks = plan.tasks.iter().map(|task| &task.item.id);
        for id in std::iter::once(&plan.item.id).chain(tasks) {
            if !known.insert(id.clone()) {
                return Err(fault(format!("the id {id:?} is there twice")));
            }
        }
    }
    Ok(plans)
}

/// Ids that were made from titles may be alike: the second of them gets a number, and so on.
fn name_alike(plans: &mut [ImportedPlan]) {
    let mut plan_ids = Ids::default();
    for plan in plans {
        let before = plan.item.id.clone();
        plan_ids.number(&mut plan.item.id);
        let mut task_ids = Ids::default();
        for task in &mut plan.tasks {
            if plan.item.id != before
                && let Some(rest) = task.item.id.strip_prefix(&format!("{before}/"))
            {
                task.item.id = format!("{}/{rest}", plan.item.id);
            }
            if task.item.id.contains('/') {
                task_ids.number(&mut task.item.id);
            }
            name_steps(&mut task.steps, "", &mut Ids::default());
        }
    }
}

fn name_steps(steps: &mut [ImportedStep], above: &str, ids: &mut Ids) {
    for step in steps {
        if step.id.is_empty() {
            step.id = format!("{above}{}", slug(&step.title));
        }
        ids.number(&mut step.id);
        let above = format!("{}/", step.id);
        name_steps(&mut step.steps, &above, ids);
    }
}

/// Ids that are taken, and how often each was asked for.
#[derive(Default)]
struct Ids(BTreeMap<String, usize>);

impl Ids {
    fn number(&mut self, id: &mut String) {
        let first = id.clone();
        let mut count = self.0.get(&first).copied().unwrap_or(0);
        while self.0.contains_key(id.as_str()) {
            count += 1;
            *id = format!("{first}-{}", count + 1);
        }
        self.0.insert(id.clone(), 0);
        self.0.insert(first, count);
    }
}

/// An id from a title: its letters and digits, small.
#[must_use]
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for character in title.chars().flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug: String = slug.chars().take(SLUG_CHARS_MAX).collect();
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "item".to_owned() } else { slug.to_owned() }
}

fn fit_task(task: &mut ImportedTask) -> Result<(), String> {
    fit_item(&mut task.item)?;
    task.phase = said(task.phase.take()).map(|phase| one_line(&phase));
    task.assignee = said(task.assignee.take()).map(|name| one_line(&name));
    let meta = &mut task.item.meta;
    fit_lines("success_criteria", &mut task.success_criteria, meta);
    fit_lines("tests", &mut task.tests, meta);
    check_meta(&task.item.id, meta)?;
    let id = task.item.id.clone();
    fit_steps(&id, &mut task.steps)
}

fn fit_steps(task: &str, steps: &mut [ImportedStep]) -> Result<(), String> {
    for step in steps {
        let mut overflow = None;
        fit_title(&mut step.title, &step.id, &mut overflow);
        keep(&mut step.meta, "title", overflow);
        fit_lines("success_criteria", &mut step.success_criteria, &mut step.meta);
        fit_lines("tests", &mut step.tests, &mut step.meta);
        check_meta(&format!("{task}, step {}", step.id), &step.meta)?;
        fit_steps(task, &mut step.steps)?;
    }
    Ok(())
}

fn fit_item(item: &mut ImportedItem) -> Result<(), String> {
    if item.id.trim().is_empty() || chars(&item.id) > ID_CHARS_MAX {
        return Err(format!(
            "{:?} is not an id of 1 to {ID_CHARS_MAX} characters",
            cut(&item.id, 80)
        ));
    }
    let mut overflow = None;
    fit_title(&mut item.title, &item.id, &mut overflow);
    keep(&mut item.meta, "title", overflow);
    item.description = said(item.description.take());
    item.context = said(item.context.take());
    for (what, text) in [("description", &item.description), ("context", &item.context)] {
        let length = text.as_deref().map_or(0, chars);
        if length > PROSE_CHARS_MAX {
            let id = &item.id;
            return Err(format!(
                "the {what} of {id} has {length} characters; {PROSE_CHARS_MAX} is the most"
            ));
        }
    }
    fit_tags(item);
    check_meta(&item.id, &item.meta)
}

/// A title on one line. One that is too long is cut, and the whole of it kept.
fn fit_title(title: &mut String, id: &str, whole: &mut Option<String>) {
    let line = one_line(title);
    let is_shown = !crate::tasks::wording::is_blank(&line);
    let line = if is_shown { line } else { format!("(no title) {id}") };
    if chars(&line) > TITLE_CHARS_MAX {
        *whole = Some(line.clone());
    }
    *title = cut(&line, TITLE_CHARS_MAX);
}

fn fit_tags(item: &mut ImportedItem) {
    let mut tags: Vec<String> = Vec::new();
    let mut more: Vec<String> = Vec::new();
    for tag in std::mem::take(&mut item.tags) {
        let tag = one_line(&tag);
        if tag.is_empty() || tags.contains(&tag) || more.contains(&tag) {
            continue;
        }
        let fits = tags.len() < TAGS_MAX && chars(&tag) <= TAG_CHARS_MAX;
        if fits { tags.push(tag) } else { more.push(tag) }
    }
    item.tags = tags;
    keep(&mut item.meta, "more_tags", more);
}

/// Lines of a list, each once. Those that are too many or too long move to `meta`.
fn fit_lines(name: &str, lines: &mut Vec<String>, meta: &mut Map<String, Value>) {
    let mut fitting: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut more: Vec<String> = Vec::new();
    for line in std::mem::take(lines) {
        let line = line.trim().to_owned();
        if line.is_empty() || !seen.insert(line.clone()) {
            continue;
        }
        let fits = fitting.len() < ITEMS_MAX && chars(&line) <= ITEM_CHARS_MAX;
        if fits { fitting.push(line) } else { more.push(line) }
    }
    *lines = fitting;
    keep(meta, &format!("more_{name}"), more);
}

fn check_meta(id: &str, meta: &Map<String, Value>) -> Result<(), String> {
    if meta.is_empty() {
        return Ok(());
    }
    let size = budget::size(&Value::Object(meta.clone()));
    if size <= OBJECT_CHARS_MAX {
        return Ok(());
    }
    Err(format!("what has no place of {id} has {size} characters; {OBJECT_CHARS_MAX} is the most"))
}
