//! The end of a run, or of a node's place in it, in the sessions of its nodes: followers have to
//! know that nothing more will come.

use std::sync::Arc;

use muster_core::{
    Draft,
    answers::CallKey,
    field,
    run::{
        id::{NodeId, RunId},
        record::{Run, RunStatus},
    },
    session::{
        SessionAggregate, SessionCommand, SessionId,
        body::{RUN_FINISHED, TURN_END},
        command::{Record, RecordOrigin},
        entity::SessionDriver,
        lookup, perform,
    },
};
use serde_json::{Map, Value};

use super::execute;
use crate::shared::RunsContext;

/// Status of the driver of a session whose run or node was deleted.
const DELETED: &str = "deleted";

/// How a run ended.
#[derive(Clone)]
pub(super) struct RunFinished(Map<String, Value>);

impl RunFinished {
    /// The end that a status implies, if any.
    pub(super) fn of(run: &Run, status: RunStatus) -> Option<Self> {
        let completed = match status {
            RunStatus::Completed => true,
            RunStatus::Failed => false,
            RunStatus::Queued | RunStatus::Running | RunStatus::Paused => return None,
        };
        let reason = run.status_reason.as_ref().map_or(status.name(), |reason| reason.code.name());
        let usage = Map::from_iter([
            field("input_tokens", &run.usage.prompt_tokens),
            field("output_tokens", &run.usage.completion_tokens),
            field("cost", &run.usage.cost_usd),
        ]);
        Some(Self(Map::from_iter([
            field("completed", &completed),
            field("reason", reason),
            field("steps", &run.usage.turns),
            field("usage", &usage),
        ])))
    }

    /// Records it, with the number of events that the session has by now.
    pub(super) async fn record(&self, shared: &Arc<RunsContext>, session: SessionId, key: String) {
        let body = self.0.clone();
        let work = move |draft: &mut Draft<'_, SessionAggregate>| {
            let events = lookup::session(draft.documents())?.last_seq;
            let mut body = body.clone();
            body.insert("eventCount".to_owned(), events.into());
            let mut record = Record::of(RecordOrigin::Server, RUN_FINISHED, body);
            record.given = Some(CallKey { digest: key.clone(), key: key.clone() });
            perform(draft, &SessionCommand::Record(Box::new(record))).map(drop)
        };
        execute(shared, session, work).await;
    }
}

/// Records the deletion of a run in its sessions.
pub(crate) async fn run_gone(shared: &Arc<RunsContext>, run: RunId) {
    for session in shared.lists.sessions(|owner, _| owner == run) {
        close(shared, session, "run_deleted").await;
    }
}

/// Records the deletion of a node in its session.
pub(super) async fn node_gone(shared: &Arc<RunsContext>, node: NodeId) {
    for session in shared.lists.sessions(|_, owner| owner == node) {
        close(shared, session, "node_deleted").await;
    }
}

/// Ends what is in progress in a session without a driver.
async fn close(shared: &Arc<RunsContext>, session: SessionId, reason: &'static str) {
    let work = move |draft: &mut Draft<'_, SessionAggregate>| {
        let open = lookup::session(draft.documents())?;
        let running = open.turns.running.is_some();
        let driver = open.driver.clone();
        let report = |kind: &str, body: Vec<(String, _)>| {
            let record = Record::of(RecordOrigin::Server, kind, body.into_iter().collect());
            SessionCommand::Record(Box::new(record))
        };
        if running {
            let body = vec![field("status", "interrupted"), field("reason", reason)];
            perform(draft, &report(TURN_END, body))?;
        }
        let Some(SessionDriver { phase, status }) = driver else { return Ok(()) };
        let is_over = |ended: RunStatus| ended.name() == status;
        if !is_over(RunStatus::Completed) && !is_over(RunStatus::Failed) && status != DELETED {
            let events = lookup::session(draft.documents())?.last_seq;
            let body = vec![
                field("eventCount", &events),
                field("completed", &false),
                field("reason", reason),
            ];
            perform(draft, &report(RUN_FINISHED, body))?;
        }
        let driver = SessionDriver { phase, status: DELETED.to_owned() };
        perform(draft, &SessionCommand::Drive(Some(driver))).map(drop)
    };
    execute(shared, session, work).await;
}
