//! Role templates, and the folders that a run can work in.

use std::{path::PathBuf, sync::Arc};

use axum::extract::State;
use muster_api::{
    Json,
    runs::{
        self, RunCode, RunFault, RunTold,
        answers::{ProvidersAnswer, TemplateGone, TemplatesAnswer},
        folders::FolderList,
        request::{self, TemplateInput},
        templates::{TemplateText, TemplateWritten},
    },
};

use super::request::{AskedRun, RunsReply, TemplateName, ask, tell};
use crate::{
    fault::Fault,
    reply::Reply,
    request::{Ids, Params, parameters},
    server_state::ServerState,
};

parameters! {
    pub(super) struct RepositoryQuery {
        "cwd" cwd: Option<String>,
    }
}

/// Lists templates.
pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<RepositoryQuery>,
) -> RunsReply<TemplatesAnswer> {
    tell(&site, move |app| {
        let runs = app.runs();
        let shelf = runs.templates(runs.repository(query.cwd.map(PathBuf::from))?);
        Ok(Json::of(&TemplatesAnswer { templates: shelf.list()? }))
    })
    .await
}

/// Shows a template.
pub(super) async fn show(
    State(site): State<Arc<ServerState>>,
    Ids(TemplateName(name)): Ids<TemplateName>,
    Params(query): Params<RepositoryQuery>,
) -> RunsReply<TemplateText> {
    tell(&site, move |app| {
        let runs = app.runs();
        let shelf = runs.templates(runs.repository(query.cwd.map(PathBuf::from))?);
        Ok(Json::of(&shelf.show(&name)?))
    })
    .await
}

/// Creates a template of the user.
pub(super) async fn create(
    State(site): State<Arc<ServerState>>,
    asked: AskedRun<TemplateInput>,
) -> Result<Reply<TemplateWritten, 201>, Fault> {
    let input = request::template(asked.body.fields)?;
    let name = needed(input.name, "name")?;
    let content = needed(input.content, "content")?;
    let made =
        ask(&site, move |app| Ok(Json::of(&app.runs().templates(None).create(&name, &content)?)));
    Ok(Reply::written(made.await?))
}

/// Changes a template of the user.
pub(super) async fn change(
    State(site): State<Arc<ServerState>>,
    Ids(TemplateName(name)): Ids<TemplateName>,
    asked: AskedRun<TemplateInput>,
) -> RunsReply<TemplateWritten> {
    let input = request::template(asked.body.fields)?;
    if input.name.is_some_and(|given| given != name) {
        let detail = "name is part of the path and cannot change";
        return Err(RunFault::new(RunCode::ReadOnlyField, detail).at("name").into());
    }
    let content = needed(input.content, "content")?;
    tell(&site, move |app| Ok(Json::of(&app.runs().templates(None).change(&name, &content)?))).await
}

/// Removes a template of the user.
pub(super) async fn remove(
    State(site): State<Arc<ServerState>>,
    Ids(TemplateName(name)): Ids<TemplateName>,
) -> RunsReply<TemplateGone> {
    tell(&site, move |app| {
        let name = app.runs().templates(None).remove(&name)?;
        Ok(Json::of(&TemplateGone { name }))
    })
    .await
}

fn needed(value: Option<String>, name: &str) -> RunTold<String> {
    let missing = || RunFault::new(RunCode::MissingField, format!("{name} is needed")).at(name);
    value.ok_or_else(missing)
}

parameters! {
    pub(super) struct FolderQuery {
        "path" path: Option<String>,
    }
}

/// Lists folders.
pub(super) async fn folders(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<FolderQuery>,
) -> RunsReply<FolderList> {
    tell(&site, move |app| Ok(Json::of(&app.runs().folders(query.path.map(PathBuf::from))?))).await
}

/// Lists the programs that can drive a node.
pub(super) async fn providers(State(site): State<Arc<ServerState>>) -> RunsReply<ProvidersAnswer> {
    let runs = site.app.runs().driver()?.clone();
    Ok(Reply::written(runs::providers(&runs.settings()).await))
}
