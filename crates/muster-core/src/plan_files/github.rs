//! GitHub issues: what `gh issue list --json …` prints. A task list in the body is the steps.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    ImportedItem, ImportedPlan, ImportedStep, ImportedTask, PlanFile, PlanFileFault, SourceState,
    checklist, outline,
    tree::{keep, said},
};

/// Id and title of the one plan.
const PLAN: (&str, &str) = ("issues", "GitHub issues");

#[derive(Deserialize)]
struct HubIssue {
    number: u64,
    title: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default, rename = "stateReason")]
    state_reason: Option<String>,
    #[serde(default)]
    labels: Vec<Map<String, Value>>,
    #[serde(default)]
    assignees: Vec<Map<String, Value>>,
    #[serde(default)]
    milestone: Option<Map<String, Value>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

pub(super) fn read(files: &[PlanFile]) -> Result<Vec<ImportedPlan>, PlanFileFault> {
    let mut tasks = Vec::new();
    for file in files {
        let issues: Vec<HubIssue> = file.json()?;
        tasks.extend(issues.into_iter().map(task_of));
    }
    // The newest issue comes first in such a list.
    tasks.sort_by_key(|(number, _)| *number);
    let (id, title) = (PLAN.0.to_owned(), PLAN.1.to_owned());
    let item = ImportedItem { id, title, ..ImportedItem::default() };
    Ok(vec![ImportedPlan { item, tasks: tasks.into_iter().map(|(_, task)| task).collect() }])
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

fn task_of(issue: HubIssue) -> (u64, ImportedTask) {
    let mut meta = issue.rest;
    meta.retain(|_, value| !value.is_null());
    let is_closed =
        issue.state.as_deref().is_some_and(|state| state.eq_ignore_ascii_case("closed"));
    let reason = issue.state_reason.filter(|reason| !reason.is_empty());
    let is_given_up = reason.as_deref().is_some_and(|reason| {
        reason.eq_ignore_ascii_case("not_planned") || reason.eq_ignore_ascii_case("duplicate")
    });
    let state = match (is_closed, is_given_up) {
        (true, true) => SourceState::Cancelled {
            reason: reason.as_deref().map(|reason| reason.to_lowercase().replace('_', " ")),
        },
        (true, false) => SourceState::Closed,
        (false, _) => SourceState::Open,
    };
    keep(&mut meta, "stateReason", reason);
    let tags = issue.labels.iter().filter_map(|label| text(label, "name")).map(str::to_owned);
    let tags = tags.collect();
    let assignee = issue.assignees.first().and_then(|one| text(one, "login")).map(str::to_owned);
    let phase = issue.milestone.as_ref().and_then(|one| text(one, "title")).map(str::to_owned);
    let objects =
        |list: Vec<Map<String, Value>>| list.into_iter().map(Value::Object).collect::<Vec<_>>();
    keep(&mut meta, "labels", objects(issue.labels));
    keep(&mut meta, "assignees", objects(issue.assignees));
    keep(&mut meta, "milestone", issue.milestone.map(Value::Object));
    let body = issue.body.map(|body| body.replace("\r\n", "\n")).unwrap_or_default();
    let item = ImportedItem {
        id: issue.number.to_string(),
        title: issue.title,
        state,
        tags,
        meta,
        // The items stay in the text: other text may refer to them.
        description: said(Some(body.clone())),
        ..ImportedItem::default()
    };
    let steps = steps_of(&body);
    (issue.number, ImportedTask { item, phase, assignee, steps, ..ImportedTask::default() })
}

fn steps_of(body: &str) -> Vec<ImportedStep> {
    let sections = outline::sections(body);
    sections.into_iter().flat_map(|section| checklist::steps(section.items)).collect()
}
