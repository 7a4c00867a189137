//! Nodes, edges and messages of a run.

use std::sync::Arc;

use axum::extract::State;
use muster_api::runs::{RunChangeRequest, RunCode, RunFault, request, rights};
use muster_core::run::id::{NodeId, RunId};

use super::request::{Asked, RunPathIds, RunsResponse, Sender, tell};
use crate::server_state::ServerState;

pub(super) async fn create_node(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let run = named.run()?;
    tell(&site, move |app| {
        let runs = app.runs();
        runs.exists(run)?;
        let request = request::create_node(asked.fields)?;
        sender.may_set(rights::create_node(&request, runs.usual_permissions()))?;
        let checked = runs.check_node_of(run, None, &request.input);
        checked.map_err(|fault| fault.below(&request.prefix))?;
        runs.carry_out(RunChangeRequest::create_node(run, request).once(asked.once))
    })
    .await
}

/// Changes a node.
pub(super) async fn edit_node(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let run = named.run()?;
    let node = named.node()?;
    tell(&site, move |app| {
        let runs = app.runs();
        let present = runs.node(run, node)?;
        let request = request::edit_node(asked.fields, node, &present)?;
        sender.may_set(rights::edit_node(&request, &present))?;
        let checked = runs.check_node_of(run, Some(node), &request.edit.input);
        checked.map_err(|fault| fault.below(&request.prefix))?;
        runs.carry_out(RunChangeRequest::edit_node(run, request).once(asked.once))
    })
    .await
}

pub(super) async fn delete_node(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
) -> RunsResponse {
    let run = named.run()?;
    let node = named.node()?;
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::delete_node(run, node))).await
}

/// Clears a node's context.
pub(super) async fn reset(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let run = named.run()?;
    let node = named.node()?;
    let reason = request::reset(asked.fields)?;
    let change = RunChangeRequest::reset_node(run, node, reason).once(asked.once);
    tell(&site, move |app| app.runs().carry_out(change)).await
}

/// Lets a node go on.
pub(super) async fn start(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    command(&site, &named, asked, RunChangeRequest::start_node).await
}

/// Ends what a node does, and holds it.
pub(super) async fn stop(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    command(&site, &named, asked, RunChangeRequest::stop_node).await
}

/// Ends the turn that a node has in flight.
pub(super) async fn interrupt(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    command(&site, &named, asked, RunChangeRequest::interrupt_node).await
}

/// A command to a node that says nothing more.
async fn command(
    site: &ServerState,
    named: &RunPathIds,
    asked: Asked,
    change: fn(RunId, NodeId) -> RunChangeRequest,
) -> RunsResponse {
    let change = change(named.run()?, named.node()?).once(asked.once);
    request::nothing(&asked.fields)?;
    tell(site, move |app| app.runs().carry_out(change)).await
}

/// Shows the inputs of a node that wait: for a turn, or for a person because they failed.
pub(super) async fn inbox(State(site): State<Arc<ServerState>>, named: RunPathIds) -> RunsResponse {
    let run = named.run()?;
    let node = named.node()?;
    tell(&site, move |app| app.runs().inbox(run, node)).await
}

/// Sends an input again whose turns failed.
pub(super) async fn resend(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let run = named.run()?;
    let node = named.node()?;
    let item = named.item()?;
    let change = RunChangeRequest::resend_item(run, node, item).once(asked.once);
    request::nothing(&asked.fields)?;
    tell(&site, move |app| app.runs().carry_out(change)).await
}

/// Takes a queued or failed input out again.
pub(super) async fn cancel(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
) -> RunsResponse {
    let run = named.run()?;
    let node = named.node()?;
    let item = named.item()?;
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::cancel_item(run, node, item)))
        .await
}

/// Makes an edge, or changes one.
pub(super) async fn put_edge(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let run = named.run()?;
    tell(&site, move |app| {
        app.runs().exists(run)?;
        app.runs().put_edge(run, request::edge(asked.fields)?, asked.once)
    })
    .await
}

/// Removes an edge.
pub(super) async fn delete_edge(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
) -> RunsResponse {
    let run = named.run()?;
    let edge = named.edge()?;
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::delete_edge(run, edge))).await
}

/// Says something to a node.
pub(super) async fn chat(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let run = named.run()?;
    tell(&site, move |app| {
        app.runs().exists(run)?;
        let input = request::chat(asked.fields)?;
        let unknown = |id: &str| {
            RunFault::new(RunCode::UnknownNode, format!("the run has no node {id:?}")).at("nodeId")
        };
        let node = match &input.node_id {
            None => None,
            Some(id) => Some(id.parse::<NodeId>().map_err(|_| unknown(id))?),
        };
        let missing = || RunFault::new(RunCode::MissingField, "content is needed").at("content");
        let content = input.content.ok_or_else(missing)?;
        let interrupt = input.interrupt.unwrap_or(false);
        let change = RunChangeRequest::chat(run, node, content, interrupt).once(asked.once);
        app.runs().carry_out(change).map_err(|fault| {
            let reaches = fault.code != RunCode::UnknownNode;
            if reaches { fault } else { fault.at("nodeId") }
        })
    })
    .await
}
