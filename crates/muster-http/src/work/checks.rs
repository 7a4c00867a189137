//! `/api/work/checks`: runs of checks.

use std::sync::Arc;

use axum::{Extension, extract::State};
use muster_api::{
    Json,
    work::{
        CheckOutput, CheckRunView, CheckRunsAnswer,
        request::{WorkBody as _, WorkspaceInput},
    },
};
use muster_core::tasks::id::{CheckRunId, WorkspaceId};

use crate::{
    guard::Requester,
    request::{Ids, Params, RowLimit, parameters},
    runs::{AskedRun, RunsReply, tell, tell_writing},
    server_state::ServerState,
};

/// Runs in a list.
const RUNS_MAX: u64 = 50;

parameters! {
    pub(super) struct ChecksQuery {
        "workspace" workspace: WorkspaceId,
        /// Name of a check; all of them without one.
        "check" check: Option<String>,
        "limit" limit: RowLimit<RUNS_MAX, RUNS_MAX>,
    }
}

parameters! {
    pub(super) struct CheckQuery {
        "workspace" workspace: WorkspaceId,
    }
}

parameters! {
    pub(super) struct OutputQuery {
        "workspace" workspace: WorkspaceId,
        /// Where the piece begins: 0, or `next_offset` of the piece before.
        "offset" offset: Option<u64>,
    }
}

pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<ChecksQuery>,
) -> RunsReply<CheckRunsAnswer> {
    tell(&site, move |app| {
        let ChecksQuery { workspace, check, limit } = query;
        Ok(Json::of(&app.work().check_runs(&workspace, check.as_deref(), limit.rows())?))
    })
    .await
}

pub(super) async fn show(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<CheckRunId>,
    Params(query): Params<CheckQuery>,
) -> RunsReply<CheckRunView> {
    tell(&site, move |app| Ok(Json::of(&app.work().check_run(&query.workspace, run)?))).await
}

pub(super) async fn output(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<CheckRunId>,
    Params(query): Params<OutputQuery>,
) -> RunsReply<CheckOutput> {
    let offset = query.offset.unwrap_or(0);
    tell(&site, move |app| Ok(Json::of(&app.work().check_output(&query.workspace, run, offset)?)))
        .await
}

pub(super) async fn cancel(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<CheckRunId>,
    Extension(requester): Extension<Requester>,
    asked: AskedRun<WorkspaceInput>,
) -> RunsReply<CheckRunView> {
    let workspace = WorkspaceInput::read(asked.body.fields)?.workspace()?;
    tell_writing(&site, move |app| {
        Ok(Json::of(&app.work().cancel_check(&requester.caller(), &workspace, run)?))
    })
    .await
}
