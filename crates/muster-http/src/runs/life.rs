//! `/api/runs` and `/api/runs/{run}`: create, list, show, change, verify and delete runs.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use muster_api::{
    App, Json,
    runs::{
        RunChangeRequest, RunCursor, RunFault, RunsRequest,
        answers::{DoneAnswer, RunAnswer, RunGone, RunsAnswer, RunsHealth},
        ending::EndingAnswer,
        request::{self, CreateRequest, EditRequest, NoFields},
        rights,
    },
};
use muster_core::run::{
    id::RunId,
    record::{CONTRACT_VERSION, RunStatus},
    view::snapshot::{ArtifactExtent, Extent, SnapshotRequest},
};
use serde_json::Value;

use super::request::{AskedRun, RunsReply, Sender, ask, ask_large, tell};
use crate::{
    health,
    reply::Reply,
    request::{Ids, Params, RowLimit, parameters, words},
    server_state::ServerState,
};

/// Default and maximum number of runs on a page.
const RUNS_DEFAULT: u64 = 100;
const RUNS_MAX: u64 = 500;

words! {
    RunStatus: RunStatus::ALL, RunStatus::name;
    Extent: Extent::ALL, Extent::name;
    ArtifactExtent: ArtifactExtent::ALL, ArtifactExtent::name;
}

parameters! {
    pub(super) struct RunsQuery {
        "status" status: Option<RunStatus>,
        "limit" limit: RowLimit<RUNS_DEFAULT, RUNS_MAX>,
        "cursor" cursor: Option<RunCursor>,
        "view" view: Option<Extent>,
    }
}

parameters! {
    pub(super) struct RunQuery {
        "artifacts" artifacts: Option<ArtifactExtent>,
    }
}

/// Shows the outcome of a run.
pub(super) async fn ending(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
) -> RunsReply<EndingAnswer> {
    tell(&site, move |app| app.runs().ending(run)).await
}

/// `GET /api/health`: open to monitors.
pub(super) async fn health(State(site): State<Arc<ServerState>>) -> Reply<RunsHealth> {
    let (status, _) = health::examine(&site).await;
    let health = RunsHealth {
        ok: status == StatusCode::OK,
        version: env!("CARGO_PKG_VERSION"),
        contract_version: CONTRACT_VERSION,
    };
    Reply::written(Json::of(&health)).with_status(status)
}

/// `GET /api/ready`: whether a balancer should send requests here. A server that stops is alive and
/// not ready.
pub(super) async fn ready(State(site): State<Arc<ServerState>>) -> Reply<RunsHealth> {
    let (status, _) = health::examine(&site).await;
    let status = if *site.streams.borrow() { StatusCode::SERVICE_UNAVAILABLE } else { status };
    let health = RunsHealth {
        ok: status == StatusCode::OK,
        version: env!("CARGO_PKG_VERSION"),
        contract_version: CONTRACT_VERSION,
    };
    Reply::written(Json::of(&health)).with_status(status)
}

/// Creates a run.
pub(super) async fn create(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    asked: AskedRun<CreateRequest>,
) -> RunsReply<RunAnswer> {
    let request = request::create_run(asked.body.fields)?;
    sender.may_set(rights::create_run(&request, site.app.runs().usual_permissions()))?;
    tell(&site, move |app| app.runs().create(request, asked.once)).await
}

/// Lists runs, newest change first.
pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    Params(query): Params<RunsQuery>,
) -> RunsReply<RunsAnswer> {
    let request = RunsRequest {
        workspaces: sender.workspaces(),
        status: query.status,
        limit: query.limit.rows(),
        after: query.cursor,
        extent: query.view.unwrap_or(Extent::List),
    };
    tell(&site, move |app| app.runs().list(&request)).await
}

/// Shows a run.
pub(super) async fn show(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    Params(query): Params<RunQuery>,
) -> RunsReply<RunAnswer> {
    let wanted = SnapshotRequest {
        artifacts: query.artifacts.unwrap_or(SnapshotRequest::DEFAULT.artifacts),
        ..SnapshotRequest::DEFAULT
    };
    let question = move |app: &App| {
        let run = app.runs().show(run, wanted)?;
        Ok(Json::of(&RunAnswer { run }))
    };
    match wanted.artifacts {
        ArtifactExtent::None => tell(&site, question).await,
        ArtifactExtent::Recent | ArtifactExtent::All => {
            Ok(Reply::written(ask_large(&site, question).await?))
        }
    }
}

/// Changes a run.
pub(super) async fn edit(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    Ids(run): Ids<RunId>,
    asked: AskedRun<EditRequest>,
) -> RunsReply<RunAnswer> {
    tell(&site, move |app| {
        let runs = app.runs();
        runs.exists(run)?;
        let request = request::edit_run(asked.body.fields, || {
            let shown = runs.show(run, SnapshotRequest::DEFAULT)?.read();
            Ok(if let Value::Object(fields) = shown { fields } else { request::JsonFields::new() })
        })?;
        sender.may_set(rights::edit_run(&request))?;
        let prefix = request.prefix.clone();
        let checked = runs.check_binding(&request.fields, Some(run));
        checked.map_err(|fault| fault.below(&prefix))?;
        runs.carry_out(RunChangeRequest::edit_run(run, request).once(asked.once))
    })
    .await
}

/// Runs the checks of a run.
pub(super) async fn verify(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    asked: AskedRun<NoFields>,
) -> RunsReply<DoneAnswer> {
    request::nothing(&asked.body.fields)?;
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::verify(run).once(asked.once)))
        .await
}

/// Dismisses the notice that a run was declared done and is not.
pub(super) async fn dismiss(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    asked: AskedRun<NoFields>,
) -> RunsReply<DoneAnswer> {
    request::nothing(&asked.body.fields)?;
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::dismiss(run).once(asked.once)))
        .await
}

/// Deletes a run.
pub(super) async fn remove(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
) -> RunsReply<RunGone> {
    let Some(driver) = site.app.driver() else {
        return tell(&site, move |app| app.runs().delete(run)).await;
    };
    ask(&site, move |app| app.runs().exists(run)).await?;
    driver.delete(run).await.map_err(RunFault::from)?;
    Ok(Reply::written(Json::of(&RunGone { run_id: run })))
}
