//! claude's task lists: `~/.claude/tasks/<list>/<id>.json`, a task a file. A folder is a plan.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    ImportedItem, ImportedPlan, ImportedTask, PlanFile, PlanFileFault,
    states::StateWords,
    tree::{keep, said},
};

const WORDS: StateWords = StateWords {
    open: "pending",
    active: "in_progress",
    blocked: "blocked",
    closed: "completed",
    cancelled: "deleted",
    others: &[("open", "pending"), ("resolved", "completed")],
};

#[derive(Deserialize)]
struct ListTask {
    id: Value,
    subject: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    owner: Option<String>,
    #[serde(default, rename = "blockedBy")]
    blocked_by: Vec<Value>,
    #[serde(default)]
    blocks: Vec<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

pub(super) fn read(files: &[PlanFile]) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut lists: BTreeMap<String, Vec<ListTask>> = BTreeMap::new();
    for file in files {
        let list = file.folder().unwrap_or("tasks").to_owned();
        // A stream may hold a list as an array.
        let tasks = if file.text.trim_start().starts_with('[') {
            file.json::<Vec<ListTask>>()?
        } else {
            vec![file.json::<ListTask>()?]
        };
        lists.entry(list).or_default().extend(tasks);
    }
    Ok(lists.into_iter().map(|(list, tasks)| plan_of(&list, tasks)).collect())
}

fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn plan_of(list: &str, mut tasks: Vec<ListTask>) -> ImportedPlan {
    tasks.sort_by_key(|task| {
        let id = id_text(&task.id);
        (id.parse::<u64>().unwrap_or(u64::MAX), id)
    });
    let name = |id: &Value| format!("{list}/{}", id_text(id));
    // `blocks` is the same fact from the other side.
    let mut waits: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for task in &tasks {
        for blocked in &task.blocks {
            waits.entry(name(blocked)).or_default().push(name(&task.id));
        }
    }
    let tasks = tasks.into_iter().map(|task| {
        let id = name(&task.id);
        let mut needs: Vec<String> = task.blocked_by.iter().map(name).collect();
        for need in waits.remove(&id).unwrap_or_default() {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        task_of(id, needs, task)
    });
    let item = ImportedItem {
        id: list.to_owned(),
        title: format!("Tasks of {list}"),
        ..ImportedItem::default()
    };
    ImportedPlan { item, tasks: tasks.collect() }
}

fn task_of(id: String, needs: Vec<String>, task: ListTask) -> ImportedTask {
    let mut meta = task.rest;
    meta.retain(|_, value| !value.is_null());
    let state = WORDS.state(task.status.as_deref().unwrap_or_default(), &mut meta);
    keep(&mut meta, "blocks", task.blocks);
    let item = ImportedItem {
        id,
        title: task.subject,
        description: said(task.description),
        state,
        needs,
        meta,
        ..ImportedItem::default()
    };
    ImportedTask { item, assignee: said(task.owner), ..ImportedTask::default() }
}
