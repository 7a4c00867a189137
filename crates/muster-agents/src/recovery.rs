//! What a start does first: it kills what is left of an earlier server, and ends every turn that
//! was in flight (RUNS-REC).

use std::sync::Arc;

use muster_core::{
    Documents, WorkRefusal,
    run::{
        Ask, RunAggregate as Room,
        command::{Recover, SetStatus, StatusWish},
        edge::Actor,
        effect::{self, RunEffect},
        id::{NodeId, RunId, TurnId},
        lookup,
        node::{Node, Process},
        record::{RunStatus, StatusCode, StatusReason},
    },
    session::SessionId,
};
use muster_store::StoreError;

use super::{
    finish::{self, TurnFinish},
    lane::LaneOrder,
    originals::{self, Sweep},
    process::family,
    shared::RunsContext,
};

/// What an earlier server left of a run that was not recovered yet.
struct Left {
    processes: Vec<Process>,
    turns: Vec<TurnId>,
}

/// What a recovered run needs to go on.
struct Resumable {
    effects: Vec<RunEffect>,
    /// Whether a restart or a shutdown paused it.
    interrupted: bool,
    active: bool,
    sessions: Vec<(NodeId, SessionId)>,
}

/// Either of them, read at once: the nodes of a run are many documents.
enum AtStart {
    Left(Left),
    Recovered(Resumable),
}

fn at_start(docs: &Documents<Room>) -> Result<AtStart, WorkRefusal<Room>> {
    if !effect::needs_recovery(docs)? {
        return Ok(AtStart::Recovered(resumable(docs)?));
    }
    Ok(AtStart::Left(Left {
        processes: lookup::nodes(docs)?.iter().filter_map(|node| node.process).collect(),
        turns: lookup::live_turns(docs)?.iter().map(|turn| turn.id).collect(),
    }))
}

fn resumable(docs: &Documents<Room>) -> Result<Resumable, WorkRefusal<Room>> {
    let run = lookup::run(docs)?;
    let restart =
        |reason: &StatusReason| matches!(reason.code, StatusCode::Restart | StatusCode::Shutdown);
    let session = |node: &&Node| {
        let session = SessionId::of(&node.muster_session_id.to_string())?;
        Some((node.id, session))
    };
    Ok(Resumable {
        effects: effect::outstanding(docs)?,
        interrupted: run.status == RunStatus::Paused
            && run.status_reason.as_ref().is_some_and(restart),
        active: run.status.is_active(),
        sessions: lookup::nodes(docs)?.iter().filter_map(session).collect(),
    })
}

/// Recovers every run, and performs what is left to do.
pub(crate) async fn recover(shared: &Arc<RunsContext>) -> Result<(), StoreError> {
    let mark = shared.mark.clone();
    let storage = shared.settings.home.clone();
    let sweep = crate::background::blocking(move || family::kill_strays(&mark, &storage));
    if let Err(error) = sweep.await {
        tracing::warn!(%error, "could not scan for processes of an earlier server");
    }
    let streams = shared.engine.store().snapshot()?.streams("run/")?;
    let runs = streams.iter().filter(|stream| !stream.ended);
    let runs = runs.filter_map(|stream| RunId::of_stream(&stream.name));
    for run in runs.collect::<Vec<_>>() {
        recover_run(shared, run).await;
    }
    Ok(())
}

async fn recover_run(shared: &Arc<RunsContext>, run: RunId) {
    let found = match shared.view(run, at_start).await {
        Ok(AtStart::Recovered(found)) => Ok(found),
        Ok(AtStart::Left(left)) => {
            end_what_is_left(shared, run, left).await;
            shared.view(run, resumable).await
        }
        Err(error) => Err(error),
    };
    let tidied = Arc::clone(shared);
    crate::background::blocking(move || originals::sweep(&tidied, run, Sweep::Start));
    match found {
        Ok(found) => go_on(shared, run, found).await,
        Err(error) => tracing::error!(%run, ?error, "could not recover the run"),
    }
}

/// Kills the processes of a run and ends its turns.
async fn end_what_is_left(shared: &Arc<RunsContext>, run: RunId, left: Left) {
    left.processes.into_iter().for_each(family::kill_recorded);
    let mut turns = Vec::new();
    for turn in left.turns {
        turns.extend(finish::closing(shared, run, TurnFinish::of(turn)).await);
    }
    let recover = Recover { shutdown: false, turns };
    shared.report(run, Ask::Recover(Box::new(recover))).await;
}

/// Continues a run: performs what was left to do, and resumes a paused one if the settings allow
/// it.
async fn go_on(shared: &Arc<RunsContext>, run: RunId, found: Resumable) {
    for (node, session) in found.sessions {
        shared.lists.know(&session, run, node);
    }
    // The lane of every run compares its file of events with the store.
    let Ok(lane) = shared.lane(run) else { return };
    if found.active && lane.send(LaneOrder::Perform(found.effects)).is_err() {
        tracing::error!(%run, "could not start the lane of the run");
    }
    if found.interrupted && shared.settings.resume_on_start {
        let shared = Arc::clone(shared);
        let wish = SetStatus::to(StatusWish::Running);
        let resume = move || shared.ask(run, Actor::USER, Ask::SetStatus(wish));
        if !matches!(crate::background::blocking(resume).await, Ok(Ok(_))) {
            tracing::warn!(%run, "could not resume the run automatically");
        }
    }
}
