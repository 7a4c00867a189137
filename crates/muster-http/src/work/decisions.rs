//! What a person decides about the work: definitions of projects, waivers, and changes of protected
//! files.

use std::{path::PathBuf, sync::Arc};

use axum::{Extension, extract::State};
use muster_api::{
    Json,
    work::{
        ProjectOverview, ProjectsAnswer, ProtectedView,
        request::{DecideInput, ReviewInput, WaiverInput, WorkBody as _},
    },
};
use muster_core::tasks::{id::WorkspaceId, view::proof::TaskProof};

use crate::{
    guard::Requester,
    request::{Params, parameters},
    runs::{AskedRun, RunsReply, tell, tell_writing},
    server_state::ServerState,
};

parameters! {
    pub(super) struct ProjectsQuery {
        /// A directory whose project is listed, too.
        "directory" directory: Option<String>,
    }
}

parameters! {
    pub(super) struct ProtectedQuery {
        "workspace" workspace: WorkspaceId,
    }
}

pub(super) async fn projects(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<ProjectsQuery>,
) -> RunsReply<ProjectsAnswer> {
    let directory = query.directory.map(PathBuf::from);
    tell(&site, move |app| Ok(Json::of(&app.work().projects(directory.as_deref())?))).await
}

pub(super) async fn decide(
    State(site): State<Arc<ServerState>>,
    Extension(requester): Extension<Requester>,
    asked: AskedRun<DecideInput>,
) -> RunsReply<ProjectOverview> {
    let input = DecideInput::read(asked.body.fields)?;
    tell_writing(&site, move |app| Ok(Json::of(&app.work().decide(&requester.caller(), input)?)))
        .await
}

pub(super) async fn waive(
    State(site): State<Arc<ServerState>>,
    Extension(requester): Extension<Requester>,
    asked: AskedRun<WaiverInput>,
) -> RunsReply<TaskProof> {
    let input = WaiverInput::read(asked.body.fields)?;
    tell_writing(&site, move |app| Ok(Json::of(&app.work().waive(&requester.caller(), &input)?)))
        .await
}

pub(super) async fn protected(
    State(site): State<Arc<ServerState>>,
    Extension(requester): Extension<Requester>,
    Params(query): Params<ProtectedQuery>,
) -> RunsReply<ProtectedView> {
    tell(&site, move |app| {
        Ok(Json::of(&app.work().protected(&requester.caller(), &query.workspace)?))
    })
    .await
}

pub(super) async fn review(
    State(site): State<Arc<ServerState>>,
    Extension(requester): Extension<Requester>,
    asked: AskedRun<ReviewInput>,
) -> RunsReply<ProtectedView> {
    let input = ReviewInput::read(asked.body.fields)?;
    tell_writing(&site, move |app| Ok(Json::of(&app.work().review(&requester.caller(), &input)?)))
        .await
}
