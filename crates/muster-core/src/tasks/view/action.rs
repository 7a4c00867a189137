//! The call to make next, chosen by the state of a plan or task (TASKS-VIEW-9).

use serde::Serialize;
use serde_json::{Map, Value};

use super::{capsule::NextAction, rollup::next_task};
use crate::{
    field,
    tasks::{
        TaskDocs, TaskResult,
        entity::{Plan, Task, TaskStatus},
        id::{EntityId, WorkspaceId},
        lookup,
        step::{Checkpoint, Step},
    },
};

const RECEIPTS: [&str; 2] = ["CMD: <fill: command you ran>", "LINK: <fill: log or CI page>"];

/// The next action; `None` if it is done.
pub(super) fn next(
    docs: &TaskDocs,
    workspace: &WorkspaceId,
    id: EntityId,
) -> TaskResult<Option<NextAction>> {
    match id {
        EntityId::Task(id) => Ok(of_task(workspace, lookup::task(docs, id)?)),
        EntityId::Plan(id) => of_plan(docs, workspace, lookup::plan(docs, id)?),
    }
}

/// A call with arguments that work verbatim.
fn ready(tool: &'static str, purpose: &'static str, args: Arguments) -> Option<NextAction> {
    Some(NextAction { args: Some(args.0), ..bare(tool, purpose) })
}

/// A call with arguments to fill in.
fn template(tool: &'static str, purpose: &'static str, hint: Arguments) -> Option<NextAction> {
    Some(NextAction { args_hint: Some(hint.0), ..bare(tool, purpose) })
}

fn bare(tool: &'static str, purpose: &'static str) -> NextAction {
    let tool = tool.into();
    let purpose = purpose.into();
    NextAction { tool, purpose, available: false, args: None, args_hint: None }
}

/// Arguments of a call.
#[derive(Clone)]
struct Arguments(Map<String, Value>);

impl Arguments {
    fn of(workspace: &WorkspaceId) -> Self {
        Self(Map::new()).with("workspace", workspace)
    }

    fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.0.extend([field(name, value)]);
        self
    }
}

/// The step to fill in.
#[derive(Serialize)]
struct StepTemplate {
    title: &'static str,
    success_criteria: [&'static str; 1],
    tests: [&'static str; 1],
}

const STEP: StepTemplate = StepTemplate {
    title: "<fill: what is to be done>",
    success_criteria: ["<fill: when it counts as done>"],
    tests: ["<fill: how that is checked>"],
};

/// Proof to fill in, of named checkpoints.
#[derive(Serialize)]
struct ProofTemplate<'a> {
    checks: [&'static str; 2],
    checkpoint: &'a [Checkpoint],
}

fn of_task(workspace: &WorkspaceId, task: &Task) -> Option<NextAction> {
    let base = Arguments::of(workspace).with("task", &task.id);
    if task.meta.status == TaskStatus::Done {
        return of_unmet(&base, task);
    }
    if task.steps.is_empty() {
        return template("tasks_decompose", "add steps", base.with("steps", &[STEP]));
    }
    if let Some(step) = task.steps.first_open() {
        return of_open_step(base, step);
    }
    of_closed_steps(workspace, base, task)
}

fn of_open_step(base: Arguments, step: &Step) -> Option<NextAction> {
    if step.block.is_some() {
        let hint = base.with("step_id", &step.id).with("blocked", &false);
        return template("tasks_block", "unblock the step", hint);
    }
    if let Some(node) = step.open_nodes().next() {
        let hint = base.with("task_node_id", &node.id).with("status", &TaskStatus::Done);
        return template("tasks_task_define", "finish the sub-task", hint);
    }
    let here = base.with("step_id", &step.id);
    let unproven = step.unproven();
    let hint = match unproven[..] {
        // Closing a step with everything confirmed confirms nothing new.
        [] if step.unconfirmed().is_empty() => {
            return ready("tasks_macro_close_step", "close the next step", here);
        }
        [] => return template("tasks_macro_close_step", "close the next step", here),
        [Checkpoint::Tests] => here.with("proof", &RECEIPTS),
        _ => here.with("proof", &ProofTemplate { checks: RECEIPTS, checkpoint: &unproven }),
    };
    template("tasks_macro_close_step", "close the next step with proof", hint)
}

/// What closed steps still need. It is up to the caller what to confirm, so no template does
/// (EASE-DONE-3).
fn of_unmet(base: &Arguments, task: &Task) -> Option<NextAction> {
    if let Some(step) = task.steps.iter().find(|step| !step.unconfirmed().is_empty()) {
        let hint = base.clone().with("step_id", &step.id);
        return template("tasks_verify", "look at a closed step and confirm what holds", hint);
    }
    let step = task.steps.iter().find(|step| !step.unproven().is_empty())?;
    let hint = base.clone().with("step_id", &step.id).with("checks", &RECEIPTS);
    let hint = hint.with("checkpoint", &step.unproven());
    template("tasks_evidence_capture", "prove a closed step", hint)
}

fn of_closed_steps(workspace: &WorkspaceId, base: Arguments, task: &Task) -> Option<NextAction> {
    if let Some(action) = of_unmet(&base, task) {
        return Some(action);
    }
    if let Some(first) = task.meta.waits().first() {
        let args = Arguments::of(workspace).with("target", first).with("read_only", &true);
        return ready("tasks_snapshot", "see what it waits for", args);
    }
    ready("tasks_macro_close_step", "finish the task", base)
}

fn of_plan(
    docs: &TaskDocs,
    workspace: &WorkspaceId,
    plan: &Plan,
) -> TaskResult<Option<NextAction>> {
    if plan.meta.status == TaskStatus::Done {
        return Ok(None);
    }
    if let Some(task) = next_task(docs, plan)? {
        let args = Arguments::of(workspace).with("task", &task.id);
        return Ok(ready("tasks_snapshot", "pick up the next task", args));
    }
    let base = Arguments::of(workspace).with("plan", &plan.id);
    if plan.sums.tasks.total() == 0 {
        let hint = base.with("task_title", STEP.title);
        return Ok(template("tasks_macro_start", "start a first task", hint));
    }
    if (plan.checklist.current as usize) < plan.checklist.steps.len() {
        return Ok(ready("tasks_plan", "advance the checklist", base.with("advance", &true)));
    }
    Ok(ready("tasks_complete", "finish the plan", base))
}
