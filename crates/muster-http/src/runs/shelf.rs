//! Role templates, and the folders that a run can work in.

use std::{path::PathBuf, sync::Arc};

use axum::{extract::State, http::StatusCode};
use muster_api::{
    Json,
    runs::{self, RunCode, RunFault, RunTold, request},
};
use serde_json::json;

use super::request::{Asked, RunPathIds, RunsQuery, RunsResponse, ask, json as answer, tell};
use crate::server_state::ServerState;

/// Lists templates.
pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    parameters: RunsQuery,
) -> RunsResponse {
    let cwd = parameters.text("cwd").map(PathBuf::from);
    tell(&site, move |app| {
        let runs = app.runs();
        let shelf = runs.templates(runs.repository(cwd)?);
        Ok(Json::from(json!({"templates": shelf.list()?})))
    })
    .await
}

/// Shows a template.
pub(super) async fn show(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    parameters: RunsQuery,
) -> RunsResponse {
    let cwd = parameters.text("cwd").map(PathBuf::from);
    tell(&site, move |app| {
        let runs = app.runs();
        let shelf = runs.templates(runs.repository(cwd)?);
        Ok(Json::of(&shelf.show(&named.template())?))
    })
    .await
}

/// Writes a template of the user.
pub(super) async fn create(State(site): State<Arc<ServerState>>, asked: Asked) -> RunsResponse {
    let input = request::template(asked.fields)?;
    let name = needed(input.name, "name")?;
    let content = needed(input.content, "content")?;
    let made =
        ask(&site, move |app| Ok(Json::of(&app.runs().templates(None).create(&name, &content)?)));
    Ok(answer(StatusCode::CREATED, &made.await?))
}

/// Changes a template of the user.
pub(super) async fn change(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let input = request::template(asked.fields)?;
    let name = named.template();
    if input.name.is_some_and(|given| given != name) {
        let detail = "name stands in the path and cannot change";
        return Err(RunFault::new(RunCode::ReadOnlyField, detail).at("name").into());
    }
    let content = needed(input.content, "content")?;
    tell(&site, move |app| Ok(Json::of(&app.runs().templates(None).change(&name, &content)?))).await
}

/// Removes a template of the user.
pub(super) async fn remove(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
) -> RunsResponse {
    tell(&site, move |app| {
        let name = app.runs().templates(None).remove(&named.template())?;
        Ok(Json::from(json!({"name": name})))
    })
    .await
}

fn needed(value: Option<String>, name: &str) -> RunTold<String> {
    let missing = || RunFault::new(RunCode::MissingField, format!("{name} is needed")).at(name);
    value.ok_or_else(missing)
}

/// Lists folders.
pub(super) async fn folders(
    State(site): State<Arc<ServerState>>,
    parameters: RunsQuery,
) -> RunsResponse {
    let path = parameters.text("path").map(PathBuf::from);
    tell(&site, move |app| Ok(Json::of(&app.runs().folders(path)?))).await
}

/// Lists the programs that a node can be.
pub(super) async fn providers(State(site): State<Arc<ServerState>>) -> RunsResponse {
    let runs = site.app.runs().driver()?.clone();
    Ok(answer(StatusCode::OK, &runs::providers(runs.settings()).await))
}
