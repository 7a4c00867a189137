//! Which sessions keep a todo list for a workspace, and which of them link an item to a step.
//!
//! The lists are documents of their sessions and change without this room: what is kept here says
//! where to look, newest first, so that neither side has to search (EASE-TODO-1, EASE-TODO-2).

use serde::{Deserialize, Serialize};

use super::{
    TaskDocs, TaskDocument, TaskEvent, TaskKey, TaskLookup, TaskRejection, TaskResult,
    evolve::change_workspace, id::StepId, lookup,
};
use crate::{WorkRefusal, session::SessionId};

/// Sessions that are remembered for a workspace, and for a step.
const SESSIONS_MAX: usize = 8;

/// Sessions whose todo lists have, or had, an item for a step; newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StepTodos {
    pub sessions: Vec<SessionId>,
}

/// A session wrote its todo list in this workspace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TodosWritten {
    pub session: SessionId,
    /// Steps to which it links items for the first time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepId>,
}

/// The sessions to look at for items of a step.
pub fn step_sessions(docs: &TaskDocs, step: StepId) -> TaskLookup<&[SessionId]> {
    Ok(match docs.get(&TaskKey::StepTodos(step))? {
        Some(TaskDocument::StepTodos(todos)) => &todos.sessions,
        Some(_) | None => &[],
    })
}

/// Only what is new becomes an event: most writes of a list change nothing here.
pub(super) fn written(
    docs: &TaskDocs,
    session: &SessionId,
    steps: &[StepId],
) -> TaskResult<Vec<TaskEvent>> {
    let workspace = lookup::workspace(docs)?;
    if let Some(step) = steps.iter().find(|step| step.0 > workspace.last_step) {
        return Err(WorkRefusal::rejected(TaskRejection::NoSuchStep { step_id: *step }));
    }
    let mut fresh: Vec<StepId> = Vec::new();
    for step in steps {
        if !fresh.contains(step) && step_sessions(docs, *step)?.first() != Some(session) {
            fresh.push(*step);
        }
    }
    if fresh.is_empty() && workspace.todo_sessions.first() == Some(session) {
        return Ok(Vec::new());
    }
    let session = session.clone();
    Ok(vec![TaskEvent::TodosWritten(TodosWritten { session, steps: fresh })])
}

pub(super) fn evolve(docs: &mut TaskDocs, written: &TodosWritten) -> TaskLookup<()> {
    for step in &written.steps {
        let mut sessions = step_sessions(docs, *step)?.to_vec();
        put_first(&mut sessions, &written.session);
        docs.put(TaskKey::StepTodos(*step), TaskDocument::StepTodos(StepTodos { sessions }));
    }
    change_workspace(docs, |workspace| put_first(&mut workspace.todo_sessions, &written.session))
}

fn put_first(sessions: &mut Vec<SessionId>, session: &SessionId) {
    sessions.retain(|known| known != session);
    sessions.insert(0, session.clone());
    sessions.truncate(SESSIONS_MAX);
}
