//! vibe-kanban: the rows of its SQLite file as JSON. The store crate reads the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ImportedItem, ImportedPlan, ImportedTask, PlanFile, PlanFileFault,
    states::StateWords,
    tree::{keep, said},
};

const WORDS: StateWords = StateWords {
    open: "todo",
    active: "inprogress",
    blocked: "blocked",
    closed: "done",
    cancelled: "cancelled",
    others: &[("inreview", "inprogress"), ("planning", "inprogress"), ("plan", "todo")],
};

/// Its projects, tasks and attempts. Columns that Muster has no use for are in `rest`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct KanbanDump {
    pub projects: Vec<KanbanProject>,
    pub tasks: Vec<KanbanTask>,
    pub attempts: Vec<KanbanAttempt>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct KanbanProject {
    pub id: String,
    pub name: String,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct KanbanTask {
    pub id: String,
    pub project_id: String,
    pub title: String,
    #[serde(default)]
    pub description: Option<String>,
    pub status: String,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct KanbanAttempt {
    pub task_id: String,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

pub(super) fn read(files: &[PlanFile]) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut plans = Vec::new();
    for file in files {
        plans.extend(plans_of(file, file.json()?)?);
    }
    Ok(plans)
}

fn plans_of(file: &PlanFile, dump: KanbanDump) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut attempts: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for attempt in dump.attempts {
        attempts.entry(attempt.task_id).or_default().push(Value::Object(attempt.rest));
    }
    let mut places = BTreeMap::new();
    let mut plans = Vec::new();
    for project in dump.projects {
        places.insert(project.id.clone(), plans.len());
        let item = ImportedItem {
            id: project.id,
            title: project.name,
            meta: project.rest,
            ..ImportedItem::default()
        };
        plans.push(ImportedPlan { item, tasks: Vec::new() });
    }
    for task in dump.tasks {
        let Some(place) = places.get(&task.project_id) else {
            let cause = format!("the project {} of task {} is not there", task.project_id, task.id);
            return Err(file.fault(None, cause));
        };
        let of_task = attempts.remove(&task.id).unwrap_or_default();
        plans[*place].tasks.push(task_of(task, of_task));
    }
    Ok(plans)
}

fn task_of(task: KanbanTask, attempts: Vec<Value>) -> ImportedTask {
    let mut meta = task.rest;
    let state = WORDS.state(&task.status, &mut meta);
    keep(&mut meta, "attempts", attempts);
    let item = ImportedItem {
        id: task.id,
        title: task.title,
        description: said(task.description),
        state,
        meta,
        ..ImportedItem::default()
    };
    ImportedTask { item, ..ImportedTask::default() }
}
