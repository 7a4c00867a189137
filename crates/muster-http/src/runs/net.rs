//! The changes of a run as a whole: shown, downloaded as a patch, made a branch of, taken back.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, Response, header},
};
use muster_api::{
    runs::net::{self, BranchAnswer, BranchInput, NetChangesAnswer, RevertAnswer, RevertInput},
    work::request::WorkBody as _,
};
use muster_core::run::id::{NodeId, RunId};
use serde_json::Value;

use super::request::{AskedRun, RunsReply};
use crate::{
    fault::Fault,
    reply::{Reply, Streamed},
    request::{Ids, Params, parameters},
    server_state::ServerState,
};

/// Lists the files that a run has changed, against its start.
pub(super) async fn changes(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
) -> RunsReply<NetChangesAnswer> {
    let driver = site.app.runs().driver()?.clone();
    Ok(Reply::written(net::changes(driver.net_changes(run).await)?))
}

parameters! {
    pub(super) struct PatchQuery {
        "nodeId" node: Option<NodeId>,
        "path" path: Option<String>,
    }
}

/// Downloads the changes as a patch.
pub(super) async fn patch(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    Params(query): Params<PatchQuery>,
) -> Result<Streamed<Value>, Fault> {
    let driver = site.app.runs().driver()?.clone();
    let paths: Vec<String> = query.path.into_iter().collect();
    let text = net::patch(driver.net_patch(run, query.node, &paths).await)?;
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/x-diff; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    let name = HeaderValue::from_static("attachment; filename=\"changes.patch\"");
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response.into())
}

/// Makes a branch of the changes.
pub(super) async fn branch(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    asked: AskedRun<BranchInput>,
) -> RunsReply<BranchAnswer> {
    let BranchInput { name, node_id } = BranchInput::read(asked.body.fields)?;
    let driver = site.app.runs().driver()?.clone();
    Ok(Reply::written(net::branch(driver.make_branch(run, node_id, &name).await)?))
}

/// Takes changes back.
pub(super) async fn revert(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    asked: AskedRun<RevertInput>,
) -> RunsReply<RevertAnswer> {
    let RevertInput { paths, node_id } = RevertInput::read(asked.body.fields)?;
    let driver = site.app.runs().driver()?.clone();
    Ok(Reply::written(net::reverted(driver.revert(run, node_id, &paths).await)?))
}
