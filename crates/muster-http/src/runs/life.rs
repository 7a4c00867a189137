//! `/api/runs` and `/api/runs/{run}`: made, listed, shown, changed, verified and deleted.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{Response, StatusCode},
};
use muster_api::{
    App, Json,
    runs::{RunChangeRequest, RunFault, RunsRequest, request, rights},
};
use muster_core::run::{
    record::{CONTRACT_VERSION, RunStatus},
    view::snapshot::{ArtifactExtent, Extent, SnapshotRequest},
};
use serde_json::{Value, json};

use super::request::{
    Asked, RunPathIds, RunsQuery, RunsResponse, Sender, ask, json as answer, tell, tell_large,
};
use crate::{health, server_state::ServerState};

/// Runs of a page when no number is given, and at most.
const RUNS_DEFAULT: u64 = 100;
const RUNS_MAX: u64 = 500;

/// `GET /api/health`: open to monitors.
pub(super) async fn health(State(site): State<Arc<ServerState>>) -> Response<Body> {
    let (status, _) = health::examine(&site).await;
    let body = json!({
        "ok": status == StatusCode::OK,
        "version": env!("CARGO_PKG_VERSION"),
        "contractVersion": CONTRACT_VERSION,
    });
    answer(status, &Json::from(body))
}

/// Creates a run.
pub(super) async fn create(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    asked: Asked,
) -> RunsResponse {
    let request = request::create_run(asked.fields)?;
    sender.may_set(rights::create_run(&request, site.app.runs().usual_permissions()))?;
    tell(&site, move |app| app.runs().create(request, asked.once)).await
}

/// Lists runs, the newest change first.
pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    parameters: RunsQuery,
) -> RunsResponse {
    let limit = parameters.number("limit", 1, RUNS_MAX)?.unwrap_or(RUNS_DEFAULT);
    let unknown = |()| RunFault::bad_value("cursor", "cursor must be one that a page gave");
    let behind = parameters.text("cursor").map(str::parse).transpose().map_err(unknown)?;
    let request = RunsRequest {
        status: parameters.word("status", RunStatus::ALL, RunStatus::name)?,
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
        behind,
        extent: parameters.word("view", Extent::ALL, Extent::name)?.unwrap_or(Extent::List),
    };
    tell(&site, move |app| app.runs().list(&request)).await
}

/// Shows a run.
pub(super) async fn show(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    parameters: RunsQuery,
) -> RunsResponse {
    let run = named.run()?;
    let artifacts = parameters.word("artifacts", ArtifactExtent::ALL, ArtifactExtent::name)?;
    let wanted = SnapshotRequest {
        artifacts: artifacts.unwrap_or(SnapshotRequest::DEFAULT.artifacts),
        ..SnapshotRequest::DEFAULT
    };
    let question = move |app: &App| {
        let run = app.runs().show(run, wanted)?;
        Ok(Json::of(&std::collections::BTreeMap::from([("run", run)])))
    };
    match wanted.artifacts {
        ArtifactExtent::None => tell(&site, question).await,
        ArtifactExtent::Recent | ArtifactExtent::All => tell_large(&site, question).await,
    }
}

/// Changes a run.
pub(super) async fn edit(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let run = named.run()?;
    tell(&site, move |app| {
        let runs = app.runs();
        runs.exists(run)?;
        let request = request::edit_run(asked.fields, || {
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
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let run = named.run()?;
    request::nothing(&asked.fields)?;
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::verify(run).once(asked.once)))
        .await
}

/// Puts away that a run was declared done and is not.
pub(super) async fn dismiss(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let run = named.run()?;
    request::nothing(&asked.fields)?;
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::dismiss(run).once(asked.once)))
        .await
}

/// Deletes a run.
pub(super) async fn remove(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
) -> RunsResponse {
    let run = named.run()?;
    let Some(driver) = site.app.driver() else {
        return tell(&site, move |app| app.runs().delete(run)).await;
    };
    ask(&site, move |app| app.runs().exists(run)).await?;
    driver.delete(run).await.map_err(RunFault::from)?;
    Ok(answer(StatusCode::OK, &Json::from(json!({"runId": run}))))
}
