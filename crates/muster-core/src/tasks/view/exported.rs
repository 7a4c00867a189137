//! Plans as the neutral tree that other programs' forms are written from.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    ListQuery,
    plan_files::{
        ImportedItem, ImportedPlan, ImportedStep, ImportedTask, PlanExportForm, SourceState,
        WHOLE_STEP, slug,
    },
    tasks::{
        TaskDocs, TaskDocument, TaskResult,
        entity::{Meta, Plan, Task, TaskStatus},
        id::{EntityId, PlanId},
        lookup,
        origin::{AT_SOURCE, CANCELLED_BEFORE, ImportedProgress, LEFT_NEEDS, STATE_SEEN},
        path::StepPath,
        step::Step,
    },
};

/// Keys of `meta` that mean something in the form they came from, and something else in others.
const OWN_KEYS: [&str; 8] = [
    "status",
    "priority",
    "issue_type",
    "acceptance_criteria",
    "dependencies",
    "labels",
    "assignees",
    "milestone",
];

/// One plan, or all of them.
pub fn plans(
    docs: &TaskDocs,
    form: PlanExportForm,
    only: Option<PlanId>,
) -> TaskResult<Vec<ImportedPlan>> {
    let chosen: Vec<&Plan> = match only {
        Some(id) => vec![lookup::plan(docs, id)?],
        None => {
            let all = docs.list(&ListQuery::of("plan"))?;
            all.into_iter().filter_map(TaskDocument::as_plan).collect()
        }
    };
    let query =
        |plan: &&Plan| ListQuery { parent: Some(plan.id.to_string()), ..ListQuery::of("task") };
    let queries: Vec<ListQuery> = chosen.iter().map(query).collect();
    docs.have(&queries)?;
    let mut found: Vec<(&Plan, Vec<&Task>)> = Vec::new();
    for (plan, query) in chosen.into_iter().zip(&queries) {
        let tasks = docs.list(query)?.into_iter().filter_map(TaskDocument::as_task);
        found.push((plan, tasks.collect()));
    }
    let names = ExportNames::of(form, &found);
    let tree = found.iter().map(|(plan, tasks)| ImportedPlan {
        item: names.item(plan.id.into(), &plan.meta, plan_state(plan)),
        tasks: tasks.iter().map(|task| names.task(task)).collect(),
    });
    Ok(tree.collect())
}

/// The ids of plans and tasks in the form.
struct ExportNames {
    form: PlanExportForm,
    names: BTreeMap<EntityId, String>,
}

impl ExportNames {
    /// Those of the source where there is one, and new ones for the others.
    fn of(form: PlanExportForm, plans: &[(&Plan, Vec<&Task>)]) -> Self {
        let mut taken = BTreeSet::new();
        let mut names = BTreeMap::new();
        let own = |meta: &Meta| {
            let origin = meta.origin.as_deref();
            origin.filter(|origin| origin.form == form.name()).map(|origin| origin.id.clone())
        };
        let tasks = plans.iter().flat_map(|(_, tasks)| tasks);
        let metas = plans.iter().map(|(plan, _)| (EntityId::Plan(plan.id), &plan.meta));
        let metas = metas.chain(tasks.map(|task| (EntityId::Task(task.id), &task.meta)));
        for (id, meta) in metas {
            if let Some(name) = own(meta).filter(|name| taken.insert(name.clone())) {
                names.insert(id, name);
            }
        }
        for (plan, tasks) in plans {
            let first = names.get(&plan.id.into()).cloned();
            let list = first.unwrap_or_else(|| match form {
                PlanExportForm::Beads => new_name(&mut taken, |at| match at {
                    0 => format!("muster-{}", plan.id).to_lowercase(),
                    at => format!("muster-{}-{at}", plan.id).to_lowercase(),
                }),
                PlanExportForm::Markdown | PlanExportForm::TaskMaster | PlanExportForm::Backlog => {
                    new_name(&mut taken, |at| match at {
                        0 => slug(&plan.meta.title),
                        at => format!("{}-{}", slug(&plan.meta.title), at + 1),
                    })
                }
            });
            names.insert(plan.id.into(), list.clone());
            let mut number = 0;
            for task in tasks {
                let id = EntityId::Task(task.id);
                if names.contains_key(&id) {
                    continue;
                }
                let name = new_name(&mut taken, |at| {
                    number += 1;
                    match form {
                        PlanExportForm::Beads if at == 0 => format!("muster-{}", task.id),
                        PlanExportForm::Beads => format!("muster-{}-{at}", task.id),
                        PlanExportForm::TaskMaster => format!("{list}/{number}"),
                        PlanExportForm::Backlog => format!("task-{number}"),
                        PlanExportForm::Markdown => format!("{list}/{}", task.id),
                    }
                    .to_lowercase()
                });
                names.insert(id, name);
            }
        }
        Self { form, names }
    }

    fn name(&self, id: EntityId) -> Option<String> {
        self.names.get(&id).cloned()
    }

    fn item(&self, id: EntityId, meta: &Meta, state: SourceState) -> ImportedItem {
        let is_own = meta.origin.as_deref().is_some_and(|origin| origin.form == self.form.name());
        let mut free = meta.free.clone();
        let mut needs: Vec<String> =
            meta.depends_on.iter().filter_map(|id| self.name(*id)).collect();
        for key in LEFT_NEEDS {
            let left = free.shift_remove(key);
            let left = left.as_ref().and_then(Value::as_array).into_iter().flatten();
            needs.extend(left.filter_map(Value::as_str).filter(|_| is_own).map(str::to_owned));
        }
        if !is_own {
            free.retain(|key, _| !OWN_KEYS.contains(&key.as_str()));
        }
        ImportedItem {
            id: self.name(id).unwrap_or_else(|| id.to_string()),
            title: meta.title.clone(),
            description: meta.description.clone(),
            context: meta.context.clone(),
            state,
            priority: Some(meta.priority),
            tags: meta.tags.clone(),
            needs,
            meta: free,
        }
    }

    fn task(&self, task: &Task) -> ImportedTask {
        let state = task_state(task);
        let mut exported = ImportedTask {
            item: self.item(task.id.into(), &task.meta, state),
            phase: task.phase.clone(),
            assignee: task.assignee.clone(),
            ..ImportedTask::default()
        };
        exported.steps = steps_below(task, None, &exported.item.state);
        let is_whole = |step: &ImportedStep| step.id == WHOLE_STEP && step.steps.is_empty();
        if let Some(at) = exported.steps.iter().position(is_whole) {
            let whole = exported.steps.remove(at);
            exported.success_criteria = whole.success_criteria;
            exported.tests = whole.tests;
        }
        exported
    }
}

/// The first name that is free.
fn new_name(taken: &mut BTreeSet<String>, mut name: impl FnMut(usize) -> String) -> String {
    let mut at = 0;
    loop {
        let candidate = name(at);
        if taken.insert(candidate.clone()) {
            return candidate;
        }
        at += 1;
    }
}

fn plan_state(plan: &Plan) -> SourceState {
    let seen = plan.meta.origin.as_deref().and_then(|origin| origin.seen.get(AT_SOURCE));
    match (plan.meta.status, seen.map(String::as_str)) {
        (TaskStatus::Done, _) => SourceState::Closed,
        // Otherwise the status follows from the tasks.
        (TaskStatus::Todo | TaskStatus::Active, Some("open")) => SourceState::Open,
        (TaskStatus::Todo | TaskStatus::Active, Some("blocked")) => {
            SourceState::Blocked { reason: "blocked".to_owned() }
        }
        (TaskStatus::Todo, _) => SourceState::Open,
        (TaskStatus::Active, _) => SourceState::Active,
    }
}

fn task_state(task: &Task) -> SourceState {
    let progress = ImportedProgress::of_task(task);
    let seen = task.meta.origin.as_deref().map(|origin| &origin.seen);
    let unchanged =
        seen.filter(|seen| seen.get(STATE_SEEN).is_some_and(|state| state == progress.name()));
    let at_source = unchanged.and_then(|seen| seen.get(AT_SOURCE)).map(String::as_str);
    let reason = || {
        let blocked = task.steps.iter().find(|step| !step.is_closed() && step.block.is_some());
        let reason = blocked.and_then(|step| step.block.as_ref()?.reason.clone());
        reason.unwrap_or_else(|| "blocked".to_owned())
    };
    let is_open = |step: &&Step| !step.is_closed() && step.path.depth() == 1;
    let mut open = task.steps.iter().filter(is_open).peekable();
    let all_blocked = open.peek().is_some() && open.all(|step| step.block.is_some());
    match (progress, at_source) {
        (ImportedProgress::Closed, _) => {
            let mut reasons = task.steps.iter().map(cancelled);
            match reasons.next().flatten() {
                Some(first) if reasons.all(|reason| reason.is_some()) => {
                    SourceState::Cancelled { reason: first }
                }
                Some(_) | None => SourceState::Closed,
            }
        }
        (ImportedProgress::Blocked, Some("open")) => SourceState::Open,
        (ImportedProgress::Blocked, Some("active")) => SourceState::Active,
        (ImportedProgress::Blocked, _) if all_blocked => SourceState::Blocked { reason: reason() },
        (ImportedProgress::Active, Some("open")) => SourceState::Open,
        (ImportedProgress::Open, _) => SourceState::Open,
        (ImportedProgress::Active | ImportedProgress::Blocked, _) => match task.meta.status {
            TaskStatus::Todo => SourceState::Open,
            TaskStatus::Active | TaskStatus::Done => SourceState::Active,
        },
    }
}

/// The reason for which a step was given up before Muster, which need not be known.
fn cancelled(step: &Step) -> Option<Option<String>> {
    let reason = step.waiver.as_ref()?.reason.as_deref()?;
    let rest = reason.strip_prefix(CANCELLED_BEFORE)?;
    Some(rest.strip_prefix(": ").map(str::to_owned))
}

fn steps_below(task: &Task, parent: Option<&StepPath>, of_task: &SourceState) -> Vec<ImportedStep> {
    let depth = parent.map_or(1, |parent| parent.depth() + 1);
    let below = task.steps.iter().filter(|step| step.path.depth() == depth);
    let below = below.filter(|step| step.path.parent().as_ref() == parent);
    below
        .map(|step| {
            let state = match (cancelled(step), &step.block) {
                (Some(reason), _) if step.is_closed() => SourceState::Cancelled { reason },
                (_, _) if step.is_closed() => SourceState::Closed,
                (_, Some(block)) if !matches!(of_task, SourceState::Blocked { .. }) => {
                    let reason = block.reason.clone().unwrap_or_else(|| "blocked".to_owned());
                    SourceState::Blocked { reason }
                }
                (_, _) => SourceState::Open,
            };
            let id = step.origin.as_deref().map_or_else(|| step.id.to_string(), |o| o.id.clone());
            ImportedStep {
                id,
                title: step.title.clone(),
                success_criteria: step.success_criteria.clone(),
                tests: step.tests.clone(),
                state,
                meta: step.free.clone(),
                steps: steps_below(task, Some(&step.path), of_task),
            }
        })
        .collect()
}
