//! Claims: taking and releasing a task, what others may not do to it meanwhile, and the renewal by
//! every write of its holder.

use super::{Decision, reject};
use crate::{
    Env, Recorded,
    tasks::{
        TaskCommand, TaskDocs, TaskEvent, TaskLookup, TaskRejection, TaskResult,
        entity::{Task, TaskStatus},
        event::{ClaimChange, ClaimSet},
        id::{EntityId, TaskId},
        lookup, wire,
    },
};

pub(super) fn take(
    docs: &TaskDocs,
    env: &Env,
    id: TaskId,
    (lease_seconds, directory): (u32, Option<&String>),
) -> Decision {
    let task = lookup::task(docs, id)?;
    if let Some(claim) = task.claim.as_ref().filter(|claim| claim.is_of_another(env)) {
        return reject(TaskRejection::Claimed { task: id, claim: claim.clone() });
    }
    let connection = env.call.connection.clone();
    let directory = directory.cloned();
    Ok(vec![set(task, ClaimChange::Taken { connection, lease_seconds, directory })])
}

/// Releasing a task that is not claimed changes nothing.
pub(super) fn release(docs: &TaskDocs, env: &Env, id: TaskId) -> Decision {
    let task = lookup::task(docs, id)?;
    if task.claim.is_none() {
        return Ok(Vec::new());
    }
    check(env, task)?;
    Ok(vec![set(task, ClaimChange::Released)])
}

fn set(task: &Task, change: ClaimChange) -> TaskEvent {
    TaskEvent::ClaimSet(ClaimSet { task: task.id, parent: task.parent, change })
}

/// Refuses what only the holder and people may do.
pub(super) fn check(env: &Env, task: &Task) -> TaskResult<()> {
    match &task.claim {
        Some(claim) if claim.is_of_another(env) && !env.call.is_person() => {
            reject(TaskRejection::Claimed { task: task.id, claim: claim.clone() })
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses to close a step of another agent's task and to complete it. Undo and redo are checked
/// where it is known what they close.
pub(super) fn check_command(docs: &TaskDocs, env: &Env, command: &TaskCommand) -> TaskResult<()> {
    let closed = if let TaskCommand::CloseStep { step, .. } = command {
        Some(step.task)
    } else if let TaskCommand::CloseImportedStep { step, .. } = command {
        Some(step.task)
    } else if let TaskCommand::CompleteImported { task } = command {
        Some(*task)
    } else if let TaskCommand::SetStatus { id: EntityId::Task(id), to: TaskStatus::Done } = command
    {
        Some(*id)
    } else {
        None
    };
    closed.map_or(Ok(()), |id| check(env, lookup::task(docs, id)?))
}

/// The renewals that follow from events of one command: one for each task of the caller.
pub(in crate::tasks) fn renewals(
    docs: &TaskDocs,
    env: &Env,
    events: &[Recorded<TaskEvent>],
) -> TaskLookup<Vec<TaskEvent>> {
    let mut renewals = Vec::new();
    for recorded in events {
        let Some((EntityId::Task(id), _)) = wire::subject(&recorded.event) else { continue };
        let Some(task) = lookup::find_task(docs, id)? else { continue };
        let is_due = task
            .claim
            .as_ref()
            .is_some_and(|claim| claim.renewed_at != env.now && claim.is_held_by(&env.call));
        let renewal = set(task, ClaimChange::Renewed);
        if is_due && !renewals.contains(&renewal) {
            renewals.push(renewal);
        }
    }
    Ok(renewals)
}
