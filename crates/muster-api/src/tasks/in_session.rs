//! Task tools that are used inside a session: what they change appears in its stream as
//! `task_event`, in the same transaction.

use std::sync::Arc;

use muster_core::{
    CallFacts, Draft, Recorded,
    session::{
        self, SessionAggregate, SessionId, body::TaskEventBody, entity::Standing,
        lookup as session_lookup,
    },
    tasks::{TaskAggregate, TaskDraft, TaskLookup, entity::TaskStatus, id::EntityId, lookup, wire},
};
use muster_engine::ExecuteError;

use super::work::{Write, WriteOutcome};
use crate::{App, call::Scene};

/// Does a piece of work and records it in the session.
pub(super) fn perform(
    write: &Arc<Write>,
    app: &App,
    scene: &Arc<Scene>,
    (facts, session): (CallFacts, &SessionId),
) -> WriteOutcome {
    let write = Arc::clone(write);
    let scene = Arc::clone(scene);
    let session = session.stream();
    let outcome = app.engine().transact_for(facts, move |streams| {
        let stream = write.workspace().stream();
        let ruled = streams.on::<TaskAggregate, _>(stream, |draft| {
            let answer = write.inside(draft, &scene)?;
            if answer.is_err() {
                draft.clear();
            }
            Ok((answer, reports(draft)?))
        })?;
        let (answer, reports) = match ruled {
            Ok(ruled) => ruled,
            Err(rejection) => return Ok(Err(rejection)),
        };
        if !reports.is_empty() {
            let recorded = streams
                .on::<SessionAggregate, _>(session.clone(), |draft| tell(draft, &reports))?;
            if let Err(rejection) = recorded {
                tracing::warn!(?rejection, session, "could not record a task event in the session");
            }
        }
        Ok(Ok(answer))
    });
    outcome?.map_err(ExecuteError::Rejected)
}

/// A session that does not exist, or no longer exists, records nothing.
fn tell(
    draft: &mut Draft<'_, SessionAggregate>,
    reports: &[TaskEventBody],
) -> Result<(), muster_core::WorkRefusal<SessionAggregate>> {
    if let Some(Standing::Open(_)) = session_lookup::standing(draft.documents())? {
        for report in reports {
            session::perform(draft, &session::SessionCommand::ReportTask(report.clone()))?;
        }
    }
    Ok(())
}

/// One report for each plan or task that the work has touched, with what happened to it last.
fn reports(draft: &TaskDraft<'_>) -> TaskLookup<Vec<TaskEventBody>> {
    let mut touched: Vec<(EntityId, &'static str)> = Vec::new();
    for Recorded { event, .. } in draft.events() {
        let Some((entity, _)) = wire::subject(event) else { continue };
        touched.retain(|(known, _)| *known != entity);
        touched.push((entity, wire::event_type(event)));
    }
    touched.into_iter().map(|(entity, kind)| report(draft, entity, kind)).collect()
}

fn report(
    draft: &TaskDraft<'_>,
    entity: EntityId,
    kind: &'static str,
) -> TaskLookup<TaskEventBody> {
    let docs = draft.documents();
    let (meta, parent) = match entity {
        EntityId::Plan(id) => (lookup::find_plan(docs, id)?.map(|plan| &plan.meta), None),
        EntityId::Task(id) => {
            let task = lookup::find_task(docs, id)?;
            (task.map(|task| &task.meta), task.map(|task| task.parent.to_string()))
        }
    };
    let status = match meta.map(|meta| meta.status) {
        Some(TaskStatus::Todo) => "pending",
        Some(TaskStatus::Active) => "running",
        Some(TaskStatus::Done) => "completed",
        None => "canceled",
    };
    Ok(TaskEventBody {
        kind: kind.to_owned(),
        task_id: entity.to_string(),
        status: status.to_owned(),
        description: meta.map(|meta| meta.title.clone()),
        parent_task_id: parent,
        agent_id: None,
        error: None,
    })
}
