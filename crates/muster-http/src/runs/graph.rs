//! Nodes, edges and messages of a run.

use std::sync::Arc;

use axum::extract::State;
use muster_api::runs::{
    RunChangeRequest, RunCode, RunFault,
    answers::{
        DoneAnswer, EdgeAnswer, EdgeGone, InboxAnswer, ItemAnswer, MessageAnswer, NodeAnswer,
        NodeGone,
    },
    request::{self, ChatInput, EdgeInput, EditNodeRequest, NoFields, NodeRequest, ResetInput},
    rights,
    worktrees::{MergeOutcome, WorktreesAnswer},
};
use muster_core::run::id::{EdgeId, ItemId, NodeId, RunId};

use super::request::{AskedRun, RunsReply, Sender, tell, tell_writing};
use crate::{request::Ids, server_state::ServerState};

pub(super) async fn create_node(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    Ids(run): Ids<RunId>,
    asked: AskedRun<NodeRequest>,
) -> RunsReply<NodeAnswer> {
    tell(&site, move |app| {
        let runs = app.runs();
        runs.exists(run)?;
        let request = request::create_node(asked.body.fields)?;
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
    Ids((run, node)): Ids<(RunId, NodeId)>,
    asked: AskedRun<EditNodeRequest>,
) -> RunsReply<NodeAnswer> {
    tell(&site, move |app| {
        let runs = app.runs();
        let present = runs.node(run, node)?;
        let request = request::edit_node(asked.body.fields, node, &present)?;
        sender.may_set(rights::edit_node(&request, &present))?;
        let checked = runs.check_node_of(run, Some(node), &request.edit.input);
        checked.map_err(|fault| fault.below(&request.prefix))?;
        runs.carry_out(RunChangeRequest::edit_node(run, request).once(asked.once))
    })
    .await
}

pub(super) async fn delete_node(
    State(site): State<Arc<ServerState>>,
    Ids((run, node)): Ids<(RunId, NodeId)>,
) -> RunsReply<NodeGone> {
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::delete_node(run, node))).await
}

/// Clears a node's context.
pub(super) async fn reset(
    State(site): State<Arc<ServerState>>,
    Ids((run, node)): Ids<(RunId, NodeId)>,
    asked: AskedRun<ResetInput>,
) -> RunsReply<DoneAnswer> {
    let reason = request::reset(asked.body.fields)?;
    let change = RunChangeRequest::reset_node(run, node, reason).once(asked.once);
    tell(&site, move |app| app.runs().carry_out(change)).await
}

/// Starts a node again.
pub(super) async fn start(
    State(site): State<Arc<ServerState>>,
    Ids(ids): Ids<(RunId, NodeId)>,
    asked: AskedRun<NoFields>,
) -> RunsReply<DoneAnswer> {
    command(&site, ids, asked, RunChangeRequest::start_node).await
}

/// Stops a node and holds it.
pub(super) async fn stop(
    State(site): State<Arc<ServerState>>,
    Ids(ids): Ids<(RunId, NodeId)>,
    asked: AskedRun<NoFields>,
) -> RunsReply<DoneAnswer> {
    command(&site, ids, asked, RunChangeRequest::stop_node).await
}

/// Interrupts the current turn of a node.
pub(super) async fn interrupt(
    State(site): State<Arc<ServerState>>,
    Ids(ids): Ids<(RunId, NodeId)>,
    asked: AskedRun<NoFields>,
) -> RunsReply<DoneAnswer> {
    command(&site, ids, asked, RunChangeRequest::interrupt_node).await
}

/// A command to a node without further arguments.
async fn command(
    site: &ServerState,
    (run, node): (RunId, NodeId),
    asked: AskedRun<NoFields>,
    change: fn(RunId, NodeId) -> RunChangeRequest,
) -> RunsReply<DoneAnswer> {
    let change = change(run, node).once(asked.once);
    request::nothing(&asked.body.fields)?;
    tell(site, move |app| app.runs().carry_out(change)).await
}

/// Lists the inputs of a node that wait: for a turn, or for a person because they failed.
pub(super) async fn inbox(
    State(site): State<Arc<ServerState>>,
    Ids((run, node)): Ids<(RunId, NodeId)>,
) -> RunsReply<InboxAnswer> {
    tell(&site, move |app| app.runs().inbox(run, node)).await
}

/// Sends a failed input again.
pub(super) async fn resend(
    State(site): State<Arc<ServerState>>,
    Ids((run, node, item)): Ids<(RunId, NodeId, ItemId)>,
    asked: AskedRun<NoFields>,
) -> RunsReply<ItemAnswer> {
    let change = RunChangeRequest::resend_item(run, node, item).once(asked.once);
    request::nothing(&asked.body.fields)?;
    tell(&site, move |app| app.runs().carry_out(change)).await
}

/// Deletes a queued or failed input.
pub(super) async fn cancel(
    State(site): State<Arc<ServerState>>,
    Ids((run, node, item)): Ids<(RunId, NodeId, ItemId)>,
) -> RunsReply<ItemAnswer> {
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::cancel_item(run, node, item)))
        .await
}

/// Creates an edge, or changes one.
pub(super) async fn put_edge(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    asked: AskedRun<EdgeInput>,
) -> RunsReply<EdgeAnswer> {
    tell(&site, move |app| {
        app.runs().exists(run)?;
        app.runs().put_edge(run, request::edge(asked.body.fields)?, asked.once)
    })
    .await
}

/// Removes an edge.
pub(super) async fn delete_edge(
    State(site): State<Arc<ServerState>>,
    Ids((run, edge)): Ids<(RunId, EdgeId)>,
) -> RunsReply<EdgeGone> {
    tell(&site, move |app| app.runs().carry_out(RunChangeRequest::delete_edge(run, edge))).await
}

/// Sends a message to a node.
pub(super) async fn chat(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
    asked: AskedRun<ChatInput>,
) -> RunsReply<MessageAnswer> {
    tell(&site, move |app| {
        app.runs().exists(run)?;
        let input = request::chat(asked.body.fields)?;
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

/// Lists the worktrees of a run.
pub(super) async fn worktrees(
    State(site): State<Arc<ServerState>>,
    Ids(run): Ids<RunId>,
) -> RunsReply<WorktreesAnswer> {
    tell(&site, move |app| app.runs().worktrees_of(run)).await
}

/// Merges the worktree of a node.
pub(super) async fn merge(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    Ids((run, node)): Ids<(RunId, NodeId)>,
    _asked: AskedRun<NoFields>,
) -> RunsReply<MergeOutcome> {
    let caller = sender.caller();
    tell_writing(&site, move |app| app.runs().merge_worktree(run, node, &caller)).await
}
