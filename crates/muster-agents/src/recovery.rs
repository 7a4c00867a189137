//! What a start does first: it kills what is left of an earlier server, and ends every turn that
//! was in flight (RUNS-REC).

use std::sync::Arc;

use muster_core::{
    Documents,
    run::{
        Ask, RunAggregate as Room,
        command::{Recover, SetStatus, StatusWish},
        edge::Actor,
        effect,
        id::{RunId, TurnId},
        lookup,
        node::Process,
        record::{RunStatus, StatusCode},
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

/// What an earlier server left of a run.
struct Left {
    needs_recovery: bool,
    processes: Vec<Process>,
    turns: Vec<TurnId>,
}

fn left(docs: &Documents<Room>) -> lookup::Lookup<Left> {
    Ok(Left {
        needs_recovery: effect::needs_recovery(docs)?,
        processes: lookup::nodes(docs)?.iter().filter_map(|node| node.process).collect(),
        turns: lookup::live_turns(docs)?.iter().map(|turn| turn.id).collect(),
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
    let found = match shared.view(run, |docs| Ok(left(docs)?)).await {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%run, ?error, "could not recover the run");
            return;
        }
    };
    if found.needs_recovery {
        found.processes.into_iter().for_each(family::kill_recorded);
        let mut turns = Vec::new();
        for turn in found.turns {
            turns.extend(finish::closing(shared, run, TurnFinish::of(turn)).await);
        }
        let recover = Recover { shutdown: false, turns };
        shared.report(run, Ask::Recover(Box::new(recover))).await;
    }
    let tidied = Arc::clone(shared);
    crate::background::blocking(move || originals::sweep(&tidied, run, Sweep::Start));
    follow(shared, run).await;
}

/// Continues a run: performs what was left to do, and resumes a paused one if the settings allow
/// it.
async fn follow(shared: &Arc<RunsContext>, run: RunId) {
    let known = |docs: &Documents<Room>| {
        let record = lookup::run(docs)?;
        let restarted = record.status == RunStatus::Paused
            && record.status_reason.as_ref().is_some_and(|reason| {
                matches!(reason.code, StatusCode::Restart | StatusCode::Shutdown)
            });
        Ok((effect::outstanding(docs)?, restarted, record.status.is_active()))
    };
    let Ok((effects, restarted, active)) = shared.view(run, known).await else { return };
    let nodes = |docs: &Documents<Room>| {
        let nodes = lookup::nodes(docs)?;
        let sessions = nodes.iter().map(|node| (node.id, node.muster_session_id.to_string()));
        Ok(sessions.collect::<Vec<_>>())
    };
    for (node, session) in shared.view(run, nodes).await.unwrap_or_default() {
        if let Some(session) = SessionId::of(&session) {
            shared.lists.know(&session, run, node);
        }
    }
    // The lane of every run compares its file of events with the store.
    let Ok(lane) = shared.lane(run) else { return };
    if active && lane.send(LaneOrder::Perform(effects)).is_err() {
        tracing::error!(%run, "could not start the lane of the run");
    }
    if restarted && shared.settings.resume_on_start {
        let shared = Arc::clone(shared);
        let wish = SetStatus::to(StatusWish::Running);
        let resume = move || shared.ask(run, Actor::USER, Ask::SetStatus(wish));
        if !matches!(crate::background::blocking(resume).await, Ok(Ok(_))) {
            tracing::warn!(%run, "could not resume the run automatically");
        }
    }
}
