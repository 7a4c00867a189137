//! Nodes of a step's sub-plan.

use super::{Decision, derive, step_ref};
use crate::{
    Timestamp,
    tasks::{
        TaskDocs, TaskEvent, TaskResult,
        command::{NodeTarget, StepTarget},
        entity::{Task, TaskStatus},
        event::{Derived, NodeAdded, NodeDefined, StepNodeDeleted},
        id::NodeId,
        lookup,
        step::{NodeFields, NodeLists, Step, StepNode},
    },
};

pub(super) fn add(
    docs: &TaskDocs,
    target: &StepTarget,
    title: &str,
    fields: &NodeFields,
) -> Decision {
    let (task, step) = lookup::task_and_step(docs, target)?;
    let list = |given: &Option<Vec<String>>| given.clone().unwrap_or_default();
    let node = StepNode {
        id: NodeId(lookup::workspace(docs)?.last_node + 1),
        ordinal: step.next_node,
        title: title.to_owned(),
        status: fields.status.unwrap_or_default(),
        status_manual: fields.status_manual.unwrap_or_default(),
        priority: fields.priority.unwrap_or_default(),
        blocked: fields.blocked.unwrap_or_default(),
        description: fields.description.clone().flatten(),
        context: fields.context.clone().flatten(),
        lists: NodeLists {
            blockers: list(&fields.blockers),
            dependencies: list(&fields.dependencies),
            next_steps: list(&fields.next_steps),
            problems: list(&fields.problems),
            risks: list(&fields.risks),
            success_criteria: list(&fields.success_criteria),
        },
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
    };
    let derived = opens(docs, task, step, node.status)?;
    Ok(vec![TaskEvent::NodeAdded(NodeAdded { step: step_ref(docs, task, step)?, node, derived })])
}

pub(super) fn define(
    docs: &TaskDocs,
    target: &NodeTarget,
    fields: &NodeFields,
    given: &[String],
) -> Decision {
    let (task, step, node) = lookup::task_step_and_node(docs, target)?;
    let status = fields.status.unwrap_or(node.status);
    let derived = opens(docs, task, step, status)?;
    Ok(vec![TaskEvent::NodeDefined(NodeDefined {
        step: step_ref(docs, task, step)?,
        node_id: node.id,
        ordinal: node.ordinal,
        fields: fields.clone(),
        given: given.to_vec(),
        derived,
    })])
}

/// TASKS-STATE-3: a closed step has no node that is not DONE.
fn opens(docs: &TaskDocs, task: &Task, step: &Step, status: TaskStatus) -> TaskResult<Derived> {
    if status == TaskStatus::Done || !step.is_closed() {
        return Ok(derive::nothing());
    }
    derive::step_opens(docs, task, &step.path)
}

pub(super) fn delete(docs: &TaskDocs, target: &NodeTarget) -> Decision {
    let (task, step, node) = lookup::task_step_and_node(docs, target)?;
    let node_id = node.id;
    let ordinal = node.ordinal;
    let step = step_ref(docs, task, step)?;
    Ok(vec![TaskEvent::NodeDeleted(StepNodeDeleted { step, node_id, ordinal })])
}
