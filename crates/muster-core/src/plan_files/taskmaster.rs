//! task-master: `.taskmaster/tasks/tasks.json`. A tag is a plan; a file without tags is one plan.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ImportedItem, ImportedPlan, ImportedStep, ImportedTask, PlanFile, PlanFileFault,
    states::StateWords,
    tree::{keep, said},
};
use crate::tasks::entity::Urgency;

/// Tag of a file without tags.
const MASTER: &str = "master";

const WORDS: StateWords = StateWords {
    open: "pending",
    active: "in-progress",
    blocked: "blocked",
    closed: "done",
    cancelled: "cancelled",
    others: &[
        ("review", "in-progress"),
        ("deferred", "blocked"),
        ("completed", "done"),
        ("canceled", "cancelled"),
    ],
};

#[derive(Serialize, Deserialize)]
struct TagTasks {
    tasks: Vec<MasterTask>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
}

#[derive(Serialize, Deserialize)]
struct MasterTask {
    id: Value,
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<String>,
    #[serde(default, rename = "testStrategy", skip_serializing_if = "Option::is_none")]
    test_strategy: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<String>,
    #[serde(default)]
    dependencies: Vec<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    subtasks: Vec<MasterSubtask>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct MasterSubtask {
    id: Value,
    title: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default, rename = "testStrategy", skip_serializing_if = "Option::is_none")]
    test_strategy: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

pub(super) fn read(files: &[PlanFile]) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut plans = Vec::new();
    for file in files {
        let top: Map<String, Value> = file.json()?;
        if top.get("tasks").is_some_and(Value::is_array) {
            plans.push(plan_of(MASTER, file.json()?));
            continue;
        }
        // Read again with types, so that a fault names its line.
        let tags: TagMap = file.json()?;
        plans.extend(tags.0.into_iter().map(|(name, tag)| plan_of(&name, tag)));
    }
    Ok(plans)
}

/// The tags of a file, in its order.
struct TagMap(Vec<(String, TagTasks)>);

impl<'de> Deserialize<'de> for TagMap {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tags;
        impl<'de> serde::de::Visitor<'de> for Tags {
            type Value = TagMap;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object with a list of tasks for each tag")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<TagMap, A::Error> {
                let mut tags = Vec::new();
                while let Some(tag) = map.next_entry()? {
                    tags.push(tag);
                }
                Ok(TagMap(tags))
            }
        }
        deserializer.deserialize_map(Tags)
    }
}

/// What is to be checked, a line each.
fn lines_of(text: Option<&str>) -> Vec<String> {
    text.into_iter().flat_map(str::lines).map(str::to_owned).collect()
}

/// An id, which is a number or a string.
fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn plan_of(tag: &str, tasks: TagTasks) -> ImportedPlan {
    let mut meta = tasks.metadata.unwrap_or_default();
    let description = meta.shift_remove("description");
    let description = description.and_then(|text| text.as_str().map(str::to_owned));
    let title = meta.shift_remove("title").and_then(|title| title.as_str().map(str::to_owned));
    let item = ImportedItem {
        id: tag.to_owned(),
        title: title.unwrap_or_else(|| tag.to_owned()),
        description: said(description),
        meta,
        ..ImportedItem::default()
    };
    let tasks = tasks.tasks.into_iter().map(|task| task_of(tag, task)).collect();
    ImportedPlan { item, tasks }
}

fn task_of(tag: &str, task: MasterTask) -> ImportedTask {
    let mut meta = task.rest;
    let state = WORDS.state(task.status.as_deref().unwrap_or_default(), &mut meta);
    let priority = task.priority.as_deref().map(str::to_lowercase);
    let urgency = match priority.as_deref() {
        Some("critical") => Some(Urgency::Critical),
        Some("high") => Some(Urgency::High),
        Some("medium") => Some(Urgency::Medium),
        Some("low") => Some(Urgency::Low),
        Some(_) | None => None,
    };
    keep(&mut meta, "priority", task.priority.filter(|_| urgency.is_none()));
    let names: Vec<String> = task.dependencies.iter().map(id_text).collect();
    // A dotted id is a subtask, which nothing in Muster can wait for.
    let (subtasks, needs): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| name.contains('.'));
    keep(&mut meta, "subtask_dependencies", subtasks);
    let criteria = meta.shift_remove("acceptanceCriteria");
    let criteria = criteria.as_ref().and_then(Value::as_str).unwrap_or_default();
    let assignee = meta.get("assignee").and_then(Value::as_str).map(str::to_owned);
    if assignee.is_some() {
        meta.shift_remove("assignee");
    }
    let item = ImportedItem {
        id: format!("{tag}/{}", id_text(&task.id)),
        title: task.title,
        description: said(task.description),
        context: said(task.details),
        state,
        priority: urgency,
        tags: Vec::new(),
        needs: needs.into_iter().map(|need| format!("{tag}/{need}")).collect(),
        meta,
    };
    ImportedTask {
        item,
        assignee: said(assignee),
        success_criteria: criteria.lines().map(str::to_owned).collect(),
        tests: lines_of(task.test_strategy.as_deref()),
        steps: task.subtasks.into_iter().map(step_of).collect(),
        ..ImportedTask::default()
    }
}

fn step_of(subtask: MasterSubtask) -> ImportedStep {
    let mut meta = subtask.rest;
    let state = WORDS.state(subtask.status.as_deref().unwrap_or_default(), &mut meta);
    let criteria = meta.shift_remove("acceptanceCriteria");
    let criteria = criteria.as_ref().and_then(Value::as_str).unwrap_or_default();
    ImportedStep {
        id: id_text(&subtask.id),
        title: subtask.title,
        success_criteria: criteria.lines().map(str::to_owned).collect(),
        tests: lines_of(subtask.test_strategy.as_deref()),
        state,
        meta,
        steps: Vec::new(),
    }
}

pub(super) fn write(plans: &[ImportedPlan]) -> PlanFile {
    let tags = plans.iter().map(|plan| {
        let mut metadata = plan.item.meta.clone();
        keep(&mut metadata, "description", plan.item.description.clone());
        if plan.item.title != plan.item.id {
            keep(&mut metadata, "title", plan.item.title.clone());
        }
        let tasks = plan.tasks.iter().map(|task| master_task(&plan.item.id, task)).collect();
        let tasks = TagTasks { tasks, metadata: (!metadata.is_empty()).then_some(metadata) };
        let value = serde_json::to_value(tasks)
            .unwrap_or_else(|error| unreachable!("tasks are plain JSON: {error}"));
        (plan.item.id.clone(), value)
    });
    let tags: Map<String, Value> = tags.collect();
    let text = serde_json::to_string_pretty(&tags)
        .unwrap_or_else(|error| unreachable!("tags are plain JSON: {error}"));
    PlanFile { path: "tasks.json".to_owned(), text: text + "\n" }
}

/// A number where the id is one.
fn number(id: &str) -> Value {
    let is_plain = !id.starts_with('0') || id == "0";
    match id.parse::<u64>() {
        Ok(number) if is_plain && !id.starts_with('+') => number.into(),
        Ok(_) | Err(_) => id.into(),
    }
}

fn master_task(tag: &str, task: &ImportedTask) -> MasterTask {
    let item = &task.item;
    let below = format!("{tag}/");
    let own = |id: &str| number(id.strip_prefix(&below).unwrap_or(id));
    let mut rest = item.meta.clone();
    rest.shift_remove("status");
    let kept = rest.shift_remove("priority");
    let kept = kept.as_ref().and_then(Value::as_str).map(str::to_owned);
    let subtasks = rest.shift_remove("subtask_dependencies");
    let subtasks = subtasks.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    keep(&mut rest, "acceptanceCriteria", task.success_criteria.join("\n"));
    keep(&mut rest, "assignee", task.assignee.clone());
    let dependencies = item.needs.iter().map(|need| own(need)).chain(subtasks).collect();
    MasterTask {
        id: own(&item.id),
        title: item.title.clone(),
        description: item.description.clone(),
        details: item.context.clone(),
        test_strategy: said(Some(task.tests.join("\n"))),
        status: Some(WORDS.word(&item.state, &item.meta).to_owned()),
        priority: item.priority.map(|urgency| urgency.word().to_owned()).or(kept),
        dependencies,
        subtasks: subtasks_of(&task.steps),
        rest,
    }
}

/// Nested steps follow each other: there is one level of subtasks.
fn subtasks_of(steps: &[ImportedStep]) -> Vec<MasterSubtask> {
    let mut subtasks = Vec::new();
    for step in steps {
        let mut rest = step.meta.clone();
        rest.shift_remove("status");
        keep(&mut rest, "acceptanceCriteria", step.success_criteria.join("\n"));
        subtasks.push(MasterSubtask {
            id: number(&step.id),
            title: step.title.clone(),
            status: Some(WORDS.word(&step.state, &step.meta).to_owned()),
            test_strategy: said(Some(step.tests.join("\n"))),
            rest,
        });
        subtasks.extend(subtasks_of(&step.steps));
    }
    subtasks
}
