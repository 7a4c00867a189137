//! The call to make next, chosen by the state of a plan or task (TASKS-VIEW-9).

use serde_json::{Map, Value, json};

use super::{capsule::NextAction, rollup::next_task};
use crate::{
    Documents, WorkRefusal,
    tasks::{
        TaskAggregate,
        entity::{Plan, Task, TaskStatus},
        id::{EntityId, WorkspaceId},
        lookup,
        step::{Checkpoint, Step},
    },
};

const COMMAND: &str = "CMD: <fill: command you ran>";
const LINK: &str = "LINK: <fill: log or CI page>";

/// The next action; `None` for what is done.
pub(super) fn next(
    docs: &Documents<TaskAggregate>,
    workspace: &WorkspaceId,
    id: EntityId,
) -> Result<Option<NextAction>, WorkRefusal<TaskAggregate>> {
    match id {
        EntityId::Task(id) => Ok(of_task(workspace, lookup::task(docs, id)?)),
        EntityId::Plan(id) => of_plan(docs, workspace, lookup::plan(docs, id)?),
    }
}

fn ready(tool: &'static str, purpose: &'static str, args: Value) -> Option<NextAction> {
    let action = NextAction {
        tool: tool.into(),
        purpose: purpose.into(),
        available: false,
        args: object(args),
        args_hint: None,
    };
    Some(action)
}

fn template(tool: &'static str, purpose: &'static str, hint: Value) -> Option<NextAction> {
    let action = NextAction {
        tool: tool.into(),
        purpose: purpose.into(),
        available: false,
        args: None,
        args_hint: object(hint),
    };
    Some(action)
}

fn object(value: Value) -> Option<Map<String, Value>> {
    if let Value::Object(map) = value { Some(map) } else { None }
}

fn of_task(workspace: &WorkspaceId, task: &Task) -> Option<NextAction> {
    let base = json!({"workspace": workspace, "task": task.id});
    if task.meta.status == TaskStatus::Done {
        return None;
    }
    if task.steps.is_empty() {
        let step = json!({
            "title": "<fill: what is to be done>",
            "success_criteria": ["<fill: when it counts as done>"],
            "tests": ["<fill: how that is checked>"],
        });
        return template("tasks_decompose", "add steps", with(base, json!({"steps": [step]})));
    }
    if let Some(step) = task.steps.first_open() {
        return of_open_step(base, step);
    }
    of_closed_steps(workspace, base, task)
}

fn of_open_step(base: Value, step: &Step) -> Option<NextAction> {
    let here = with(base, json!({"step_id": step.id}));
    if step.block.is_some() {
        return template("tasks_block", "unblock the step", with(here, json!({"blocked": false})));
    }
    if let Some(node) = step.open_nodes().next() {
        let mut hint = with(here, json!({"task_node_id": node.id, "status": "DONE"}));
        if let Value::Object(map) = &mut hint {
            map.shift_remove("step_id");
        }
        return template("tasks_task_define", "finish the sub-task", hint);
    }
    let named = named_checkpoints(step);
    let unproven: Vec<&str> = unproven(step);
    if !unproven.is_empty() {
        let receipts = json!([COMMAND, LINK]);
        let proof = if unproven == ["tests"] {
            receipts
        } else {
            json!({"checks": receipts, "checkpoint": unproven})
        };
        let hint = with(with(here, json!({"proof": proof})), named);
        return template("tasks_macro_close_step", "close the next step with proof", hint);
    }
    ready("tasks_macro_close_step", "close the next step", with(here, named))
}

fn of_closed_steps(workspace: &WorkspaceId, base: Value, task: &Task) -> Option<NextAction> {
    let misses = |step: &&Step| Checkpoint::ALL.into_iter().any(|cp| step.misses(cp));
    if let Some(step) = task.steps.iter().find(misses) {
        let missing = Checkpoint::ALL.into_iter().filter(|cp| step.misses(*cp));
        let checkpoints: Map<String, Value> =
            missing.map(|cp| (cp.name().to_owned(), Value::Bool(true))).collect();
        let args = json!({"step_id": step.id, "checkpoints": checkpoints});
        return ready("tasks_verify", "confirm a closed step", with(base, args));
    }
    if let Some(step) = task.steps.iter().find(|step| !unproven(step).is_empty()) {
        let hint = json!({
            "step_id": step.id, "checks": [COMMAND, LINK], "checkpoint": unproven(step),
        });
        return template("tasks_evidence_capture", "prove a closed step", with(base, hint));
    }
    if let Some(first) = task.meta.waits().first() {
        let args = json!({"workspace": workspace, "target": first, "read_only": true});
        return ready("tasks_snapshot", "look at what it waits for", args);
    }
    ready("tasks_macro_close_step", "finish the task", base)
}

fn of_plan(
    docs: &Documents<TaskAggregate>,
    workspace: &WorkspaceId,
    plan: &Plan,
) -> Result<Option<NextAction>, WorkRefusal<TaskAggregate>> {
    if plan.meta.status == TaskStatus::Done {
        return Ok(None);
    }
    if let Some(task) = next_task(docs, plan)? {
        let args = json!({"workspace": workspace, "task": task.id});
        return Ok(ready("tasks_snapshot", "pick up the next task", args));
    }
    let base = json!({"workspace": workspace, "plan": plan.id});
    if plan.sums.tasks.total() == 0 {
        let hint = with(base, json!({"task_title": "<fill: what is to be done>"}));
        return Ok(template("tasks_macro_start", "start a first task", hint));
    }
    if (plan.checklist.current as usize) < plan.checklist.steps.len() {
        let args = with(base, json!({"advance": true}));
        return Ok(ready("tasks_plan", "go on in the checklist", args));
    }
    Ok(ready("tasks_complete", "finish the plan", base))
}

/// All required checkpoints as booleans, when an optional one is among them.
fn named_checkpoints(step: &Step) -> Value {
    let required = step.required();
    if required.len() == Checkpoint::GATE.len() {
        return json!({});
    }
    let all: Map<String, Value> =
        required.into_iter().map(|cp| (cp.name().to_owned(), Value::Bool(true))).collect();
    json!({"checkpoints": all})
}

fn unproven(step: &Step) -> Vec<&'static str> {
    let unproven = Checkpoint::PROVABLE.into_iter().filter(|cp| step.misses_proof(*cp));
    unproven.map(Checkpoint::name).collect()
}

fn with(mut base: Value, more: Value) -> Value {
    if let (Value::Object(base), Value::Object(more)) = (&mut base, more) {
        base.extend(more);
    }
    base
}
